"""Timers, jobs and the scheduler, from SQL."""
import json
import re

from host import OTHER, OWNER, database, error_of
from verbs import CLAIM, UUID

NOBODY = "00000000-0009-8000-8000-000000000000"
NOTHING = {"timers": 0, "runs": 0, "job_runs": 0, "joins": 0, "problems": 0, "more": False}


def timer(d, due="2030-01-01T00:01:00Z", payload="p"):
    return d.one("SELECT posthorn_timer_schedule('t', ?, ?)", payload, due)


def run(d, *options):
    answer = json.loads(d.one(f"SELECT posthorn_schedule_run({'?' * len(options)})", *options))
    assert sorted(answer) == sorted([*NOTHING, "now", "next_at"])
    return answer


def did(answer):
    """What was not nothing."""
    return {name: answer[name] for name in NOTHING if answer[name] != NOTHING[name]}


def outcomes(d, door, verb, *arguments):
    marks = ", ".join("?" * len(arguments))
    return [outcome for outcome, in
            d.query(f"SELECT outcome FROM posthorn_{door}_{verb}({marks})", *arguments)]


def claim(d, door, owner=OWNER):
    return [row[0] for row in
            d.query(f"SELECT work_id FROM posthorn_{door}_claim(?, 30, 10)", owner)]


# -------------------------------------------------------------------- timers

def test_a_timer_becomes_a_message():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        work_id = d.one("SELECT posthorn_timer_schedule('t', 'päyload', 1893456060.5, 'n', 'c-1', ?)",
                        '{ "a" : 1.10 }')
        assert d.query("SELECT namespace, topic, payload, correlation_id, headers, due_time_utc, "
                       "status FROM posthorn_timers") == [
            ("n", "t", "päyload", "c-1", '{ "a" : 1.10 }', "2030-01-01T00:01:00.500000Z", "ready")]
        answer = run(d)
        assert (did(answer), answer["now"], answer["next_at"]) == (
            {}, "2030-01-01T00:00:00.000000Z", "2030-01-01T00:01:00.500000Z")
        d.clock("2030-01-01 00:01:01")
        answer = run(d)
        assert (did(answer), answer["next_at"]) == ({"timers": 1}, None)
        assert d.query("SELECT message_id, namespace, topic, payload, correlation_id, headers "
                       "FROM posthorn_outbox") == [
            (work_id, "n", "t", "päyload", "c-1", '{ "a" : 1.10 }')]
        assert d.one("SELECT status FROM posthorn_timers") == "done"
        assert did(run(d)) == {}


def test_a_timer_can_be_cancelled_once():
    with database() as d:
        first, second = timer(d), timer(d)
        assert [d.one("SELECT posthorn_timer_cancel(?)", first) for _ in range(2)] == [1, 0]
        d.clock("2030-01-02")
        assert claim(d, "timers") == [second]
        assert d.one("SELECT posthorn_timer_cancel(?)", second) == 0
        assert d.one("SELECT posthorn_timer_cancel(?)", NOBODY) == 0


def test_timers_in_a_transaction():
    with database() as d:
        for end, count in (("ROLLBACK", 0), ("COMMIT", 1)):
            d.query("BEGIN IMMEDIATE")
            work_id = timer(d)
            d.query(end)
            assert d.one("SELECT count(*) FROM posthorn_timers") == count
        for end, count in (("ROLLBACK", 1), ("COMMIT", 0)):
            d.query("BEGIN IMMEDIATE")
            assert d.one("SELECT posthorn_timer_cancel(?)", work_id) == 1
            d.query(end)
            assert d.one("SELECT count(*) FROM posthorn_timers") == count


def test_timers_inside_a_statement_that_writes():
    with database() as d:
        d.query("CREATE TABLE carts (name TEXT, timer TEXT)")
        d.query("INSERT INTO carts(name) VALUES ('a'), ('b')")
        d.query("UPDATE carts SET timer = posthorn_timer_schedule('remind', name, '2030-01-01')")
        assert d.query("SELECT t.payload FROM carts JOIN posthorn_timers t ON t.id = timer "
                       "ORDER BY 1") == [("a",), ("b",)]
        d.fails("posthorn_timer_schedule: topic is empty; it is required",
                "UPDATE carts SET timer = posthorn_timer_schedule(iif(name = 'a', 't', ''), '', 4e9)")
        assert d.one("SELECT count(*) FROM posthorn_timers") == 2


# ------------------------------------------------------------- worked by hand

def one_of(d, door):
    """One that is due, behind a door."""
    if door == "timers":
        return timer(d, "2029-12-31")
    d.query("SELECT posthorn_job_set('j', 't', '@daily')")
    return d.one("SELECT posthorn_job_trigger('j')")


