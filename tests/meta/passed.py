"""What ./test writes down: for which commit everything has passed."""
import os

from runner import ROOT, run, temporary_folder


class Repository:
    def __init__(self, folder):
        self.folder, self.file = folder, os.path.join(folder, ".git", "passed")
        self.shell("git init -q && git config user.name t && git config user.email t@localhost")
        self.commit("one")

    def shell(self, script):
        return run(["bash", "-euo", "pipefail", "-c", f". {ROOT}/tools/passed.sh; {script}"], cwd=self.folder).strip()

    def commit(self, text):
        self.shell(f"echo {text} >file && git add file && git commit -q -m {text}")

    def ran(self, failed=0, part="", meanwhile="true"):
        self.shell(f"at_start=$(commit_without_changes); {meanwhile}; "
                   f"note_passed {self.file} {failed} '{part}' \"$at_start\"")
        return open(self.file, encoding="utf-8").read().strip() if os.path.exists(self.file) else None


def test_a_whole_run_that_passes_names_the_commit_and_one_that_fails_takes_it_back():
    with temporary_folder() as folder:
        repository = Repository(folder)
        head = repository.shell("git rev-parse HEAD")
        assert repository.ran() == head
        assert repository.ran(failed=1) is None


def test_a_part_of_the_tests_leaves_alone_what_is_known_of_the_whole():
    with temporary_folder() as folder:
        repository = Repository(folder)
        assert repository.ran(part="meta") is None
        head = repository.ran()
        assert repository.ran(part="meta") == head
        assert repository.ran(failed=1, part="sqlite") == head


def test_what_is_not_committed_or_changed_meanwhile_has_not_passed():
    with temporary_folder() as folder:
        repository = Repository(folder)
        assert repository.ran(meanwhile="echo changed >file") is None
        assert repository.ran() is None
        repository.shell("git checkout -q file")
        assert repository.ran() is not None
        assert repository.ran(meanwhile="echo two >file; git commit -qam two") is None
