"""Completions are tried: by what bash and fish offer, and by each shell's own syntax check."""
import os
import shutil
import subprocess
import tempfile

import tables

# What is typed, and some of what must be offered, and must not.
TYPED = [
    ("posthorn ", "enqueue dead queue stats", "retry --db"),
    ("posthorn enq", "enqueue", "stats"),
    ("posthorn dead ", "list show retry discard", "enqueue"),
    ("posthorn j", "join job", "enqueue"),
    ("posthorn join ", "start attach wait show list cancel report", "timer"),
    ("posthorn join list --state ", "pending completed failed cancelled", "ready"),
    ("posthorn timer ", "add cancel list", "set"),
    ("posthorn job ", "set list next runs trigger pause resume delete", "add"),
    ("posthorn job set --misfire ", "once skip all", "allow"),
    ("posthorn schedule --", "--once --keep-timers --poll --json", "--due"),
    ("posthorn claim --door ", "outbox inbox timers job_runs", "claim"),
    ("posthorn work t --door ", "outbox inbox", "timers job_runs"),
    ("posthorn re", "receive reap renew release retention", "enqueue"),
    ("posthorn stream ", "list show read", "leave rewind"),
    ("posthorn stream list --state ", "idle ready blocked", "parked dead"),
    ("posthorn checkpoint ", "list complete fail rewind", "read"),
    ("posthorn instance ", "list leave", "show"),
    ("posthorn queue set --dead-head ", "skip block", "queue"),
    ("posthorn dead re", "retry", "list"),
    ("posthorn dead list --", "--topic --limit --json --db", "--due"),
    ("posthorn dead list ", "", "show retry enqueue"),
    ("posthorn enqueue --pri", "--priority", "--json"),
    ("posthorn enqueue --priority ", "urgent bulk", "enqueue --db"),
    ("posthorn enqueue -p u", "urgent", "bulk"),
    ("posthorn --db sqlite:x.db que", "queue", "enqueue"),
    ("posthorn --db=sqlite:x.db --json list --state ", "ready dead", "queue"),
    ("posthorn completion ", "bash zsh fish", "enqueue"),
    ("posthorn help st", "stats", "list"),
    ("posthorn help dead ", "list show retry discard", "enqueue"),
    ("posthorn enqueue --due ", "", "--json enqueue"),
    ("posthorn __", "", "__man __tables"),
]

# What follows --exec is a program, and its own business.
TYPED_IN_BASH = [
    ("posthorn work t --exec compge", "compgen", "enqueue"),
    ("posthorn work t --exec ", "cat", "--db enqueue"),
    ("posthorn work t --exec cat --", "", "--db --json --once --concurrency"),
    ("posthorn work t --exec cat ", "", "enqueue dead"),
]


def offered_by_bash(posthorn, line):
    """What bash would offer at the end of a line."""
    script = """
source /dev/stdin <<<"$1"
# Words as readline cuts them: at blanks, and at = and : which stand alone.
read -ra COMP_WORDS <<<"$(sed -E 's/[=:]/ & /g' <<<"$2")"
[[ $2 != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_posthorn
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", tables.output(posthorn, "completion", "bash"), line],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, f"{line}: {done.stderr}"
    return done.stdout.split()


def check_offers(posthorn, shell):
    for line, wanted, unwanted in TYPED + (TYPED_IN_BASH if shell == "bash" else []):
        words = (offered_by_bash if shell == "bash" else offered_by_fish)(posthorn, line)
        missing = [word for word in wanted.split() if word not in words]
        assert not missing, f"{line!r} does not offer {missing}, but {words}"
        surplus = [word for word in unwanted.split() if word in words]
        assert not surplus, f"{line!r} offers {surplus}"


def offered_by_fish(posthorn, line):
    done = subprocess.run(["fish", "--no-config", "-c", 'source (echo $argv[1] | psub); complete -C "$argv[2]"',
                           tables.output(posthorn, "completion", "fish"), line],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, f"{line}: {done.stderr}"
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


def check_syntax(posthorn, shell):
    with tempfile.TemporaryDirectory(prefix="cli.") as folder:
        path = os.path.join(folder, f"_posthorn.{shell}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(tables.output(posthorn, "completion", shell))
        done = subprocess.run([shell, "-n", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60)
        assert done.returncode == 0 and not done.stdout, done.stdout


def tests(posthorn, _backend):
    """Shells that are not installed are passed over: they are not required."""
    checks = [("offers", check_offers, "bash"), ("offers", check_offers, "fish"),
              *(("syntax", check_syntax, shell) for shell in ("bash", "zsh", "fish"))]
    return [(f"completions.{what}_{shell}", lambda check=check, shell=shell: check(posthorn, shell))
            for what, check, shell in checks if shutil.which(shell)]
