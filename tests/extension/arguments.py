"""Arguments that are wrong are refused with a text that helps, and nothing is stored."""
from host import OWNER, database

ENQUEUE = "posthorn_enqueue: "
CLAIM = "posthorn_outbox_claim: "
ACK = "posthorn_outbox_ack: "
NEXT = "posthorn_job_next: "
NO_ZONE = ('there is no time zone "Mars/Olympus"; give one such as Europe/Berlin, and check that the '
           "zone files (package tzdata) are installed")
ID = "00000000-0001-8000-8000-000000000001"

ENQUEUES = [
    ("posthorn_enqueue()", "0 arguments; it takes (topic, payload [, options])"),
    ("posthorn_enqueue('t')", "1 argument; it takes (topic, payload [, options])"),
    ("posthorn_enqueue('t', 'p', '{}', 1)", "4 arguments; it takes (topic, payload [, options])"),
    ("posthorn_enqueue(NULL, 'p')", "topic is NULL; it is required"),
    ("posthorn_enqueue('', 'p')", "topic is empty; it is required"),
    ("posthorn_enqueue(5, 'p')", "topic is a number; give text: CAST(... AS TEXT) makes it"),
    ("posthorn_enqueue('t', NULL)", "payload is NULL; it is required"),
    ("posthorn_enqueue('t', 1.5)",
     "payload is a number with a fraction; give text: CAST(... AS TEXT) makes it"),
    ("posthorn_enqueue('t', x'00ff')", "payload is a BLOB; give text: CAST(... AS TEXT) makes it"),
    ("posthorn_enqueue('t', 'a' || char(0) || 'b')",
     "payload holds a NUL byte; encode binary data as text"),
    ("posthorn_enqueue('t', CAST(x'ff' AS TEXT))",
     "payload is not valid UTF-8; encode binary data as text"),
    ("posthorn_enqueue(printf('%.*c', 256, 'x'), 'p')",
     "topic has 256 characters; at most 255 are allowed"),
    ("posthorn_enqueue('t', 'p', 'secret')", "options is not valid JSON (line 1, column 6)"),
    ("posthorn_enqueue('t', 'p', '{\"headers\":{\"secret\"}}')",
     "options is not valid JSON (line 1, column 21)"),
    ("posthorn_enqueue('t', 'p', '[]')", "options is not a JSON object"),
    ("posthorn_enqueue('t', 'p', 1)", "options is a number; give text: CAST(... AS TEXT) makes it"),
    ("posthorn_enqueue('t', 'p', '{\"priority\":1,\"priority\":2}')",
     "options is not valid JSON (line 1, column 24: a key occurs twice)"),
]

OPTIONS = [
    ('"tpoic":"x"', 'there is no option "tpoic"'),
    ('"topic":"x"', 'there is no option "topic"'),
    ('"namespace":5', "namespace is not a JSON string"),
    ('"dedupe_key":""', "dedupe_key is empty; leave it out, or name one"),
    ('"priority":4', "priority is 4; give 0 to 3"),
    ('"priority":-1', "priority is -1; give 0 to 3"),
    ('"priority":"high"', "priority is not a whole number"),
    ('"priority":0.5', "priority is not a whole number"),
    ('"max_attempts":0', "max_attempts is 0; give 1 to 30000"),
    ('"max_attempts":30001', "max_attempts is 30001; give 1 to 30000"),
    ('"tenant_id":"x"', "tenant_id is not a UUID"),
    ('"message_id":7', "message_id is not a UUID"),
    ('"message_id":"00000000-0000-0000-0000-000000000000"',
     "message_id is all zero; pass NULL to have one made"),
    ('"tenant_id":"11111111-2222-4333-8444-555555555555","dedupe_key":"k"',
     "dedupe_key does not begin with the tenant id; with a tenant it must read "
     '"11111111-2222-4333-8444-555555555555/…"'),
    ('"due_at":"tomorrow"',
     "due_at is not a time; give one such as 2030-01-31T09:30:00Z, or seconds since 1970"),
    ('"due_at":"2030-02-29T00:00:00Z"',
     "due_at is not a time; give one such as 2030-01-31T09:30:00Z, or seconds since 1970"),
    ('"due_at":true',
     "due_at is not a time; give one such as 2030-01-31T09:30:00Z, or seconds since 1970"),
    ('"due_at":1e15', "due_at lies outside the years 1 to 9999"),
    ('"due_at":"2030-01-02 10:00"',
     "due_at has no time zone; give one such as 2030-01-31T09:30:00Z, or seconds since 1970"),
    ('"due_at":"2030-01-02Z","expires_at":"2030-01-01Z"',
     "expires_at is not after due_at; the message could never be claimed"),
    ('"headers":[1]',
     "headers are not a JSON object; with json_object() give json('{...}')"),
    ('"headers":"{}"',
     "headers are not a JSON object; with json_object() give json('{...}')"),
    ('"stream":1', "stream is not a JSON string"),
    ('"join_id":"j"', "join_id is not a UUID"),
    ('"join_id":"00000000-0000-0000-0000-000000000000"', "join_id is all zero; pass NULL for none"),
]

