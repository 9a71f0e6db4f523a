#include "scene.h"

struct scene scene_set(enum start start)
{
    struct scene scene = { .owner = ph_owner_new() };
    ph_batch *batch;

    t_start_over();
    scene.store = t_open(NULL);
    scene.conn = t_connect();
    t_clock_set(scene.store, T_EPOCH);
    for (int i = 0; i < SCENE_MESSAGES; i++)
        scene.ids[i] = t_enqueue(scene.store, "topic", "payload").work_id;
    if (start == WITH_PENDING)
        return scene;
    batch = t_claim(scene.store, scene.owner, SCENE_MESSAGES);
    CHECK_INT(ph_batch_count(batch), SCENE_MESSAGES);
    for (size_t i = 0; i < SCENE_MESSAGES; i++)
        scene.leases[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
    if (start == WITH_EXPIRED)
        t_clock_advance(scene.store, 31 * T_SECOND);
    if (start == WITH_DEAD)
        OK(ph_outbox_fail(scene.store, PH_OWN_TX, scene.owner, scene.leases, SCENE_MESSAGES, "why",
                          0, NULL, &t_err));
    if (start == WITH_DONE) {
        OK(ph_outbox_ack(scene.store, PH_OWN_TX, scene.owner, scene.leases, SCENE_MESSAGES, 0, NULL,
                         &t_err));
        t_clock_advance(scene.store, 8 * 86400 * T_SECOND);
    }
    return scene;
}

const char *scene_state(struct scene *scene)
{
    char sql[600];

    t_check_places(scene->conn);
    snprintf(
        sql, sizeof(sql),
        "SELECT coalesce(%s(concat, ' '), '') FROM (SELECT CAST(id AS text) || ' ' || status || "
        "' ' || attempts || ' ' || retry_count || ' ' || coalesce(last_error, '') || ' ' || "
        "coalesce(fence, 0) || ' ' || coalesce(CAST(locked_until AS text), '') || ' ' || "
        "coalesce(CAST(next_attempt_at AS text), '') AS concat FROM {t}outbox ORDER BY id) x",
        t_is_pg() ? "string_agg" : "group_concat");
    return t_value(scene->conn, sql);
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
    ph_outbox_counts counts = PH_OUTBOX_COUNTS_INIT;

    return ph_outbox_count(scene->store, tx, NULL, 0, &counts, &t_err);
}

static int list_state(struct scene *scene, ph_tx tx, ph_list_state state)
{
    ph_list_opts opts = PH_LIST_OPTS_INIT;
    ph_message_list *list = NULL;
    int r;

    opts.state = state;
    opts.topic = "topic";
    opts.with_payload = true;
    r = ph_outbox_list(scene->store, tx, &opts, 0, &list, &t_err);
    CHECK(r == 0 || list == NULL);
    ph_message_list_free(list);
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
    ph_queue_list *list = NULL;
    int r = ph_outbox_queue_list(scene->store, tx, NULL, 0, &list, &t_err);

    CHECK(r == 0 || list == NULL);
    ph_queue_list_free(list);
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

static int retention(struct scene *scene, ph_tx tx)
{
    return ph_retention_run(scene->store, tx, 0, 0, NULL, &t_err);
}

static int read_clock(struct scene *scene, ph_tx tx)
{
    int64_t time;

    return ph_clock(scene->store, tx, 0, &time, &t_err);
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

const struct verb verbs[] = {
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
    { "retention", WITH_DONE, false, retention },
    { "clock", WITH_PENDING, false, read_clock },
    { "migrate", WITH_PENDING, true, migrate },
    { "inspect", WITH_PENDING, true, inspect },
    { "migrate_sql", WITH_PENDING, true, print_sql },
    { "open", WITH_PENDING, true, open_again },
};
const size_t verb_count = sizeof(verbs) / sizeof(*verbs);