def test_the_verbs_of_workers_behind_every_door():
    for door in ("timers", "job_runs"):
        with database() as d:
            d.clock("2030-01-01 00:00:00")
            work_id = one_of(d, door)
            other = d.enqueue()
            cursor = d.db.execute(f"SELECT * FROM posthorn_{door}_claim(?, 30, 10)", (OWNER,))
            assert [column[0] for column in cursor.description] == CLAIM
            (row,) = [dict(zip(CLAIM, values)) for values in cursor.fetchall()]
            assert (row["work_id"], row["topic"], row["attempts"]) == (work_id, "t", 1)
            assert outcomes(d, door, "ack", OWNER, other) == ["unknown"], "another door's"
            assert outcomes(d, "outbox", "ack", OWNER, work_id) == ["unknown"]
            assert outcomes(d, door, "renew", OWNER, work_id, 60, row["fence"]) == ["renewed"]
            assert outcomes(d, door, "release", OTHER, work_id) == ["stale"]
            assert outcomes(d, door, "release", OWNER, work_id) == ["released"]
            assert claim(d, door) == [work_id]
            assert outcomes(d, door, "abandon", OWNER, work_id, "later", 0) == ["abandoned"]
            assert claim(d, door) == [work_id]
            assert outcomes(d, door, "fail", OWNER, work_id, "never") == ["failed"]
            assert d.query("SELECT id, error FROM posthorn_dead_letters") == [(work_id, "never")]
            (new,) = d.query("SELECT new FROM posthorn_dead_retry(?)", work_id)[0]
            assert claim(d, door) == [new]
            assert outcomes(d, door, "ack", OWNER, new) == ["acked"]
            assert d.status(other) == "ready"


def test_leases_of_every_door_are_reaped_apart():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        for door in ("timers", "job_runs"):
            one_of(d, door)
            assert len(claim(d, door)) == 1
        d.clock("2030-01-01 01:00:00")
        assert d.one("SELECT posthorn_outbox_reap_expired()") == 0
        for door in ("timers", "job_runs"):
            assert d.one(f"SELECT posthorn_{door}_reap_expired()") == 1
            assert d.one(f"SELECT posthorn_{door}_reap_expired()") == 0


def test_the_scheduler_keeps_its_hands_off():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        one_of(d, "timers")
        one_of(d, "job_runs")
        assert did(run(d, '{"keep_timers":true,"keep_job_runs":true,"batch_size":null}')) == {}
        assert did(run(d, '{"keep_timers":true}')) == {"job_runs": 1}
        assert did(run(d, '{"keep_job_runs":true,"keep_timers":false}')) == {"timers": 1}


def test_queues_of_every_door():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        for door in ("timers", "job_runs"):
            one_of(d, door)
            d.query(f"SELECT posthorn_queue_set('{door}', '', '{{\"max_attempts\":3}}')")
            d.query(f"SELECT posthorn_queue_pause('{door}', '')")
            assert claim(d, door) == []
        assert did(run(d)) == {}
        assert d.query("SELECT door, max_attempts, paused FROM posthorn_queues "
                       "WHERE door <> 'outbox' ORDER BY 1") == [
            ("job_runs", 3, 1), ("timers", 3, 1)]
        d.query("SELECT posthorn_queue_resume('timers', '')")
        assert did(run(d)) == {"timers": 1}


# ---------------------------------------------------------------------- jobs

def job(d):
    cursor = d.db.execute("SELECT * FROM posthorn_jobs")
    (values,) = cursor.fetchall()
    return dict(zip((column[0] for column in cursor.description), values))


def test_a_job_with_everything_and_with_nothing():
    with database() as d:
        assert d.one("SELECT posthorn_job_set('j', 't', '*/5 * * * *', 'pay', 'Europe/Berlin', "
                     "'all', 7, 'skip', 'n')") is None
        names = ["topic", "cron", "payload", "timezone", "misfire", "misfire_limit", "overlap",
                 "namespace", "paused"]
        assert [job(d)[name] for name in names] == ["t", "*/5 * * * *", "pay", "Europe/Berlin", "all",
                                                    7, "skip", "n", 0]
        d.query("SELECT posthorn_job_set('j', 'u', '@daily', NULL, NULL, NULL, NULL, NULL, NULL)")
        assert [job(d)[name] for name in names] == ["u", "@daily", None, "UTC", "once", 100, "allow",
                                                    "", 0]
        assert [d.one("SELECT posthorn_job_delete('j')") for _ in range(2)] == [1, 0]