MANY = [
    ("NULL", "messages is NULL; it is required"),
    ("'{}'", "messages is not a JSON array"),
    ("'[1]'", "message 0: is not a JSON object"),
    ("'[{\"topic\":\"t\",\"payload\":\"p\"},{\"topic\":\"t\"}]'",
     "message 1: payload is NULL; it is required, but may be empty"),
    ("'[{\"topic\":\"t\",\"payload\":\"p\"},{\"topic\":\"t\",\"payload\":\"p\",\"x\":1}]'",
     'message 1: there is no option "x"'),
    ("(SELECT json_group_array(value) FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL "
     "SELECT value + 1 FROM n LIMIT 10001) SELECT value FROM n))",
     "10001 messages; at most 10000 are allowed"),
]

ROWS = [
    ("posthorn_outbox_claim('{o}')", CLAIM + "lease_seconds is not given; it is required"),
    ("posthorn_outbox_claim", CLAIM + "owner is not given; it is required"),
    ("posthorn_outbox_claim(NULL, 30, 1)", CLAIM + "owner is NULL; it is required"),
    ("posthorn_outbox_claim('me', 30, 1)",
     CLAIM + "owner is not a UUID, or all zero; give each worker one of its own, such as "
     "posthorn_owner_new() makes"),
    ("posthorn_outbox_claim('00000000-0000-0000-0000-000000000000', 30, 1)",
     CLAIM + "owner is not a UUID, or all zero; give each worker one of its own, such as "
     "posthorn_owner_new() makes"),
    ("posthorn_outbox_claim('{o}', 0, 1)", CLAIM + "lease_seconds is 0; give 1 to 86400"),
    ("posthorn_outbox_claim('{o}', 86401, 1)",
     CLAIM + "lease_seconds is 86401; give 1 to 86400"),
    ("posthorn_outbox_claim('{o}', 30, '1')", CLAIM + "batch_size is text; give a whole number"),
    ("posthorn_outbox_claim('{o}', 30, 10001)",
     CLAIM + "batch_size is 10001; give 1 to 10000"),
    ("posthorn_outbox_claim('{o}', 30, 1, 5)",
     CLAIM + "namespace is a number; give text: CAST(... AS TEXT) makes it"),
    ("posthorn_outbox_claim('{o}', 30, 1, '', 'a')",
     CLAIM + "topics is not valid JSON (line 1, column 1)"),
    ("posthorn_outbox_claim('{o}', 30, 1, '', '[]')",
     CLAIM + "topics is empty; leave it out for all"),
    ("posthorn_outbox_claim('{o}', 30, 1, '', '[\"a\",1]')",
     CLAIM + "topics: element 1 is not a text"),
    ("posthorn_outbox_claim('{o}', 30, 1, '', '[\"\"]')",
     CLAIM + "topics: a topic is empty; it is required"),
    ("posthorn_outbox_claim('{o}', 30, 1, '', NULL, 6)",
     "too many arguments on posthorn_outbox_claim() - max 5"),
    ("posthorn_outbox_ack('{o}', 'x')",
     ACK + "work_ids is neither a UUID nor a JSON array of UUIDs"),
    ("posthorn_outbox_ack('{o}', '[\"{id}\",2]')", ACK + "work_ids: element 1 is not a UUID"),
    ("posthorn_outbox_ack('{o}', '[\"{id}\"')", ACK + "work_ids is not valid JSON (line 1, column 39)"),
    ("posthorn_outbox_ack('{o}', NULL)", ACK + "work_ids is NULL; it is required"),
    ("posthorn_outbox_ack('{o}', '{id}', '[1,2]')",
     ACK + "2 fences for 1 ids; give one each, or none"),
    ("posthorn_outbox_ack('{o}', '{id}', -1)",
     ACK + "fences is -1; give 0 to 9223372036854775807"),
    ("posthorn_outbox_ack('{o}', '[\"{id}\",\"{id}\"]', 7)",
     ACK + "fences is one number for 2 ids; give a JSON array"),
    ("posthorn_outbox_ack('{o}', '{id}', 1.5)",
     ACK + "fences is neither a whole number nor a JSON array of them"),
    ("posthorn_outbox_ack('{o}', '{id}', '[\"x\"]')",
     ACK + "fences: element 0 is not a fence, which is a number from a claim"),
    ("posthorn_outbox_abandon('{o}', '{id}', NULL, -1)",
     "posthorn_outbox_abandon: delay_seconds is negative; give zero or more"),
    ("posthorn_outbox_abandon('{o}', '{id}', NULL, 'soon')",
     "posthorn_outbox_abandon: delay_seconds is text; give a number of seconds"),
    ("posthorn_outbox_abandon('{o}', '{id}', 5)",
     "posthorn_outbox_abandon: error is a number; give text: CAST(... AS TEXT) makes it"),
    ("posthorn_outbox_renew('{o}', '{id}')",
     "posthorn_outbox_renew: lease_seconds is not given; it is required"),
    ("posthorn_dead_retry('x')",
     "posthorn_dead_retry: work_ids is neither a UUID nor a JSON array of UUIDs"),
    ("posthorn_timers_claim('{o}', 0, 1)",
     "posthorn_timers_claim: lease_seconds is 0; give 1 to 86400"),
    ("posthorn_job_runs_ack('{o}', 'x')",
     "posthorn_job_runs_ack: work_ids is neither a UUID nor a JSON array of UUIDs"),
    ("posthorn_job_next", NEXT + "cron is not given; it is required"),
    ("posthorn_job_next('* * *')",
     NEXT + "cron: 3 fields; give five (minute hour day month weekday), or six with the second "
     "before them, or @daily and the like"),
    ("posthorn_job_next('0 0 30 2 *')",
     NEXT + 'cron: "0 0 30 2 *" never fires; no date matches it'),
    ("posthorn_job_next('@daily', 'Mars/Olympus')", NEXT + NO_ZONE),
    ("posthorn_job_next('@daily', 'UTC', 0)", NEXT + "count is 0; give 1 to 10000"),
    ("posthorn_job_next('@daily', 'UTC', 1, 'soon')",
     NEXT + "after is not a time; give one such as 2030-01-31T09:30:00Z, or seconds since 1970"),
    ("posthorn_job_next('@daily', 'UTC', 1, 1e15)", NEXT + "after lies outside the years 1 to 9999"),
    ("posthorn_job_next('@daily', 'UTC', 1, x'00')",
     NEXT + "after is a BLOB; give text such as 2030-01-31T09:30:00Z, or seconds since 1970"),
]

