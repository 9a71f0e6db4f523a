"""What the library shows: headers, symbols, and what it must never call."""
import os
import re

from runner import ROOT, build_folder, files, no_complaints, read, run, temporary_folder

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wundef", "-Wcast-qual",
          "-Wconversion"]
LANGUAGES = [["-x", "c", "-std=c99", "-Wstrict-prototypes", "-Wmissing-prototypes"],
             ["-x", "c", "-std=c17", "-Wstrict-prototypes", "-Wmissing-prototypes"],
             ["-x", "c++", "-std=c++11", "-Wzero-as-null-pointer-constant"],
             ["-x", "c++", "-std=c++17"]]
USES = """
int use(void);
int use(void)
{
    ph_store_opts store = PH_STORE_OPTS_INIT;
    ph_message message = PH_MESSAGE_INIT;
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    ph_queue_settings queue = PH_QUEUE_SETTINGS_INIT;
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher_opts dispatcher = PH_DISPATCHER_OPTS_INIT;
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    ph_message_list_opts list = PH_MESSAGE_LIST_OPTS_INIT;
    ph_queue_list_opts queues = PH_QUEUE_LIST_OPTS_INIT;
    ph_instance_list_opts instances = PH_INSTANCE_LIST_OPTS_INIT;
    ph_receptor_list_opts receptors = PH_RECEPTOR_LIST_OPTS_INIT;
    ph_checkpoint_list_opts checkpoints = PH_CHECKPOINT_LIST_OPTS_INIT;
    ph_database_list_opts databases = PH_DATABASE_LIST_OPTS_INIT;
    ph_served_store_list_opts stores = PH_SERVED_STORE_LIST_OPTS_INIT;
    ph_doctor_opts doctor = PH_DOCTOR_OPTS_INIT;
    ph_join_opts join = PH_JOIN_OPTS_INIT;
    ph_inbox_message inbox = PH_INBOX_MESSAGE_INIT;
    ph_stream_list_opts streams = PH_STREAM_LIST_OPTS_INIT;
    ph_work_batch_opts batch = PH_WORK_BATCH_OPTS_INIT;
    ph_wait wait = PH_WAIT_INIT;
    ph_join_list_opts joins = PH_JOIN_LIST_OPTS_INIT;
    ph_timer timer = PH_TIMER_INIT;
    ph_job job = PH_JOB_INIT;
    ph_job_list_opts jobs = PH_JOB_LIST_OPTS_INIT;
    ph_scheduler_opts scheduler = PH_SCHEDULER_OPTS_INIT;
    ph_schedule schedule = PH_SCHEDULE_INIT;
    ph_set_opts set = PH_SET_OPTS_INIT;
    ph_database database = PH_DATABASE_INIT;
    ph_router_opts router = PH_ROUTER_OPTS_INIT;
    ph_tx tx = PH_OWN_TX;

    return (int)(store.size + message.size + claim.size + queue.size + counts.size + status.size +
                 handler.size + dispatcher.size + stats.size + list.size + doctor.size + join.size +
                 wait.size + joins.size + timer.size + job.size + jobs.size + scheduler.size +
                 schedule.size + inbox.size + streams.size + batch.size + set.size + database.size +
                 router.size + queues.size + instances.size + receptors.size + checkpoints.size +
                 databases.size + stores.size) +
           (tx.connection != message.topic);
}
"""

# Libraries do not end, print, spawn or take signals behind their host's back.
FORBIDDEN = """exit _exit _Exit quick_exit abort atexit printf vprintf fprintf vfprintf puts putchar
    fputs perror __printf_chk __fprintf_chk __vprintf_chk __vfprintf_chk stdout stderr fork vfork
    execve execvp execl system popen posix_spawn thrd_create signal sigaction raise
    kill setlocale setenv putenv unsetenv tzset localtime gmtime ctime asctime strtok rand srand
    random gets strcpy strcat sprintf vsprintf chdir umask""".split()


def headers():
    return sorted(files(".h", under=("include/posthorn/",)))


def declared():
    """The functions that the headers promise."""
    names = set()
    for header in headers():
        text = re.sub(r"/\*.*?\*/", "", read(header), flags=re.S)
        text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.M | re.S)
        names |= set(re.findall(r"\bPH_API\b[^;{(]*?\b(ph_\w+)\(", text))
    assert len(names) > 30
    return names


def nm(*arguments):
    lines = run(["nm", *arguments]).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if line.strip() and ":" not in line}


def library(name):
    return os.path.join(build_folder(), "src", name)


def test_headers_compile_alone():
    drivers = run(["pkg-config", "--cflags", "libpq", "sqlite3"]).replace("-I", "-isystem").split()
    with temporary_folder() as folder:
        source = os.path.join(folder, "alone.txt")
        for header in headers():
            include = f"#include <posthorn/{os.path.basename(header)}>\n"
            with open(source, "w", encoding="utf-8") as file:
                file.write(include + include + USES)
            for language in LANGUAGES:
                run(["gcc", *language, *STRICT, *drivers, "-I", os.path.join(ROOT, "include"),
                     "-fsyntax-only", source])


