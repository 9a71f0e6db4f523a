"""Every example of every verb, as it is printed, in one shell and one database per verb."""
import tables
from scene import Scene

# The tests' PostgreSQL server runs without fsync, which the doctor calls an error.
FAILS = {("postgresql", "doctor"): 1}


def run_examples(posthorn, backend, verb):
    lines = [example["line"] for example in verb["examples"]]
    expected = FAILS.get((backend, verb["name"]), 0)
    with Scene(posthorn, backend) as place:
        # After each line its exit code, so that the one that failed can be named.
        script = "".join(f"{line}\ncode=$?; test $code = {expected} || {{ echo \"example {number}: $code\" >&2; exit 1; }}\n"
                         for number, line in enumerate(lines, 1))
        done = place.run(["bash", "-c", script])
        assert done.exit == 0, "\n".join([*lines, "stdout:", done.stdout, "stderr:", done.stderr])


def tests(posthorn, backend):
    return [(f"examples.{verb['name'].replace(' ', '_')}",
             lambda verb=verb: run_examples(posthorn, backend, verb))
            for verb in tables.verbs(posthorn) if verb["examples"]]