JOINS = [
    ("start()", "0 arguments; it takes (expected_steps [, grouping_key, metadata, deadline])"),
    ("start(NULL)", "expected_steps is NULL; it is required"),
    ("start(0)", "expected_steps is 0; give 1 to 1000000"),
    ("start(1000001)", "expected_steps is 1000001; give 1 to 1000000"),
    ("start('2')", "expected_steps is text; give a whole number"),
    ("start(1, printf('%.*c', 256, 'x'))",
     "grouping_key has 256 characters; at most 255 are allowed"),
    ("start(1, NULL, 5)", "metadata is a number; give text: CAST(... AS TEXT) makes it"),
    ("start(1, NULL, printf('%.*c', 1048577, 'x'))",
     "metadata has 1048577 bytes; at most 1048576 are allowed"),
    ("start(1, NULL, NULL, 'soon')",
     "deadline is not a time; give one such as 2030-01-31T09:30:00Z, or seconds since 1970"),
    ("start(1, NULL, NULL, 0)", "deadline is not ahead of the database's clock"),
    ("attach('x', '{id}')", "join_id is not a UUID"),
    ("attach('{id}', NULL)", "message_id is NULL; it is required"),
    ("attach('{id}', x'00')", "message_id is a BLOB; give text: CAST(... AS TEXT) makes it"),
    ("attach('{id}')", "1 argument; it takes (join_id, message_id)"),
    ("attach_many('{id}', '[]')", "0 messages; give 1 to 10000"),
    ("attach_many('{id}', '[1]')", "message_ids: element 0 is not a UUID"),
    ("report_completed('{id}', 'x')", "message_id is not a UUID"),
    ("report_failed(1, '{id}')", "join_id is a number; give text: CAST(... AS TEXT) makes it"),
    ("wait('{id}')",
     "1 argument; it takes (join_id, fail_if_any_step_failed, on_complete_topic, "
     "on_complete_payload [, on_fail_topic, on_fail_payload, namespace])"),
    ("wait('{id}', NULL, 't', 'p')", "fail_if_any_step_failed is NULL; it is required"),
    ("wait('{id}', 2, 't', 'p')", "fail_if_any_step_failed is 2; give 0 to 1"),
    ("wait('{id}', 'true', 't', 'p')", "fail_if_any_step_failed is text; give a whole number"),
    ("wait('{id}', 1, '', 'p')", "on_complete_topic is empty; it is required"),
    ("wait('{id}', 1, 't', NULL)", "on_complete_payload is NULL; it is required"),
    ("wait('{id}', 1, 't', '', '')", "on_fail_topic is empty; leave it out to send nothing"),
    ("cancel('x')", "join_id is not a UUID"),
]

