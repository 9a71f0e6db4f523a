#include "scene.h"

static ph_join_id set_join(struct scene *scene, int steps, bool mortal)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_wait wait = PH_WAIT_INIT;
    ph_join_id join;

    opts.grouping_key = "key";
    opts.deadline = mortal ? T_EPOCH + 10 * T_SECOND : 0;
    wait.on_complete_topic = wait.on_fail_topic = "next";
    wait.on_complete_payload = "{}";
    OK(ph_join_start(scene->store, PH_OWN_TX, steps, &opts, 0, &join, &t_err));
    OK(ph_join_attach_many(scene->store, PH_OWN_TX, join, scene->messages, 2, 0, &t_err));
    OK(ph_join_wait(scene->store, PH_OWN_TX, join, &wait, 0, NULL, &t_err));
    return join;
}

static void set_leases(struct scene *scene)
{
    ph_batch *batch = t_claim(scene->store, scene->owner, SCENE_MESSAGES);

    CHECK_INT(ph_batch_count(batch), SCENE_MESSAGES);
    for (size_t i = 0; i < SCENE_MESSAGES; i++)
        scene->leases[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
}

static void set_ends(struct scene *scene, size_t done)
{
    OK(ph_outbox_ack(scene->store, PH_OWN_TX, scene->owner, scene->leases, done, 0, NULL, &t_err));
    OK(ph_outbox_fail(scene->store, PH_OWN_TX, scene->owner, scene->leases + done,
                      SCENE_MESSAGES - done, "why", 0, NULL, &t_err));
}

static void set_retention(struct scene *scene)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.dead_retention_s = 3600;
    OK(ph_outbox_queue_set(scene->store, PH_OWN_TX, NULL, &settings, 0, &t_err));
}

struct scene scene_set(enum start start)
{
    struct scene scene = { .owner = ph_owner_new() };
    bool joins = start == WITH_STEPS || start == WITH_OVERDUE || start == WITH_ENDED;

    t_start_over();
    scene.store = t_open(NULL);
    scene.conn = t_connect();
    t_clock_set(scene.store, T_EPOCH);
    if (start == WITH_TIMERS || start == WITH_JOBS) {
        (start == WITH_TIMERS ? scene_add_timers : scene_add_jobs)(&scene);
        return scene;
    }
    if (start == WITH_STREAMS) {
        scene_add_streams(&scene);
        return scene;
    }
    for (int i = 0; i < SCENE_MESSAGES; i++) {
        ph_enqueued enqueued = t_enqueue(scene.store, "topic", "payload");

        scene.ids[i] = enqueued.work_id;
        scene.messages[i] = enqueued.message_id;
    }
    if (joins) {
        scene.join = set_join(&scene, 4, start == WITH_OVERDUE);
        scene.last = set_join(&scene, 2, start == WITH_OVERDUE);
    }
    if (start != WITH_PENDING && start != WITH_OVERDUE)
        set_leases(&scene);
    if (start == WITH_EXPIRED || start == WITH_OVERDUE)
        t_clock_advance(scene.store, 31 * T_SECOND);
    if (start == WITH_DEAD)
        set_ends(&scene, 0);
    if (start == WITH_DONE)
        set_ends(&scene, SCENE_MESSAGES);
    if (start == WITH_ENDED) {
        set_ends(&scene, 1);
        set_retention(&scene);
    }
    if (start == WITH_DONE || start == WITH_ENDED)
        t_clock_advance(scene.store, 8 * 86400 * T_SECOND);
    return scene;
}

/* One text of all rows of a query with the columns "line" and "at". */
static const char *lines(struct scene *scene, const char *query)
{
    char sql[800];

    snprintf(sql, sizeof(sql), "SELECT coalesce(%s(line, ' '), '') FROM (%s ORDER BY at) x",
             t_is_pg() ? "string_agg" : "group_concat", query);
    return t_value(scene->conn, sql);
}

#define MESSAGES                                                                                   \
    "SELECT id AS at, CAST(id AS text) || ' ' || status || ' ' || attempts || ' ' || "             \
    "retry_count || ' ' || coalesce(last_error, '') || ' ' || coalesce(fence, 0) || ' ' || "       \
    "coalesce(CAST(locked_until AS text), '') || ' ' || "                                          \
    "coalesce(CAST(next_attempt_at AS text), '') AS line FROM "

