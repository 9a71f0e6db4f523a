"""The tour of ./quickstart, and the commands that it prints, as a reader would type them."""
import os
import re
import subprocess

import runner

TIME_LIMIT_S = 240  # only to notice a hang
SETTING, COMMANDS = 1, 10


def take(folder, build):
    """The tour with its files in a folder: exit status and what it printed."""
    done = subprocess.run(["examples/tour.py", build, folder], cwd=runner.ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIME_LIMIT_S,
                          check=False)
    return done.returncode, done.stdout


def rows(output):
    """The table at the end: (step, expected, seen, ok)."""
    table = output.split("expected  seen  ok\n")[1].split("\n\n")[0]
    return [re.fullmatch(r" *(.*?) {2,}(\S+) +(\S+) +(\S)", line).groups()
            for line in table.splitlines()]


def printed_commands(output):
    block = output.split("commands to try next:\n")[1]
    return [line.strip() for line in block.splitlines() if line.strip()]


def test_everything_is_as_expected_and_the_printed_commands_work():
    build = runner.build_folder()
    with runner.temporary_folder() as folder:
        status, output = take(f"{folder}/tour", build)
        assert status == 0, output
        seen = rows(output)
        assert len(seen) >= 15, output
        assert all(expected == was and ok == "✓" for _, expected, was, ok in seen), output

        lines = printed_commands(output)
        assert len(lines) == SETTING + COMMANDS, output
        assert all(line.startswith("posthorn ") for line in lines[SETTING:]), output
        verbs = {line.split()[1] for line in lines[SETTING:]}
        assert {"stats", "list", "show", "explain", "dead", "enqueue", "work"} <= verbs, output
        for line in lines[SETTING:]:
            runner.run(["bash", "-euc", f"{lines[0]}\n{line}"], cwd=runner.ROOT)


def test_a_step_that_goes_wrong_is_noticed():
    """A mailer that does nothing: the table says so, and so does the exit status."""
    build = runner.build_folder()
    with runner.temporary_folder() as folder:
        fake = f"{folder}/build"
        os.makedirs(f"{fake}/examples")
        os.makedirs(f"{fake}/src")
        os.symlink(f"{build}/src/cli", f"{fake}/src/cli")
        for name in ("orders", "billing", "reminder"):
            os.symlink(f"{build}/examples/{name}", f"{fake}/examples/{name}")
        with open(f"{fake}/examples/mailer", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexit 1\n")
        os.chmod(f"{fake}/examples/mailer", 0o755)
        status, output = take(f"{folder}/tour", fake)
        assert status == 1, output
        assert "mailer did not do it. Not everything is as expected" in output, output