SCHEDULES = [
    ("timer_schedule('t', 'p')",
     "2 arguments; it takes (topic, payload, due_at [, namespace, correlation_id, headers])"),
    ("timer_schedule('t', 'p', NULL)", "due_at is NULL; it is required"),
    ("timer_schedule('t', 'p', 'soon')",
     "due_at is not a time; give one such as 2030-01-31T09:30:00Z, or seconds since 1970"),
    ("timer_schedule('t', 'p', 1e300)", "due_at lies outside the years 1 to 9999"),
    ("timer_schedule('t', 'p', 0)",
     "due_at is before the year 2000; its unit is probably wrong; times are seconds since 1970, or "
     "text"),
    ("timer_schedule('', 'p', 2e9)", "topic is empty; it is required"),
    ("timer_schedule('t', x'00', 2e9)", "payload is a BLOB; give text: CAST(... AS TEXT) makes it"),
    ("timer_schedule('t', 'p', 2e9, NULL, NULL, '[]')", "headers are not a JSON object"),
    ("timer_cancel('x')", "timer_id is not a UUID"),
    ("timer_cancel('00000000-0000-0000-0000-000000000000')",
     "timer id is empty; pass the one from posthorn_timer_schedule()"),
    ("job_set('j', 't')",
     "2 arguments; it takes (name, topic, cron [, payload, timezone, misfire, misfire_limit, "
     "overlap, namespace])"),
    ("job_set('', 't', '@daily')", "name is empty; it is required"),
    ("job_set('j', '', '@daily')", "topic is empty; it is required"),
    ("job_set('j', 't', '')", 'cron is empty; give an expression such as "0 3 * * *"'),
    ("job_set('j', 't', '61 * * * *')", 'cron: minute "61": it is out of range; give 0 to 59'),
    ("job_set('j', 't', '@daily', 5)", "payload is a number; give text: CAST(... AS TEXT) makes it"),
    ("job_set('j', 't', '@daily', '', 'Mars/Olympus')", NO_ZONE),
    ("job_set('j', 't', '@daily', '', '../passwd')",
     '"../passwd" is not the name of a time zone; give one such as Europe/Berlin'),
    ("job_set('j', 't', '@daily', '', 'UTC', 'twice')",
     "there is no such misfire; this version has: once, skip, all"),
    ("job_set('j', 't', '@daily', '', 'UTC', 'all', 10001)",
     "misfire_limit is 10001; give 1 to 10000"),
    ("job_set('j', 't', '@daily', '', 'UTC', 'all', 1, 'forbid')",
     "there is no such overlap; this version has: allow, skip"),
    ("job_delete(NULL)", "name is NULL; it is required"),
    ("job_trigger('')", "name is empty; it is required"),
    ("job_pause(7)", "name is a number; give text: CAST(... AS TEXT) makes it"),
    ("schedule_run('[]')", "options is not a JSON object"),
    ("schedule_run('{\"batch\":1}')", 'there is no option "batch"'),
    ("schedule_run('{\"batch_size\":0}')", "batch_size is 0; give 1 to 10000"),
    ("schedule_run('{\"keep_timers\":1}')", "keep_timers is not true or false"),
    ("schedule_run(1, 2)", "2 arguments; it takes ([options])"),
]

