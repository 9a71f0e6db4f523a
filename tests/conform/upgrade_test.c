/* upgrade_test.c - a database that the library of schema version 4 has left, with data in every
 * state, comes up to date with nothing lost, and goes on. */
#include "doors.h"
#include "joins.h"

#ifdef PH_WITH_SQLITE
#include "store/sqlite/sql_text.h"
#endif
#include "util/buffer.h"
#include "util/embedded.h"

extern const struct ph__embedded postgres_4[], sqlite_4[]; /* schema_4.sql of each */
extern const struct ph__embedded ph__pg_migrations[];

#define HOUR (3600 * T_SECOND)

static void lay_postgres(struct t_conn *conn)
{
#ifdef PH_WITH_POSTGRESQL
    struct ph__buffer sql = { 0 };

    for (int i = 0; i < 4; i++)
        ph__buffer_text(&sql, ph__pg_migrations[i].text);
    ph__buffer_text(&sql, postgres_4[0].text);
    CHECK(!sql.failed);
    t_sql(conn, "CREATE SCHEMA {schema}");
    t_begin(conn);
    t_sql(conn, "SET LOCAL search_path = {schema}");
    t_sql(conn, sql.data);
    t_commit(conn);
    ph__buffer_free(&sql);
#else
    (void)conn;
#endif
}

static void lay_sqlite(struct t_conn *conn)
{
#ifdef PH_WITH_SQLITE
    for (int i = 0; i < 4; i++) {
        struct ph__buffer sql = { 0 };

        ph__sqlite_expand(&sql, ph__sqlite_migration_texts[i].text, "posthorn_");
        CHECK(!sql.failed);
        t_sql(conn, sql.data);
        ph__buffer_free(&sql);
    }
    t_sql(conn, sqlite_4[0].text);
#else
    (void)conn;
#endif
}

/* The database of version 4, brought up; its clock stands at T_EPOCH. */
static ph_store *upgraded(struct t_conn **ret_conn)
{
    struct t_conn *conn = t_connect();

    if (t_is_pg())
        lay_postgres(conn);
    else
        lay_sqlite(conn);
    CHECK_INT(t_number(conn, "SELECT version FROM {t}store"), 4);
    *ret_conn = conn;
    return t_open(NULL); /* deploys */
}

/* One text of all rows: what, from, in the order of. */
static const char *all(struct t_conn *conn, const char *what, const char *from, const char *order)
{
    char sql[600];

    snprintf(sql, sizeof(sql), "SELECT %s(x, ', ') FROM (SELECT %s AS x FROM {t}%s ORDER BY %s) y",
             t_is_pg() ? "string_agg" : "group_concat", what, from, order);
    return t_value(conn, sql);
}

static ph_owner worker(int number)
{
    ph_owner owner;

    memset(owner.b, 0, sizeof(owner.b));
    memset(owner.b, number * 0x11, 4);
    owner.b[6] = 0x40;
    owner.b[8] = 0x80;
    return owner;
}

TEST(every_message_of_version_4_is_in_its_state_after_the_upgrade)
{
    struct t_conn *conn;
    ph_store *store = upgraded(&conn);

    CHECK_INT(t_clock(store), T_EPOCH);
    t_check_places(conn);
    t_check_joins(conn);
    REQ_STR("OBX-110", all(conn, "topic || ' ' || status", "outbox", "id"),
            "done done, dead failed, again failed, again ready, retry ready, leased in_progress, "
            "leased done, leased in_progress, scheduled ready, ready ready, keyed done, keyed "
            "ready, held ready, orders ready, orders parked, orders parked, shipping in_progress, "
            "shipping in_progress, shipping parked, idle done, strict failed, strict parked, "
            "join.wait waiting, s.done done, s.open ready, s.reported ready, join.wait done, "
            "s.done done, complete.good ready, s.dead failed, s.done done, s.cancelled ready, "
            "join.wait waiting, s.deadline ready, instance in_progress");
    CHECK_STR(all(conn, "message_id || ' ' || status", "inbox", "id"),
              "id-0 done, id-1 failed, id-2 in_progress, id-3 ready, s1 ready, s2 parked");
    CHECK_STR(all(conn, "payload || ' ' || status", "timers", "id"), "later ready, now ready");
    CHECK_STR(all(conn, "job || ' ' || status", "job_runs", "id"), "nightly done, nightly ready");
    CHECK_STR(all(conn, "topic || ' ' || error", "dead_letters", "id"),
              "dead broken, again once, strict bad head, s.dead no, in.dead in error");
    CHECK_STR(all(conn, "stream || ' ' || state || ' ' || last_seq", "streams", "stream"),
              "blocked blocked 2, idle idle 1, in ready 2, waiting ready 3, worked in_progress 3");
    CHECK_STR(all(conn,
                  "grouping_key || ' ' || status || ' ' || completed_steps || '+' || "
                  "failed_steps || '/' || attached_steps || '/' || expected_steps || ' ' || "
                  "open_waits || ' ' || metadata",
                  "joins", "id"),
              "open pending 2+0/3/4 1 kept, complete completed 1+0/1/1 0 kept, failed failed "
              "1+1/2/2 0 kept, cancelled cancelled 0+0/1/2 0 kept, deadline pending 0+0/1/2 1 "
              "kept");
    CHECK_STR(all(conn, "topic || ' ' || status", "join_members", "work_id"),
              "s.done completed, s.open pending, s.reported completed, s.done completed, s.dead "
              "failed, s.done completed, s.cancelled pending, s.deadline pending");
}