def test_a_job_runs_by_the_clock():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        d.query("SELECT posthorn_job_set('j', 't', '0 3 * * *', 'p', 'Europe/Berlin')")
        answer = run(d)
        assert (did(answer), answer["next_at"]) == ({}, "2030-01-01T02:00:00.000000Z")
        d.clock("2030-01-01 02:00:01")
        answer = run(d)
        assert (did(answer), answer["next_at"]) == ({"runs": 1, "job_runs": 1},
                                                    "2030-01-02T02:00:00.000000Z")
        ((message_id, payload, headers),) = d.query(
            "SELECT message_id, payload, headers FROM posthorn_outbox WHERE topic = 't'")
        assert payload == "p"
        assert json.loads(headers) == {"job": "j", "scheduled_at": "2030-01-01T02:00:00.000000Z"}
        assert d.query("SELECT id, job, scheduled_at, triggered FROM posthorn_job_runs") == [
            (message_id, "j", "2030-01-01T02:00:00.000000Z", 0)]
        assert (job(d)["last_run"], job(d)["next_at"]) == (message_id, "2030-01-02T02:00:00.000000Z")


def test_a_job_that_is_declared_again_keeps_what_it_missed():
    for again in ("@hourly", "30 4 * * *"):
        with database() as d:
            d.clock("2030-01-01 00:00:00")
            d.query("SELECT posthorn_job_set('j', 't', '@hourly')")
            run(d)
            d.clock("2030-01-01 03:20:00")
            d.query("SELECT posthorn_job_set('j', 't', ?)", again)
            assert did(run(d)) == {"runs": 1, "job_runs": 1}
            assert job(d)["last_at"] == "2030-01-01T03:00:00.000000Z"


def test_missed_instants():
    for misfire, runs in (("once", 1), ("skip", 0), ("all", 3)):
        with database() as d:
            d.clock("2030-01-01 00:00:00")
            d.query("SELECT posthorn_job_set('j', 't', '@hourly', NULL, NULL, ?, 3)", misfire)
            run(d)
            d.clock("2030-01-01 09:30:00")
            answer = run(d)
            assert (answer["runs"], answer["job_runs"]) == (runs, runs), misfire
            assert d.messages() == runs


def test_a_batch_that_is_full():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        for number in range(5):
            timer(d, payload=str(number))
        d.clock("2030-01-02 00:00:00")
        assert did(run(d, '{"batch_size":3}')) == {"timers": 3, "more": True}
        assert did(run(d, '{"batch_size":3}')) == {"timers": 2}
        assert d.query("SELECT payload FROM posthorn_outbox ORDER BY id") == [
            (str(number),) for number in range(5)]


def test_pause_resume_and_trigger():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        d.query("SELECT posthorn_job_set('j', 't', '@hourly')")
        assert d.one("SELECT posthorn_job_pause('j')") is None
        d.clock("2030-01-01 05:30:00")
        assert did(run(d)) == {}
        assert re.fullmatch(UUID, d.one("SELECT posthorn_job_trigger('j')"))
        assert did(run(d)) == {"job_runs": 1}
        assert d.one("SELECT posthorn_job_resume('j')") is None
        answer = run(d)
        assert (did(answer), answer["next_at"]) == ({}, "2030-01-01T06:00:00.000000Z")


def test_a_job_that_is_not_there():
    with database() as d:
        for verb in ("trigger", "pause", "resume"):
            d.fails(f"posthorn_job_{verb}: there is no job of this name; see the view posthorn_jobs",
                    f"SELECT posthorn_job_{verb}('nobody')")


def test_a_job_that_was_spoilt_is_marked():
    """By somebody who writes the table, say: here nobody can set it so."""
    with database() as d:
        d.query("SELECT posthorn_job_set('bad', 't', '@hourly')")
        d.query("SELECT posthorn_job_set('good', 't', '@hourly')")
        d.query("UPDATE posthorn_job SET cron = 'never' WHERE name = 'bad'")
        assert did(run(d)) == {"problems": 1}
        assert d.query("SELECT name, problem IS NULL, next_at IS NULL FROM posthorn_jobs") == [
            ("bad", 0, 1), ("good", 1, 0)]
        assert did(run(d)) == {}


def test_jobs_in_a_transaction():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        for end, count in (("ROLLBACK", 0), ("COMMIT", 1)):
            d.query("BEGIN IMMEDIATE")
            d.query("SELECT posthorn_job_set('j', 't', '@hourly')")
            d.query("SELECT posthorn_job_trigger('j')")
            d.query(end)
            assert d.one("SELECT count(*) FROM posthorn_jobs") == count
            assert d.one("SELECT count(*) FROM posthorn_job_runs") == count
        for end, count in (("ROLLBACK", 1), ("COMMIT", 0)):
            d.query("BEGIN IMMEDIATE")
            assert d.one("SELECT posthorn_job_delete('j')") == 1
            d.query(end)
            assert d.one("SELECT count(*) FROM posthorn_job_runs") == count