const char *scene_state(struct scene *scene)
{
    static char text[8000];
    int length;

    t_check_places(scene->conn);
    t_check_joins(scene->conn);
    length = snprintf(
        text, sizeof(text), "%s %s %s %s %s ", lines(scene, MESSAGES "{t}inbox"),
        lines(scene, "SELECT stream AS at, stream || ' ' || state || ' ' || last_seq || ' ' || "
                     "unsettled AS line FROM {t}streams"),
        lines(scene, "SELECT stream || consumer AS at, stream || ' ' || seq || ' ' || ahead || ' ' "
                     "|| coalesce(error, '') AS line FROM {t}checkpoints"),
        lines(scene, "SELECT receptor AS at, receptor || ' ' || attempts AS line "
                     "FROM {t}receptors"),
        lines(scene, "SELECT id AS at, CAST(id AS text) || ' ' || state || ' ' || "
                     "CAST(last_heartbeat_at AS text) AS line FROM {t}instances"));
    CHECK(length > 0 && (size_t)length < sizeof(text));
    snprintf(text + length, sizeof(text) - (size_t)length, "%s %s %s %s %s %s",
             lines(scene, MESSAGES "{t}outbox"), lines(scene, MESSAGES "{t}timers"),
             lines(scene, MESSAGES "{t}job_runs"),
             lines(scene,
                   "SELECT name AS at, name || ' ' || topic || ' ' || CAST(paused AS text) || ' ' "
                   "|| coalesce(CAST(next_at AS text), '') || ' ' || "
                   "coalesce(CAST(last_at AS text), '') || ' ' || skipped || ' ' || "
                   "coalesce(problem, '') AS line FROM {t}jobs"),
             lines(scene,
                   "SELECT id AS at, CAST(id AS text) || ' ' || status || ' ' || "
                   "attached_steps || ' ' || completed_steps || ' ' || failed_steps || ' ' || "
                   "open_waits || ' ' || CAST(updated_at AS text) AS line FROM {t}joins"),
             lines(scene, "SELECT work_id AS at, CAST(join_id AS text) || ' ' || status || ' ' || "
                          "coalesce(topic, '') AS line FROM {t}join_members"));
    return text;
}

/* ------------------------------------------------------------------ the verbs */

static int enqueue(struct scene *scene, ph_tx tx)
{
    ph_message message = PH_MESSAGE_INIT;

    message.topic = "topic";
    message.payload = "payload";
    message.ns = "other";
    message.dedupe_key = "key";
    message.headers = "{\"a\":1}";
    return ph_enqueue(scene->store, tx, &message, 0, NULL, &t_err);
}

static int enqueue_many(struct scene *scene, ph_tx tx)
{
    ph_message messages[20];
    ph_enqueued enqueued[20];

    for (int i = 0; i < 20; i++) {
        messages[i] = (ph_message)PH_MESSAGE_INIT;
        messages[i].topic = "topic";
        messages[i].payload = "payload";
        messages[i].correlation_id = i % 2 ? "c" : NULL;
    }
    return ph_enqueue_many(scene->store, tx, messages, 20, 0, enqueued, &t_err);
}

static int claim(struct scene *scene, ph_tx tx)
{
    static const char *const topics[] = { "topic", "other" };
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    int r;

    opts.topics = topics;
    opts.topic_count = 2;
    r = ph_outbox_claim(scene->store, tx, scene->owner, &opts, 0, &batch, &t_err);
    CHECK(r == 0 || batch == NULL);
    ph_batch_free(batch);
    return r;
}

static int ack(struct scene *scene, ph_tx tx)
{
    ph_outcome outcomes[SCENE_MESSAGES];

    return ph_outbox_ack(scene->store, tx, scene->owner, scene->leases, SCENE_MESSAGES, 0, outcomes,
                         &t_err);
}

static int abandon(struct scene *scene, ph_tx tx)
{
    return ph_outbox_abandon(scene->store, tx, scene->owner, scene->leases, SCENE_MESSAGES, "late",
                             PH_DELAY_POLICY, 0, NULL, &t_err);
}

static int fail(struct scene *scene, ph_tx tx)
{
    return ph_outbox_fail(scene->store, tx, scene->owner, scene->leases, SCENE_MESSAGES, "never", 0,
                          NULL, &t_err);
}