def test_exports_are_what_the_headers_declare():
    in_map = set(re.findall(r"^\s+(ph_\w+);", read("src/libposthorn.map"), flags=re.M))
    exported = nm("-D", "--defined-only", library("libposthorn.so")) - {"POSTHORN_0.1"}
    assert in_map == declared(), f"map and headers differ: {sorted(in_map ^ declared())}"
    assert exported == in_map, f"library and map differ: {sorted(exported ^ in_map)}"


def test_archive_defines_only_our_names():
    # The sanitizers' build adds names with two underscores.
    strangers = [name for name in nm("-g", "--defined-only", library("libposthorn.a"))
                 if not name.startswith(("ph_", "__"))]
    no_complaints(strangers)


def test_library_leaves_its_host_alone():
    called = nm("-D", "-u", library("libposthorn.so"))
    no_complaints([f"the library uses {name}" for name in FORBIDDEN if name in called])


def test_invariants_cost_a_release_build_nothing():
    no_complaints([name for name in files(".c", ".h", under=("src/",))
                   if re.search(r"#include <assert\.h>", read(name)) and name != "src/util/assert.h"])
    source = "#include \"util/assert.h\"\nextern int f(void);\nvoid g(void) { PH__ASSERT(f()); }\n"
    with temporary_folder() as folder:
        name = os.path.join(folder, "invariant.c")
        with open(name, "w", encoding="utf-8") as file:
            file.write(source)
        for flags, expected in ([], set()), (["-DPH__CHECKED"], {"f", "__assert_fail"}):
            run(["gcc", "-O0", *flags, "-I", os.path.join(ROOT, "src"), "-c", name, "-o", name + ".o"])
            assert nm("-u", name + ".o") - {"_GLOBAL_OFFSET_TABLE_"} == expected


def test_only_the_dispatcher_starts_threads():
    no_complaints([name for name in files(".c", under=("src/",))
                   if "pthread_create(" in read(name) and name not in ("src/dispatch/start.c", "src/dispatch/work/threads.c")
                   and not name.startswith("src/cli/")])


def test_sqlite_connections_are_opened_in_one_place():
    """Which gives them the settings that a file which is not trusted needs."""
    no_complaints([name for name in files(".c", ".h", under=("src/",))
                   if re.search(r"\bsqlite3_open(16|_v2)?\(", read(name))
                   and name != "src/store/sqlite/connection.c"])


def test_shared_object_is_named_and_hardened():
    elf = run(["readelf", "-W", "-d", "-l", library("libposthorn.so")])
    assert "[libposthorn.so.0]" in elf
    assert "GNU_RELRO" in elf and "NOW" in elf
    assert not re.search(r"GNU_STACK.*RWE", elf)


def test_every_function_is_tested():
    tests = "".join(read(name) for name in files(".c", under=("tests/",)))
    no_complaints([f"no test mentions {name}" for name in sorted(declared())
                   if not re.search(rf"\b{name}\b", tests)])


def test_lists_have_one_form():
    """ph_X_list(…, const ph_X_list_opts *opts, …, ph_Xs **ret_list, ph_error *reterr), and of
    ph_Xs: _count, _at, _free. Doors list messages."""
    text = "".join(re.sub(r"/\*.*?\*/", "", read(header), flags=re.S) for header in headers())
    text = re.sub(r"\s+", " ", text)
    lists = [(name, parameters) for name, parameters in re.findall(r"\bint (ph_\w+)\(([^;]*)\);", text)
             if name.endswith("_list") or "ret_list" in parameters]
    complaints = []
    for name, parameters in lists:
        if name == "ph_stream_read":  # what it reads is a place in a stream, not a choice
            continue
        what = re.sub(r"^ph_(outbox|inbox|timers|job_runs)_list$", "ph_message_list", name)[:-len("_list")]
        wanted = rf"const {what}_list_opts \*opts,( int timeout_ms,)? {what}s \*\*ret_list, ph_error \*reterr$"
        if not name.endswith("_list") or not re.search(wanted, parameters):
            complaints.append(f"{name}({parameters})")
        for part in (f"#define {what.upper()}_LIST_OPTS_INIT", f"size_t {what}s_count(const {what}s *list)",
                     f"*{what}s_at(const {what}s *list, size_t index)", f"void {what}s_free({what}s *list)"):
            if part not in text:
                complaints.append(f"{name}: there is no {part}")
    assert len(lists) > 13
    no_complaints(complaints)


def test_every_function_has_a_contract():
    complaints = []
    for header in headers():
        text = read(header)
        for name in re.findall(r"\bPH_API\b[^;{(]*?\b(ph_\w+)\(", text):
            before = text[:re.search(rf"PH_API[^;]*\b{name}\(", text).start()].rstrip()
            if not before.endswith(("*/", ";")):
                complaints.append(f"{name} has no comment")
    no_complaints(complaints)