QUEUES = [
    ("posthorn_queue_set('letterbox', '', '{}')",
     "posthorn_queue_set: there is no such door; this version has: outbox, inbox, timers, job_runs"),
    ("posthorn_queue_set('inbox', '', '{\"dead_head\":\"stop\"}')",
     'posthorn_queue_set: dead_head: give "skip" or "block"'),
    ("posthorn_queue_set('inbox', '', '{\"affinity_grace_ms\":-2}')",
     "posthorn_queue_set: affinity_grace_ms is -2; give 1 to 3600000, or -1 for none"),
    ("posthorn_queue_set('outbox', NULL, '{}')",
     "posthorn_queue_set: namespace is NULL; it is required"),
    ("posthorn_queue_set('outbox', '', NULL)",
     "posthorn_queue_set: settings is NULL; it is required"),
    ("posthorn_queue_set('outbox', '', '{\"attempts\":1}')",
     'posthorn_queue_set: there is no setting "attempts"'),
    ("posthorn_queue_set('outbox', '', '{\"max_attempts\":0}')",
     "posthorn_queue_set: max_attempts is 0; give 1 to 30000"),
    ("posthorn_queue_set('outbox', '', '{\"retention_s\":-2}')",
     "posthorn_queue_set: retention_s is -2; give 1 to 3162240000, or -1 for ever"),
    ("posthorn_queue_set('outbox', '', '{\"max_lease_s\":-1}')",
     "posthorn_queue_set: max_lease_s is -1; give 1 to 86400"),
    ("posthorn_queue_set('outbox', '', '{\"backoff\":\"none\"}')",
     'posthorn_queue_set: backoff: give "exponential" or "equal-jitter"'),
    ("posthorn_queue_set('outbox', '', '{\"delete_on_ack\":1}')",
     "posthorn_queue_set: delete_on_ack is not true or false"),
    ("posthorn_queue_set('timers', '', '{\"join_wait_topic\":1}')",
     "posthorn_queue_set: join_wait_topic is not a JSON string"),
    ("posthorn_queue_set('outbox', '', '{\"join_wait_topic\":\"\"}')",
     "posthorn_queue_set: join_wait_topic is empty; it is required"),
    ("posthorn_queue_pause('outbox')",
     "posthorn_queue_pause: 1 argument; it takes (door, namespace)"),
    ("posthorn_queue_delete('attic', '')",
     "posthorn_queue_delete: there is no such door; this version has: outbox, inbox, timers, job_runs"),
    ("posthorn_retention_run(0)", "posthorn_retention_run: limit is 0; give 1 to 100000"),
    ("posthorn_clock(1)", "posthorn_clock: 1 argument; it takes ()"),
    ("posthorn_config('colour', 'red')",
     "posthorn_config: name: there are table_prefix and triggers"),
    ("posthorn_config('triggers', 'off')",
     "posthorn_config: triggers: 'allow' is the only value; it lasts as long as the connection"),
    ("posthorn_config('table_prefix', 'x; --')",
     "posthorn_config: table_prefix is not acceptable; use letters, digits and underscores, not "
     "beginning with a digit, at most 40"),
]