# -------------------------------------------------------------- looking ahead

def test_the_next_instants():
    with database() as d:
        rows = d.query("SELECT scheduled_at FROM posthorn_job_next('30 9 * * mon-fri', "
                       "'Europe/Berlin', 3, '2030-03-29T12:00:00Z')")
        assert rows == [("2030-04-01T07:30:00.000000Z",), ("2030-04-02T07:30:00.000000Z",),
                        ("2030-04-03T07:30:00.000000Z",)]
        d.clock("2030-01-01 00:00:00")
        assert d.query("SELECT scheduled_at FROM posthorn_job_next('@yearly')") == [
            (f"{year}-01-01T00:00:00.000000Z",) for year in range(2031, 2036)]
        assert d.query("SELECT scheduled_at FROM posthorn_job_next('@yearly', 'UTC', 5, "
                       "'9998-06-01')") == [("9999-01-01T00:00:00.000000Z",)]
        assert d.query("SELECT n.scheduled_at FROM json_each('[\"@daily\",\"@hourly\"]') j, "
                       "posthorn_job_next(j.value, NULL, 1) n") == [
            ("2030-01-02T00:00:00.000000Z",), ("2030-01-01T01:00:00.000000Z",)]
        assert d.query("SELECT scheduled_at, cron FROM posthorn_job_next WHERE count = 1 AND "
                       "cron = '@daily' AND after = 0") == [("1970-01-02T00:00:00.000000Z", "@daily")]


# ----------------------------------------------------------------- scheduler

def test_a_run_belongs_to_the_transaction():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        d.query("SELECT posthorn_job_set('j', 't', '@hourly')")
        run(d)
        timer(d)
        d.clock("2030-01-01 01:00:00")
        for end, count in (("ROLLBACK", 0), ("COMMIT", 2)):
            d.query("BEGIN IMMEDIATE")
            assert did(run(d)) == {"timers": 1, "runs": 1, "job_runs": 1}
            assert d.db.in_transaction
            d.query(end)
            assert d.messages() == count


def test_a_run_that_fails_leaves_the_transaction_as_it_was():
    """The timer is turned into a message before the job's run is refused."""
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        d.query("SELECT posthorn_job_set('j', 't', '@hourly')")
        run(d)
        timer(d)
        d.query("CREATE TRIGGER no_runs BEFORE INSERT ON posthorn_job_run "
                "BEGIN SELECT RAISE(ABORT, 'no runs'); END")
        d.clock("2030-01-01 01:00:00")
        for begin in ("", "BEGIN IMMEDIATE"):
            if begin:
                d.query(begin)
                d.enqueue("t", "mine")
            before = d.messages()
            text = error_of(d.db, "SELECT posthorn_schedule_run()")
            assert "SQLite error 1811" in text and "rolled back" not in text, text  # the trigger's
            assert (d.messages(), d.db.in_transaction) == (before, begin != "")
            assert d.one("SELECT status FROM posthorn_timers") == "ready"
        d.query("COMMIT")
        d.query("DROP TRIGGER no_runs")
        assert did(run(d)) == {"timers": 1, "runs": 1, "job_runs": 1}
        assert d.messages() == 3


def test_a_run_is_a_statement_of_its_own():
    with database() as d:
        timer(d, "2020-01-01")
        d.fails("posthorn_schedule_run: it cannot be called inside a statement that writes; call it "
                "by a SELECT of its own", "CREATE TABLE made AS SELECT posthorn_schedule_run()")
        assert did(run(d)) == {"timers": 1}


def test_the_answer_is_json_to_other_functions():
    with database() as d:
        assert d.one("SELECT json_extract(json_object('a', posthorn_schedule_run()), '$.a.more')") == 0


def test_two_schedulers_make_one_run():
    with database() as d:
        d.clock("2030-01-01 00:00:00")
        d.query("SELECT posthorn_job_set('j', 't', '@hourly')")
        run(d)
        d.clock("2030-01-01 01:00:00")
        other = d.connect()
        answers = [run(d), json.loads(other.execute("SELECT posthorn_schedule_run()").fetchone()[0])]
        other.close()
        assert [did(answer) for answer in answers] == [{"runs": 1, "job_runs": 1}, {}]
        assert d.messages() == 1
