"""Invariants (src/util/assert.h): that there are enough of them, that they do nothing, and that the library is the same
without them."""
import os
import re
import subprocess

from runner import ROOT, Skip, build_folder, files, no_complaints, read, run, temporary_folder

LEAST = 100
# Functions that change nothing and allocate nothing.
PURE = {"are_leased", "are_stored", "atomic_load", "parameters_of", "ph__ascend", "ph__is_locked",
        "ph__lease_unsettled",
        "ph__outcomes_set", "slot_of", "sizeof", "PQntuples", "sqlite3_bind_parameter_count",
        "sqlite3_data_count", "sqlite3_get_autocommit", "sqlite3_stmt_busy", "__builtin_popcount", "_Alignof"}


def conditions(name):
    """The invariants of a file, each as (line, text)."""
    text = read(name)
    for match in re.finditer(r"\bPH__ASSERT\(", text):
        if text[:match.start()].endswith("#define "):
            continue
        depth, at = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield text.count("\n", 0, match.start()) + 1, text[match.end():at - 1]


def all_of_them():
    return [(name, line, condition) for name in files(".c", ".h", under=("src/",)) for line, condition in conditions(name)]


def test_there_are_enough():
    outside = [one for one in all_of_them() if not one[0].startswith("src/dispatch/")]
    assert len(outside) >= LEAST, len(outside)
    folders = {name.split("/")[1] if not name.startswith("src/store/") else "/".join(name.split("/")[1:3])
               for name, *_ in outside}
    assert folders >= {"core", "extension", "schedule", "set", "store/postgres", "store/sqlite", "util"}, folders


def test_they_do_nothing():
    """Release builds do not evaluate them: no assignment, no increment, no call of a function that has an effect."""
    complaints = []
    for name, line, condition in all_of_them():
        bare = re.sub(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", "0", condition)
        if re.search(r"(?<![=!<>])=(?!=)|\+\+|--", bare):
            complaints.append(f"{name}:{line}: it sets something: {condition}")
        for called in set(re.findall(r"\b(\w+)\(", bare)) - PURE:
            complaints.append(f"{name}:{line}: {called}() is not known to have no effect (tests/meta/assertions.py)")
    no_complaints(complaints)


def test_release_builds_have_none():
    """The same sources without PH__CHECKED: they compile without a warning, evaluate no invariant, and work."""
    compiler = os.environ.get("CC", "cc")
    program = r"""
#include "util/arena.h"
#include "util/buffer.h"
#include "util/assert.h"
#include "util/order.h"
#include <stdio.h>
#include <string.h>
static int evaluated;
static int count(void) { return evaluated++; }
int main(void)
{
    struct ph__arena arena = { 0 };
    struct ph__buffer buffer = { 0 };
    size_t used = 0, room = 0;
    int64_t *numbers = NULL;
    PH__ASSERT(count() < 0);
    for (int i = 100; i > 0; i--) {
        int64_t *added = PH__ARENA_ADD(&arena, numbers, used, room);
        if (!added)
            return 1;
        *added = i;
        ph__buffer_printf(&buffer, "%d,", i);
    }
    ph__sort_int64(numbers, used);
    printf("%d %zu %d %zu\n", evaluated, used, ph__ascend(numbers, used), strlen(buffer.data));
    ph__buffer_free(&buffer);
    ph__arena_free(&arena);
    return 0;
}
"""
    with temporary_folder() as folder:
        source, built = os.path.join(folder, "p.c"), os.path.join(folder, "p")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program)
        sources = [os.path.join(ROOT, name) for name in files(".c", under=("src/util/",))]
        flags = [compiler, "-std=c17", "-O1", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(ROOT, "src"),
                 "-I", os.path.join(ROOT, "include")]
        run([*flags, source, *sources, "-pthread", "-o", built])
        assert run([built]) == "0 100 1 292\n", run([built])
        # with them the first one ends the process, and names itself
        run([*flags, "-DPH__CHECKED", source, *sources, "-pthread", "-o", built])
        done = subprocess.run([built], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        assert done.returncode != 0 and "count() < 0" in done.stdout, done


def test_every_file_with_some_compiles_without_them():
    """As in a release build, where a variable that only an invariant looks at would be a warning."""
    compiler, build = os.environ.get("CC", "cc"), os.path.join(build_folder(), "src")
    for package in ("sqlite3", "libpq", "jansson"):
        if subprocess.run(["pkg-config", "--exists", package], check=False).returncode:
            raise Skip(f"{package} is not there")
    includes = run(["pkg-config", "--cflags", "sqlite3", "libpq", "jansson"]).split()
    names = sorted({name for name, *_ in all_of_them() if name.endswith(".c") and not name.startswith("src/extension/")})
    run([compiler, "-std=c17", "-fsyntax-only", "-D_GNU_SOURCE", "-DPH_WITH_SQLITE", "-DPH_WITH_POSTGRESQL", "-Wall",
         "-Wextra", "-Wshadow", "-Werror", "-I", build, "-I", "src", "-I", "include", *includes, *names], cwd=ROOT)


def test_the_layout_of_every_sized_struct_is_checked():
    """src/core/layout.c has those of every header."""
    sized = set()
    for name in files(".h", under=("include/",)):
        text = re.sub(r"/\*.*?\*/", "", read(name), flags=re.S)
        sized |= {match.group(2) for match in re.finditer(r"typedef struct \{([^{}]*?)\n\} (\w+);", text)
                  if re.match(r"\s*size_t size;", match.group(1))}
    checked = set(re.findall(r"^SIZED\((\w+), \w+, \d+\);", read("src/core/layout.c"), re.M))
    assert len(sized) > 20 and sized == checked, sized ^ checked