static int give_back(struct scene *scene, ph_tx tx)
{
    return ph_outbox_release(scene->store, tx, scene->owner, scene->leases, SCENE_MESSAGES, 0, NULL,
                             &t_err);
}

static int settle(struct scene *scene, ph_tx tx)
{
    ph_settlement items[SCENE_MESSAGES] = {
        { scene->leases[0], PH_ACK, NULL, 0 },
        { scene->leases[1], PH_ABANDON, "late", 1000 },
        { scene->leases[2], PH_FAIL, "never", 0 },
    };

    return ph_outbox_settle(scene->store, tx, scene->owner, items, SCENE_MESSAGES, 0, NULL, &t_err);
}

/* Settles what is leased, and claims what comes of it. */
static int exchange(struct scene *scene, ph_tx tx)
{
    ph_settlement items[SCENE_MESSAGES] = {
        { scene->leases[0], PH_RELEASE, NULL, 0 },
        { scene->leases[1], PH_ACK, NULL, 0 },
        { scene->leases[2], PH_RELEASE, NULL, 60000 },
    };
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    int r = ph_outbox_exchange(scene->store, tx, scene->owner, items, SCENE_MESSAGES, &opts, 0,
                               NULL, &batch, &t_err);

    CHECK(r == 0 || batch == NULL);
    ph_batch_free(batch);
    return r;
}

static int exchange_nothing(struct scene *scene, ph_tx tx)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch = NULL;
    int r =
        ph_outbox_exchange(scene->store, tx, scene->owner, NULL, 0, &opts, 0, NULL, &batch, &t_err);

    CHECK(r == 0 || batch == NULL);
    ph_batch_free(batch);
    return r;
}

static int ring(struct scene *scene, ph_tx tx)
{
    (void)tx;
    return ph_doorbell_ring(scene->store, NULL, 0, &t_err);
}

static int renew(struct scene *scene, ph_tx tx)
{
    return ph_outbox_renew(scene->store, tx, scene->owner, scene->leases, SCENE_MESSAGES, 60, 0,
                           NULL, &t_err);
}

static int reap(struct scene *scene, ph_tx tx)
{
    return ph_outbox_reap_expired(scene->store, tx, 0, NULL, &t_err);
}

static int find(struct scene *scene, ph_tx tx)
{
    ph_message_info *info = NULL;
    int r = ph_outbox_find(scene->store, tx, scene->ids[0], 0, &info, &t_err);

    CHECK(r == 0 || info == NULL);
    ph_message_info_free(info);
    return r;
}

static int count(struct scene *scene, ph_tx tx)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;

    return ph_outbox_count(scene->store, tx, NULL, 0, &counts, &t_err);
}

static int list_state(struct scene *scene, ph_tx tx, ph_list_state state)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    int r;

    opts.state = state;
    opts.topic = "topic";
    opts.with_payload = true;
    r = ph_outbox_list(scene->store, tx, &opts, 0, &list, &t_err);
    CHECK(r == 0 || list == NULL);
    ph_messages_free(list);
    return r;
}

static int list_ready(struct scene *scene, ph_tx tx)
{
    return list_state(scene, tx, PH_LIST_READY);
}

static int list_leased(struct scene *scene, ph_tx tx)
{
    return list_state(scene, tx, PH_LIST_IN_PROGRESS);
}

static int list_done(struct scene *scene, ph_tx tx)
{
    return list_state(scene, tx, PH_LIST_DONE);
}

static int list_dead(struct scene *scene, ph_tx tx)
{
    return list_state(scene, tx, PH_LIST_DEAD);
}

static int queue_list(struct scene *scene, ph_tx tx)
{
    ph_queues *list = NULL;
    int r = ph_queue_list(scene->store, tx, NULL, 0, &list, &t_err);

    CHECK(r == 0 || list == NULL);
    ph_queues_free(list);
    return r;
}

static int doctor(struct scene *scene, ph_tx tx)
{
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    ph_report *report = NULL;
    int r;

    (void)tx;
    opts.deep = true;
    r = ph_doctor(scene->store, &opts, 0, &report, &t_err);
    CHECK(r == 0 || report == NULL);
    ph_report_free(report);
    return r;
}

static int retry_dead(struct scene *scene, ph_tx tx)
{
    ph_work_id fresh[SCENE_MESSAGES];

    return ph_dead_retry(scene->store, tx, scene->ids, SCENE_MESSAGES, 0, fresh, &t_err);
}