TEST(what_belongs_to_the_messages_of_version_4_is_there_after_the_upgrade)
{
    struct t_conn *conn;
    ph_store *store = upgraded(&conn);
    struct job_seen job = see_job(store, "nightly");

    CHECK_STR(all(conn, "namespace || ' ' || door", "queues", "door, namespace"),
              " inbox,  job_runs,  outbox, gone outbox, paused outbox, strict outbox,  timers");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}queues WHERE namespace = 'paused' AND paused "
                             "OR namespace = 'gone' AND delete_on_ack OR namespace = 'strict' AND "
                             "dead_head = 'block'"),
              3);
    CHECK_STR(all(conn, "service || ' ' || state || ' ' || in_progress", "instances", "id"),
              "billing live 1, billing left 0");
    CHECK_STR(all(conn, "receptor || ' ' || state || coalesce(' ' || error, '')", "receptors",
                  "receptor"),
              "mail completed, sms failed no credit");
    CHECK_STR(all(conn, "consumer || ' ' || seq || ' ' || ahead || ' ' || lag || ' ' || error",
                  "checkpoints", "consumer"),
              "reader 1 1 2 stuck");
    CHECK_STR(all(conn,
                  "message_id || ' ' || tenant_id || ' ' || correlation_id || ' ' || "
                  "payload || ' ' || max_attempts || ' ' || priority",
                  "outbox WHERE topic = 'ready'", "id"),
              "12345678-1234-4234-8234-123456789012 87654321-1234-4234-8234-123456789012 corr "
              "ready \xc3\xbc 4 0");
    CHECK(job.there && !job.paused && !job.has_problem);
    CHECK_STR(job.timezone, "Europe/Berlin");
    CHECK_INT(job.next_at, instant("2023-11-15T02:00:00"));
    CHECK(see_job(store, "paused").paused);
}

/* Claims everything of a topic, and says what and in which order. */
static const char *work_off(ph_store *store, const char *ns, const char *topic)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = worker(9);
    static char texts[200];
    ph_batch *batch;

    opts.ns = ns;
    opts.topics = &topic;
    opts.topic_count = 1;
    texts[0] = '\0';
    while (batch = claim_with(store, owner, &opts), ph_batch_count(batch) > 0) {
        snprintf(texts + strlen(texts), sizeof(texts) - strlen(texts), "%s%s", *texts ? " " : "",
                 payloads(batch));
        t_ack_all(store, owner, batch);
    }
    ph_batch_free(batch);
    return texts;
}

/* Settles what a worker of version 4 has claimed. */
static void ack_leased(ph_store *store, struct t_conn *conn, const char *topic, int owner)
{
    ph_lease_ref ref = { .fence = 0 };
    char sql[200];

    snprintf(sql, sizeof(sql),
             "SELECT id FROM {t}outbox WHERE topic = '%s' AND status = 'in_progress' ORDER BY id "
             "LIMIT 1",
             topic);
    CHECK_INT(ph_id_parse(t_value(conn, sql), ref.work_id.b), 0);
    CHECK_INT(ack(store, worker(owner), ref), PH_OUTCOME_ACKED);
}

