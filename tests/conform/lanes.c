#include "lanes.h"

#include <stdlib.h>

#define WORDS_MAX 4096

ph_store *open_at_epoch(void)
{
    ph_store *store = t_open(NULL);

    t_clock_set(store, T_EPOCH);
    return store;
}

/* ------------------------------------------------------------------------ words */

/* The words of a text, and for each the stream it is in (NULL: none). */
struct words {
    size_t count;
    char text[WORDS_MAX];
    const char *word[WORDS_MAX / 2];
    char stream[WORDS_MAX / 2][2];
};

static struct words *split(const char *text)
{
    struct words *words = calloc(1, sizeof(*words));
    char *rest = words->text;

    CHECK(strlen(text) < WORDS_MAX);
    snprintf(words->text, sizeof(words->text), "%s", text);
    for (char *word; (word = strtok_r(rest, " ,", &rest)) != NULL;) {
        words->stream[words->count][0] = *word;
        words->word[words->count++] = word;
    }
    return words;
}

static const char *stream_of(const struct words *words, size_t i)
{
    return words->stream[i][0] == '-' ? NULL : words->stream[i];
}

ph_message in_stream(const char *stream, const char *payload)
{
    ph_message m = a_message(TOPIC, payload);

    m.stream = stream;
    return m;
}

static void fill_outbox(ph_store *store, const char *ns, const struct words *words)
{
    ph_message *messages = calloc(words->count, sizeof(*messages));

    for (size_t i = 0; i < words->count; i++) {
        messages[i] = in_stream(stream_of(words, i), words->word[i]);
        messages[i].ns = ns;
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, messages, words->count, 0, NULL, &t_err));
    free(messages);
}

static void fill_inbox(ph_store *store, const char *ns, const struct words *words)
{
    ph_inbox_message *messages = calloc(words->count, sizeof(*messages));

    for (size_t i = 0; i < words->count; i++) {
        messages[i] = (ph_inbox_message)PH_INBOX_MESSAGE_INIT;
        messages[i].source = "elsewhere";
        messages[i].source_id = words->word[i];
        messages[i].topic = TOPIC;
        messages[i].payload = words->word[i];
        messages[i].ns = ns;
        messages[i].stream = stream_of(words, i);
    }
    OK(ph_inbox_receive_many(store, PH_OWN_TX, messages, words->count, 0, NULL, &t_err));
    free(messages);
}

void fill_in(const struct door *door, ph_store *store, const char *ns, const char *text)
{
    struct words *words = split(text);

    if (door->number == PH_INBOX)
        fill_inbox(store, ns, words);
    else
        fill_outbox(store, ns, words);
    free(words);
}

void fill(const struct door *door, ph_store *store, const char *words)
{
    fill_in(door, store, NULL, words);
}

ph_work_id named(const struct door *door, ph_store *store, const char *payload)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    ph_work_id id = { { 0 } };

    opts.limit = PH_BATCH_MAX;
    opts.with_payload = true;
    OK(door->list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    for (size_t i = 0; i < ph_messages_count(list) && ph_id_is_zero(id.b); i++) {
        const ph_delivery *message = ph_messages_at(list, i)->message;

        if (strcmp(message->payload, payload) == 0)
            id = message->work_id;
    }
    ph_messages_free(list);
    if (ph_id_is_zero(id.b))
        printf("there is no message %s\n", payload);
    CHECK(!ph_id_is_zero(id.b));
    return id;
}

struct seen see_named(const struct door *door, ph_store *store, const char *payload)
{
    return see_by(door->find, store, named(door, store, payload));
}

/* -------------------------------------------------------------- claim and settle */

const ph_delivery *delivered(const ph_batch *batch, const char *payload)
{
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        if (strcmp(ph_batch_at(batch, i)->payload, payload) == 0)
            return ph_batch_at(batch, i);
    }
    printf("%s is not in the batch: %s\n", payload, payloads(batch));
    FAIL("delivered");
    return NULL;
}

/* "abandon+500" */
static ph_settlement verb_of(const char *text)
{
    static const char *const verbs[] = { "", "ack", "abandon", "fail", "release" };
    size_t length = strcspn(text, "+");
    ph_settlement item = { .error = "why" };

    for (int i = 1; i < 5; i++) {
        if (strlen(verbs[i]) == length && strncmp(text, verbs[i], length) == 0)
            item.verb = (ph_settle_verb)i;
    }
    CHECK(item.verb != 0);
    if (text[length])
        item.delay_ms = atoll(text + length + 1);
    return item;
}

const char *settled(const struct door *door, ph_store *store, ph_owner owner, const ph_batch *batch,
                    const char *text)
{
    static char answer[2000];
    struct words *words = split(text);
    size_t count = words->count / 2;
    ph_settlement *items = calloc(count, sizeof(*items));
    ph_outcome *outcomes = calloc(count, sizeof(*outcomes));

    CHECK(items && outcomes);
    for (size_t i = 0; i < count; i++) {
        items[i] = verb_of(words->word[2 * i]);
        items[i].lease = ph_lease_ref_of(delivered(batch, words->word[2 * i + 1]));
    }
    OK(door->settle(store, PH_OWN_TX, owner, items, count, 0, outcomes, &t_err));
    answer[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(answer);

        snprintf(answer + used, sizeof(answer) - used, "%s%s", i ? " " : "",
                 ph_outcome_text(outcomes[i]));
    }
    free(items);
    free(outcomes);
    free(words);
    return answer;
}