static int discard(struct scene *scene, ph_tx tx)
{
    return ph_dead_discard(scene->store, tx, scene->ids, SCENE_MESSAGES, 0, NULL, &t_err);
}

static int queue_set(struct scene *scene, ph_tx tx)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.max_attempts = 3;
    return ph_outbox_queue_set(scene->store, tx, "other", &settings, 0, &t_err);
}

static int queue_pause(struct scene *scene, ph_tx tx)
{
    int r = ph_outbox_queue_pause(scene->store, tx, NULL, 0, &t_err);

    return r < 0 ? r : ph_outbox_queue_resume(scene->store, tx, NULL, 0, &t_err);
}

static int queue_delete(struct scene *scene, ph_tx tx)
{
    int r = ph_outbox_queue_pause(scene->store, tx, "empty", 0, &t_err);

    return r < 0 ? r : ph_outbox_queue_delete(scene->store, tx, "empty", 0, NULL, &t_err);
}

static int retention(struct scene *scene, ph_tx tx)
{
    return ph_retention_run(scene->store, tx, 0, 0, NULL, &t_err);
}

static int read_clock(struct scene *scene, ph_tx tx)
{
    int64_t time;

    return ph_clock(scene->store, tx, 0, &time, &t_err);
}

/* --------------------------------------------------------------------- joins */

static int join_start(struct scene *scene, ph_tx tx)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_id join;

    opts.grouping_key = "key";
    opts.metadata = "about it";
    opts.deadline = T_EPOCH + 3600 * T_SECOND;
    return ph_join_start(scene->store, tx, 3, &opts, 0, &join, &t_err);
}

/* One is new to the join, and the others are not. */
static int join_attach(struct scene *scene, ph_tx tx)
{
    return ph_join_attach_many(scene->store, tx, scene->join, scene->messages, SCENE_MESSAGES, 0,
                               &t_err);
}

static int enqueue_steps(struct scene *scene, ph_tx tx)
{
    ph_message messages[2] = { PH_MESSAGE_INIT, PH_MESSAGE_INIT };

    for (int i = 0; i < 2; i++) {
        messages[i].topic = "topic";
        messages[i].payload = "payload";
        messages[i].join_id = &scene->join;
    }
    return ph_enqueue_many(scene->store, tx, messages, 2, 0, NULL, &t_err);
}

static int join_report(struct scene *scene, ph_tx tx)
{
    return ph_join_report_completed(scene->store, tx, scene->join, scene->messages[0], 0, &t_err);
}

static int join_wait(struct scene *scene, ph_tx tx)
{
    ph_wait wait = PH_WAIT_INIT;
    ph_work_id id;

    wait.on_complete_topic = "next";
    wait.on_complete_payload = "payload";
    wait.ns = "other";
    return ph_join_wait(scene->store, tx, scene->join, &wait, 0, &id, &t_err);
}

static int join_wait_on_the_end(struct scene *scene, ph_tx tx)
{
    ph_wait wait = PH_WAIT_INIT;

    wait.on_complete_topic = "next";
    wait.on_complete_payload = "payload";
    return ph_join_wait(scene->store, tx, scene->last, &wait, 0, NULL, &t_err);
}

static int join_cancel(struct scene *scene, ph_tx tx)
{
    return ph_join_cancel(scene->store, tx, scene->join, 0, NULL, &t_err);
}

static int join_find(struct scene *scene, ph_tx tx)
{
    ph_join_info *info = NULL;
    int r = ph_join_find(scene->store, tx, scene->join, 0, 0, &info, &t_err);

    CHECK(r == 0 || info == NULL);
    ph_join_info_free(info);
    return r;
}

static int join_list(struct scene *scene, ph_tx tx)
{
    ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
    ph_joins *list = NULL;
    int r;

    opts.grouping_key = "key";
    r = ph_join_list(scene->store, tx, &opts, 0, &list, &t_err);
    CHECK(r == 0 || list == NULL);
    ph_joins_free(list);
    return r;
}

static int list_waiting(struct scene *scene, ph_tx tx)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    int r;

    opts.state = PH_LIST_WAITING;
    r = ph_outbox_list(scene->store, tx, &opts, 0, &list, &t_err);
    CHECK(r == 0 || list == NULL);
    ph_messages_free(list);
    return r;
}

static int migrate(struct scene *scene, ph_tx tx)
{
    (void)tx;
    return ph_migrate(scene->store, 0, NULL, &t_err);
}