TEST(what_version_4_left_is_claimed_and_settled_after_the_upgrade)
{
    struct t_conn *conn;
    ph_store *store = upgraded(&conn);
    static const char *const keys[] = { "k1", "k2", "k3" };
    ph_message m = a_message("keyed", "again");
    ph_work_id head;

    for (int i = 0; i < 2; i++)
        ack_leased(store, conn, "leased", 1);
    ack_leased(store, conn, "instance", 3);
    REQ_STR("OBX-110", work_off(store, "", "ready"), "ready \xc3\xbc");
    CHECK_STR(work_off(store, "", "again"), "again");
    CHECK_STR(work_off(store, "", "orders"), "a b c");
    CHECK_STR(work_off(store, "", "shipping"), "");
    for (int i = 0; i < 2; i++)
        ack_leased(store, conn, "shipping", 1);
    CHECK_STR(work_off(store, "", "shipping"), "c");
    CHECK_STR(work_off(store, "strict", "strict"), "");
    CHECK_INT(ph_id_parse(t_value(conn, "SELECT id FROM {t}dead_letters WHERE error = 'bad head'"),
                          head.b),
              0);
    OK(ph_dead_retry(store, PH_OWN_TX, &head, 1, 0, NULL, &t_err));
    CHECK_STR(work_off(store, "strict", "strict"), "a b");
    CHECK_STR(work_off(store, "paused", "held"), "");
    OK(ph_queue_resume(store, PH_OWN_TX, PH_OUTBOX, "paused", 0, &t_err));
    CHECK_STR(work_off(store, "paused", "held"), "held");
    for (int i = 0; i < 3; i++) {
        m.ns = i == 2 ? "gone" : "";
        m.dedupe_key = keys[i];
        CHECK(!put(store, &m).is_new);
    }
    t_clock_advance(store, 61 * T_SECOND);
    CHECK_STR(work_off(store, "", "retry"), "retry");
    CHECK_STR(work_off(store, "", "scheduled"), "");
    t_clock_advance(store, HOUR);
    CHECK_STR(work_off(store, "", "scheduled"), "scheduled");
    t_check_places(conn);
    t_check_joins(conn);
}

TEST(the_inbox_of_version_4_goes_on_after_the_upgrade)
{
    struct t_conn *conn;
    ph_store *store = upgraded(&conn);
    static const char *const ids[] = { "id-0", "id-1", "id-2", "id-3" };
    ph_inbox_message m = PH_INBOX_MESSAGE_INIT;
    ph_received received;
    int64_t reaped;
    ph_batch *batch;

    m.source = "shop";
    m.topic = m.payload = "x";
    for (int i = 0; i < 4; i++) {
        m.source_id = ids[i];
        OK(ph_inbox_receive(store, PH_OWN_TX, &m, 0, &received, &t_err));
        CHECK(!received.is_new);
    }
    batch = door_claim(&inbox_door, store, worker(9), "", 10);
    CHECK_STR(payloads(batch), "in.ready a b");
    ph_batch_free(batch);
    t_clock_advance(store,
                    301 * T_SECOND); /* the lease of version 4 has run out, and so has this */
    OK(ph_inbox_reap_expired(store, PH_OWN_TX, 0, &reaped, &t_err));
    CHECK_INT(reaped, 4);
    t_check_places(conn);
}

TEST(joins_timers_and_jobs_of_version_4_end_after_the_upgrade)
{
    struct t_conn *conn;
    ph_store *store = upgraded(&conn);
    ph_join_id join;
    ph_schedule schedule;
    ph_message m = a_message("s.more", "x");

    CHECK_INT(
        ph_id_parse(t_value(conn, "SELECT id FROM {t}joins WHERE grouping_key = 'open'"), join.b),
        0);
    CHECK_STR(work_off(store, "", "complete.good"), "complete.good");
    CHECK_STR(work_off(store, "", "s.open"), "s.open");
    CHECK_STR(work_off(store, "", "s.reported"), "s.reported"); /* counted by hand before */
    CHECK_STR(standing(store, join), "3+0/4 pending");
    m.join_id = &join;
    put(store, &m);
    CHECK_STR(work_off(store, "", "s.more"), "x");
    CHECK_STR(standing(store, join), "4+0/4 completed");
    CHECK_STR(work_off(store, "", "open.good"), "open.good");

    schedule = run_scheduler(store, NULL);
    CHECK_INT(schedule.timers, 1);
    CHECK_INT(schedule.job_runs, 1);
    CHECK_STR(work_off(store, "", "timer"), "now");
    CHECK_STR(work_off(store, "", "report"), "go");
    t_clock_advance(store, 3 * HOUR); /* behind the deadline, and the other timer */
    CHECK_INT(run_scheduler(store, NULL).timers, 1);
    CHECK_STR(work_off(store, "", "timer"), "later");
    CHECK_STR(work_off(store, "", "deadline.bad"), "deadline.bad");
    t_clock_set(store, instant("2023-11-15T02:00:00"));
    CHECK_INT(run_scheduler(store, NULL).job_runs, 1);
    CHECK_STR(work_off(store, "", "report"), "go");
    t_check_places(conn);
    t_check_joins(conn);
}