const char *claimed(const struct door *door, ph_store *store, ph_owner owner, int n)
{
    ph_batch *batch = door_claim(door, store, owner, NULL, n);
    const char *text = payloads(batch);

    ph_batch_free(batch);
    return text;
}

const char *worked(const struct door *door, ph_store *store, ph_owner owner, int n)
{
    ph_batch *batch = door_claim(door, store, owner, NULL, n);
    size_t count = ph_batch_count(batch);
    ph_lease_ref *refs = calloc(count + 1, sizeof(*refs));
    ph_outcome *outcomes = calloc(count + 1, sizeof(*outcomes));
    const char *text = payloads(batch);

    CHECK(refs && outcomes);
    for (size_t i = 0; i < count; i++)
        refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    OK(door->ack(store, PH_OWN_TX, owner, refs, count, 0, outcomes, &t_err));
    for (size_t i = 0; i < count; i++)
        CHECK_INT(outcomes[i], PH_OUTCOME_ACKED);
    free(refs);
    free(outcomes);
    ph_batch_free(batch);
    return text;
}

int64_t door_reaped(const struct door *door, ph_store *store)
{
    int64_t count = -1;

    OK(door->reap_expired(store, PH_OWN_TX, 0, &count, &t_err));
    return count;
}

/* ----------------------------------------------------------------------- streams */

static ph_messages *read_lane(const struct door *door, ph_store *store, const char *ns,
                              const char *stream)
{
    ph_messages *list = NULL;

    OK(ph_stream_read(store, PH_OWN_TX, door->number, ns, stream, 0, 1000, 0, &list, &t_err));
    return list;
}

static const char *standing_of(const ph_message_info *info, int64_t now)
{
    switch (info->state) {
    case PH_READY:
        return info->next_attempt_at <= now ? "ready" : "scheduled";
    case PH_IN_PROGRESS:
        return "leased";
    case PH_DONE:
        return "done";
    case PH_FAILED:
        return "dead";
    case PH_PARKED:
        return "parked";
    case PH_WAITING:
        break;
    }
    return "?";
}

const char *lane(const struct door *door, ph_store *store, const char *stream)
{
    return lane_in(door, store, NULL, stream);
}

const char *lane_in(const struct door *door, ph_store *store, const char *ns, const char *stream)
{
    static char text[8192];
    ph_messages *list = read_lane(door, store, ns, stream);
    int64_t now = t_clock(store);

    text[0] = '\0';
    for (size_t i = 0; i < ph_messages_count(list); i++) {
        const ph_message_info *info = ph_messages_at(list, i);
        size_t used = strlen(text);

        CHECK_STR(info->message->stream, stream);
        snprintf(text + used, sizeof(text) - used, "%s%s=%s", i ? " " : "", info->message->payload,
                 standing_of(info, now));
    }
    ph_messages_free(list);
    return text;
}

const char *numbers(const struct door *door, ph_store *store, const char *stream)
{
    static char text[8192];
    ph_messages *list = read_lane(door, store, NULL, stream);

    text[0] = '\0';
    for (size_t i = 0; i < ph_messages_count(list); i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%lld", i ? " " : "",
                 (long long)ph_messages_at(list, i)->message->seq);
    }
    ph_messages_free(list);
    return text;
}

struct lane_seen see_lane(const struct door *door, ph_store *store, const char *stream)
{
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;
    ph_streams *list = NULL;
    struct lane_seen s = { 0 };

    opts.door = door->number;
    opts.ns = "";
    opts.stream = stream;
    opts.idle_too = true;
    opts.service = SERVICE;
    OK(ph_stream_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK(ph_streams_count(list) <= 1);
    if (ph_streams_count(list) == 1) {
        const ph_stream_info *info = ph_streams_at(list, 0);

        CHECK_STR(info->stream, stream);
        CHECK_STR(info->ns, "");
        CHECK_INT(info->door, door->number);
        s = (struct lane_seen){ .there = true,
                                .state = info->state,
                                .partition = info->partition,
                                .head_attempts = info->head_attempts,
                                .last_seq = info->last_seq,
                                .next_seq = info->next_seq,
                                .unsettled = info->unsettled,
                                .head_due_at = info->head_due_at,
                                .locked_until = info->locked_until,
                                .created_at = info->created_at,
                                .head = info->head,
                                .owner = info->owner,
                                .affinity_owner = info->affinity_owner };
        snprintf(s.affinity_service, sizeof(s.affinity_service), "%s",
                 info->affinity_service ? info->affinity_service : "");
    }
    ph_streams_free(list);
    return s;
}

const char *listed(ph_store *store, const ph_stream_list_opts *opts)
{
    static char text[8192];
    ph_streams *list = NULL;

    OK(ph_stream_list(store, PH_OWN_TX, opts, 0, &list, &t_err));
    text[0] = '\0';
    for (size_t i = 0; i < ph_streams_count(list); i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
                 ph_streams_at(list, i)->stream);
    }
    ph_streams_free(list);
    return text;
}