static int inspect(struct scene *scene, ph_tx tx)
{
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;

    (void)tx;
    return ph_schema_inspect(scene->store, 0, &status, &t_err);
}

static int print_sql(struct scene *scene, ph_tx tx)
{
    char *sql = NULL;
    int r = ph_migrate_sql(scene->store, false, &sql, &t_err);

    (void)tx;
    ph_free(sql);
    return r;
}

static int open_again(struct scene *scene, ph_tx tx)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    int r;

    (void)scene;
    (void)tx;
    opts.schema = t_schema();
    r = ph_open(t_url(), &opts, &store, &t_err);
    CHECK(r == 0 || store == NULL);
    ph_close(store);
    return r;
}

static const struct verb verbs[] = {
    { "enqueue", WITH_PENDING, false, enqueue },
    { "enqueue_many", WITH_PENDING, false, enqueue_many },
    { "claim", WITH_PENDING, false, claim },
    { "claim of expired", WITH_EXPIRED, false, claim },
    { "ack", WITH_LEASED, false, ack },
    { "abandon", WITH_LEASED, false, abandon },
    { "fail", WITH_LEASED, false, fail },
    { "release", WITH_LEASED, false, give_back },
    { "settle", WITH_LEASED, false, settle },
    { "exchange", WITH_LEASED, false, exchange },
    { "exchange of nothing", WITH_PENDING, false, exchange_nothing },
    { "ring", WITH_PENDING, true, ring },
    { "renew", WITH_LEASED, false, renew },
    { "reap", WITH_EXPIRED, false, reap },
    { "find", WITH_DEAD, false, find },
    { "count", WITH_PENDING, false, count },
    { "list of ready", WITH_PENDING, false, list_ready },
    { "list of leased", WITH_LEASED, false, list_leased },
    { "list of done", WITH_DONE, false, list_done },
    { "list of dead", WITH_DEAD, false, list_dead },
    { "queue_list", WITH_PENDING, false, queue_list },
    { "doctor", WITH_LEASED, true, doctor },
    { "dead_retry", WITH_DEAD, false, retry_dead },
    { "dead_discard", WITH_DEAD, false, discard },
    { "queue_set", WITH_PENDING, false, queue_set },
    { "queue_pause", WITH_PENDING, false, queue_pause },
    { "queue_delete", WITH_PENDING, false, queue_delete },
    { "retention", WITH_DONE, false, retention },
    { "join_start", WITH_PENDING, false, join_start },
    { "join_attach", WITH_STEPS, false, join_attach },
    { "join_attach of ended ones", WITH_ENDED, false, join_attach },
    { "enqueue of steps", WITH_STEPS, false, enqueue_steps },
    { "join_report", WITH_STEPS, false, join_report },
    { "join_wait", WITH_STEPS, false, join_wait },
    { "join_wait on the end", WITH_ENDED, false, join_wait_on_the_end },
    { "join_cancel", WITH_STEPS, false, join_cancel },
    { "join_find", WITH_STEPS, false, join_find },
    { "join_list", WITH_STEPS, false, join_list },
    { "list of waits", WITH_STEPS, false, list_waiting },
    { "ack of steps", WITH_STEPS, false, ack },
    { "settle of steps", WITH_STEPS, false, settle },
    { "exchange of steps", WITH_STEPS, false, exchange },
    { "claim past deadlines", WITH_OVERDUE, false, claim },
    { "reap past deadlines", WITH_OVERDUE, false, reap },
    { "discard of steps", WITH_ENDED, false, discard },
    { "retention of steps", WITH_ENDED, false, retention },
    { "clock", WITH_PENDING, false, read_clock },
    { "migrate", WITH_PENDING, true, migrate },
    { "inspect", WITH_PENDING, true, inspect },
    { "migrate_sql", WITH_PENDING, true, print_sql },
    { "open", WITH_PENDING, true, open_again },
};
#define VERBS (sizeof(verbs) / sizeof(*verbs))
const size_t verb_count = VERBS + SCHEDULE_VERBS + STREAM_VERBS;

const struct verb *verb_at(size_t index)
{
    if (index >= VERBS + SCHEDULE_VERBS)
        return &stream_verbs[index - VERBS - SCHEDULE_VERBS];
    return index < VERBS ? &verbs[index] : &schedule_verbs[index - VERBS];
}