def test_enqueue():
    with database() as d:
        for call, error in ENQUEUES:
            d.fails(ENQUEUE + error, f"SELECT {call}")


def test_options():
    with database() as d:
        for members, error in OPTIONS:
            d.fails(ENQUEUE + error, "SELECT posthorn_enqueue('t', 'p', ?)", "{" + members + "}")
        assert d.messages() == 0


def test_enqueue_many():
    with database() as d:
        for messages, error in MANY:
            d.fails("posthorn_enqueue_many: " + error,
                    f"SELECT * FROM posthorn_enqueue_many({messages})")
        assert d.messages() == 0


def test_functions_with_rows():
    with database() as d:
        for call, error in ROWS:
            d.fails(error, "SELECT * FROM " + call.replace("{o}", OWNER).replace("{id}", ID))


def test_joins():
    with database() as d:
        for call, error in JOINS:
            verb = "posthorn_join_" + call.split("(")[0]
            d.fails(f"{verb}: {error}", "SELECT posthorn_join_" + call.replace("{id}", ID))
        assert d.query("SELECT * FROM posthorn_joins") == []


def test_schedules():
    with database() as d:
        for call, error in SCHEDULES:
            verb = "posthorn_" + call.split("(")[0]
            d.fails(f"{verb}: {error}", "SELECT posthorn_" + call)
        assert d.query("SELECT * FROM posthorn_timers") == []
        assert d.query("SELECT * FROM posthorn_jobs") == []


def test_queues_and_the_rest():
    with database() as d:
        for call, error in QUEUES:
            d.fails(error, f"SELECT {call}")


def test_errors_never_show_a_payload():
    secret = "correct horse battery staple"
    with database() as d:
        for sql in ("SELECT posthorn_enqueue('', ?)",
                    "SELECT posthorn_enqueue('t', 'p', ?)",
                    "SELECT posthorn_enqueue('t', 'p', '{\"headers\":' || ? || '}')",
                    "SELECT * FROM posthorn_enqueue_many('[{\"topic\":\"\",\"payload\":\"' || ? || '\"}]')",
                    "SELECT * FROM posthorn_enqueue_many('[' || ? || ']')",
                    "SELECT posthorn_queue_set('outbox', '', '{\"backoff\":\"' || ? || '\"}')",
                    "SELECT posthorn_timer_schedule('', ?, 2e9)",
                    "SELECT posthorn_timer_schedule('t', 'p', 2e9, '', '', ?)",
                    "SELECT posthorn_job_set('j', 't', '* * *', ?)",
                    "SELECT posthorn_join_wait('x', 1, 't', ?)"):
            try:
                d.query(sql, secret)
                raise AssertionError(f"{sql}: succeeded")
            except d.db.OperationalError as error:
                assert "horse" not in str(error), str(error)