void set_door_queue(const struct door *door, ph_store *store, const ph_queue_settings *settings)
{
    OK(ph_queue_set(store, PH_OWN_TX, door->number, NULL, settings, 0, &t_err));
}

void set_dead_head(const struct door *door, ph_store *store, ph_dead_head dead_head)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.dead_head = dead_head;
    set_door_queue(door, store, &settings);
}

/* ------------------------------------------------------------- the one exchange */

ph_work_batch_opts a_call(ph_owner instance)
{
    ph_work_batch_opts opts = PH_WORK_BATCH_OPTS_INIT;

    opts.instance_id = instance;
    opts.service_name = SERVICE;
    opts.flags = PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX;
    return opts;
}

ph_work_batch_opts a_claim(ph_owner instance, int n)
{
    ph_work_batch_opts opts = a_call(instance);

    opts.flags = 0;
    opts.batch_size = n;
    return opts;
}

int try_work(ph_store *store, const ph_work_batch_opts *opts)
{
    ph_work_batch *batch = NULL;
    int r = ph_process_work_batch(store, PH_OWN_TX, opts, 0, &batch, &t_err);

    CHECK((r < 0) == (batch == NULL));
    ph_work_batch_free(batch);
    return r;
}

ph_work_batch *work(ph_store *store, const ph_work_batch_opts *opts)
{
    ph_work_batch *batch = NULL;

    OK(ph_process_work_batch(store, PH_OWN_TX, opts, 0, &batch, &t_err));
    CHECK(batch && batch->outbox && batch->inbox);
    return batch;
}

void work_only(ph_store *store, const ph_work_batch_opts *opts)
{
    ph_work_batch_free(work(store, opts));
}

void beat(ph_store *store, ph_owner instance)
{
    ph_work_batch_opts opts = a_call(instance);

    work_only(store, &opts);
}

void come(ph_store *store, ph_owner instance)
{
    ph_work_batch_opts opts = a_claim(instance, 1);

    for (int door = 0; door < 2; door++)
        OK(ph_queue_pause(store, PH_OWN_TX, (ph_door)door, NULL, 0, &t_err));
    work_only(store, &opts);
    for (int door = 0; door < 2; door++)
        OK(ph_queue_resume(store, PH_OWN_TX, (ph_door)door, NULL, 0, &t_err));
}

const char *instance_claimed(ph_store *store, ph_owner instance, int n)
{
    ph_work_batch_opts opts = a_claim(instance, n);
    ph_work_batch *batch = work(store, &opts);
    const char *text = payloads(batch->outbox);

    ph_work_batch_free(batch);
    return text;
}

struct instance_seen see_instance(ph_store *store, ph_owner instance)
{
    ph_instances *list = NULL;
    struct instance_seen s = { 0 };

    OK(ph_instance_list(store, PH_OWN_TX, T_OPTS(ph_instance_list_opts, .ended_too = true), 0,
                        &list, &t_err));
    for (size_t i = 0; i < ph_instances_count(list); i++) {
        const ph_instance_info *info = ph_instances_at(list, i);

        if (!same_id(info->id.b, instance.b))
            continue;
        CHECK(!s.there);
        s = (struct instance_seen){ .there = true,
                                    .state = info->state,
                                    .process_id = info->process_id,
                                    .lease_s = info->lease_s,
                                    .stale_threshold_s = info->stale_threshold_s,
                                    .started_at = info->started_at,
                                    .last_heartbeat_at = info->last_heartbeat_at,
                                    .ended_at = info->ended_at,
                                    .in_progress = info->in_progress,
                                    .partition_count = info->partition_count };
        snprintf(s.service, sizeof(s.service), "%s", info->service);
        snprintf(s.host, sizeof(s.host), "%s", info->host);
        snprintf(s.metadata, sizeof(s.metadata), "%s", info->metadata ? info->metadata : "");
    }
    ph_instances_free(list);
    return s;
}

/* --------------------------------------------------------------------- tear-down */

void all_is_well(ph_store *store)
{
    struct t_conn *conn = t_connect();
    ph_doctor_opts opts = PH_DOCTOR_OPTS_INIT;
    ph_report *report = NULL;
    int deep = 0;

    t_check_places(conn);
    t_check_joins(conn);
    t_disconnect(conn);
    opts.deep = true;
    OK(ph_doctor(store, &opts, 0, &report, &t_err));
    for (size_t i = 0; i < ph_report_count(report); i++) {
        const ph_finding *finding = ph_report_at(report, i);

        if (strcmp(finding->check, "durability") == 0) /* the tests' server takes it easy */
            continue;
        if (finding->level == PH_FINDING_ERROR)
            printf("%s: %s\n", finding->check, finding->text);
        CHECK(finding->level != PH_FINDING_ERROR);
        deep += strcmp(finding->check, "places") == 0;
    }
    CHECK_INT(deep, 1);
    ph_report_free(report);
}
