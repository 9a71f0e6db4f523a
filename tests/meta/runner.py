"""A very small test runner with the options and the result file of the C harness."""
import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback

program = "meta"  # in results; main() sets it
backend = ""  # likewise, where a program runs once per backend
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Skip(Exception):
    """Raised by a test that cannot run here; says why."""


def build_folder():
    folder = os.environ.get("PH_TEST_BUILD")
    if not folder:
        raise Skip("PH_TEST_BUILD is not set; ./test sets it")
    return folder


def run(command, **options):
    """Runs a command and returns its output; on failure the output is the error."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, **options)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def tracked():
    """Every file under version control, as paths from the root."""
    try:
        names = run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"], cwd=ROOT)
    except (AssertionError, FileNotFoundError) as error:
        raise Skip("not a git work tree") from error
    return [name for name in names.split("\0")
            if name and os.path.exists(os.path.join(ROOT, name))]


def files(*suffixes, under=("",)):
    """Tracked files with one of the suffixes, in one of the folders."""
    return [name for name in tracked() if name.endswith(suffixes) and name.startswith(tuple(under))]


def temporary_folder():
    return tempfile.TemporaryDirectory(prefix=program + ".")


def no_complaints(complaints):
    assert not complaints, "\n".join(complaints)


def report(result, name, seconds):
    path = os.environ.get("PH_TEST_RESULTS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{result}\t{program}\t{backend}\t{name}\t{seconds:.3f}\n")


def run_one(name, function):
    started, result, output = time.monotonic(), "passed", ""
    try:
        function()
    except Skip as reason:
        result, output = "skipped", str(reason)
    except AssertionError as error:
        result, output = "failed", str(error) or traceback.format_exc()
    except Exception:  # a broken test is a failed one, whatever broke it
        result, output = "failed", traceback.format_exc()
    seconds = time.monotonic() - started
    report(result, name, seconds)
    if result != "passed":
        print(f"{result:7} {program} {backend and backend + ' '}{name} ({seconds:.1f} s)\n    " +
              output.rstrip().replace("\n", "\n    "), flush=True)
    return result


def main(modules, called="meta"):
    global program
    program = called
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    tests = [(f"{module.__name__}.{name}", function) for module in modules
             for name, function in vars(module).items()
             if name.startswith("test_") and callable(function)]
    if arguments.list:
        print("\n".join(name for name, _ in tests))
        return
    started = time.monotonic()
    results = [run_one(name, function) for name, function in tests if arguments.only in name]
    print(f"{program}: {results.count('passed')} passed, {results.count('failed')} failed, "
          f"{results.count('skipped')} skipped in {time.monotonic() - started:.1f} s")
    sys.exit(results.count("failed") > 0)
