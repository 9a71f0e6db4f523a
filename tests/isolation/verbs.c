/* verbs.c - the verbs of a spec. */
#include "verbs.h"

#include "turn.h"

#include "core/call.h"

#include <ctype.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- arguments */

const char *iso_option(const struct iso_command *command, const char *key)
{
    size_t length = strlen(key);

    for (size_t i = 1; i < command->count; i++) {
        if (strncmp(command->words[i], key, length) == 0 && command->words[i][length] == '=')
            return command->words[i] + length + 1;
    }
    return NULL;
}

int64_t iso_option_number(const struct iso_command *command, const char *key, int64_t otherwise)
{
    const char *value = iso_option(command, key);

    return value ? strtoll(value, NULL, 10) : otherwise;
}

bool iso_has_word(const struct iso_command *command, const char *word)
{
    for (size_t i = 1; i < command->count; i++) {
        if (strcmp(command->words[i], word) == 0)
            return true;
    }
    return false;
}

size_t iso_names_of(const struct iso_command *command, size_t from, const char **ret_names)
{
    size_t count = 0;

    for (size_t i = from; i < command->count; i++) {
        if (!strchr(command->words[i], '=') && strcmp(command->words[i], "nofence") != 0)
            ret_names[count++] = command->words[i];
    }
    return count;
}

const char *iso_word_at(const struct turn *turn, size_t index)
{
    return index < turn->command->count ? turn->command->words[index] : "";
}

const char *iso_status_word(int status, char *space, size_t size)
{
#define STATUS_NAME(name, value, text) { value, #name },
    static const struct {
        int status;
        const char *name;
    } names[] = { PH_STATUS_MAP(STATUS_NAME) };
#undef STATUS_NAME

    snprintf(space, size, "%d", status);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].status == status)
            snprintf(space, size, "%s", names[i].name + (names[i].name[0] == 'E'));
    }
    for (char *c = space; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return space;
}

/* ------------------------------------------------------ transactions and time */

/* begin [repeatable_read|serializable] */
static int verb_begin(struct turn *turn)
{
    return iso_actor_begin(turn->actor, iso_word_at(turn, 1), &turn->err);
}

static int verb_commit(struct turn *turn)
{
    return iso_actor_commit(turn->actor, &turn->err);
}

static int verb_rollback(struct turn *turn)
{
    return iso_actor_rollback(turn->actor, &turn->err);
}

/* The fake clock goes forward, for everyone. */
static int verb_advance(struct turn *turn)
{
    ph_store *store = turn->actor->store;
    PH__CALL(call);
    int64_t time = 0;
    int r = ph_clock(store, PH_OWN_TX, 0, &time, &turn->err);

    time += strtoll(iso_word_at(turn, 1), NULL, 10) * T_SECOND;
    if (r == 0)
        r = ph__call_own(&call, store, 0, &turn->err);
    return r < 0 ? r : store->backend->test_clock(&call, &time);
}

/* ------------------------------------------------------------------- enqueue */

/* stream=KEY: all of them; streams=KEY,KEY: the first message's, the second's, … */
static const char *stream_of(const struct turn *turn, size_t index, char *space, size_t size)
{
    const char *one = iso_option(turn->command, "stream"),
               *each = iso_option(turn->command, "streams");

    for (; each && index > 0; index--)
        each = strchr(each, ',') ? strchr(each, ',') + 1 : NULL;
    if (each)
        snprintf(space, size, "%.*s", (int)strcspn(each, ","), each);
    return each ? space : one;
}

int iso_drafts_make(struct turn *turn, const char *const *names, size_t count,
                    struct iso_drafts *ret_drafts)
{
    const struct iso_command *command = turn->command;
    const char *topic = iso_option(command, "topic"), *join = iso_option(command, "join");
    const char *shared = iso_option(command, "shared");
    int64_t due = iso_option_number(command, "due", 0), now = 0;
    int64_t expires = iso_option_number(command, "expires", 0);
    int r = due || expires ? ph_clock(turn->actor->store, turn->tx, 0, &now, &turn->err) : 0;

    ret_drafts->join_id = iso_world_join_id(turn->actor->world, join ? join : "");
    if (shared) { /* no other round has it */
        memcpy(ret_drafts->shared.b, iso_world_join_id(turn->actor->world, shared).b, 16);
        ret_drafts->shared.b[15] ^= 0x55;
    }
    for (size_t i = 0; i < count; i++) {
        ph_message *message = &ret_drafts->messages[i];

        *message = (ph_message)PH_MESSAGE_INIT;
        message->topic = topic ? topic : "topic";
        message->payload = names[i];
        message->ns = turn->actor->world->ns;
        message->dedupe_key = iso_option(command, "key");
        message->due_at = due ? now + due * T_SECOND : 0;
        message->expires_at = expires ? now + expires * T_SECOND : 0;
        message->max_attempts = (int)iso_option_number(command, "max", 0);
        message->join_id = join ? &ret_drafts->join_id : NULL;
        message->message_id = shared ? &ret_drafts->shared : NULL;
        message->stream =
            stream_of(turn, i, ret_drafts->streams[i], sizeof(ret_drafts->streams[i]));
    }
    return r;
}

void iso_enqueued(struct turn *turn, const char *const *names, const ph_enqueued *enqueued,
                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        iso_world_name(turn->actor->world, names[i], enqueued[i].work_id, enqueued[i].message_id);
        iso_result_add(turn->result, "%s:%s", names[i], enqueued[i].is_new ? "new" : "old");
    }
}

static int verb_enqueue(struct turn *turn)
{
    const char *names[ITEMS_MAX];
    struct iso_drafts drafts;
    ph_enqueued enqueued[ITEMS_MAX];
    size_t count = iso_names_of(turn->command, 1, names);
    int r = iso_drafts_make(turn, names, count, &drafts);

    if (r == 0)
        r = ph_enqueue_many(turn->actor->store, turn->tx, drafts.messages, count, 0, enqueued,
                            &turn->err);
    if (r == PH_ESTATE)
        return iso_refused(turn, names, count);
    if (r == 0)
        iso_enqueued(turn, names, enqueued, count);
    return r;
}

/* --------------------------------------------------------------------- doors */

/* What door= says; the outbox unless it says anything. */
static const struct {
    const char *name;
    int (*claim)(ph_store *store, ph_tx tx, ph_owner owner, const ph_claim_opts *opts,
                 int timeout_ms, ph_batch **ret_batch, ph_error *reterr);
    int (*settle)(ph_store *store, ph_tx tx, ph_owner owner, const ph_settlement *items,
                  size_t count, int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
    int (*renew)(ph_store *store, ph_tx tx, ph_owner owner, const ph_lease_ref *items, size_t count,
                 int lease_s, int timeout_ms, ph_outcome *ret_outcomes, ph_error *reterr);
    int (*reap)(ph_store *store, ph_tx tx, int timeout_ms, int64_t *ret_count, ph_error *reterr);
    int (*find)(ph_store *store, ph_tx tx, ph_work_id id, int timeout_ms,
                ph_message_info **ret_info, ph_error *reterr);
    ph_door number;
} doors[] = {
    { "outbox", ph_outbox_claim, ph_outbox_settle, ph_outbox_renew, ph_outbox_reap_expired,
      ph_outbox_find, PH_OUTBOX },
    { "inbox", ph_inbox_claim, ph_inbox_settle, ph_inbox_renew, ph_inbox_reap_expired,
      ph_inbox_find, PH_INBOX },
    { "timers", ph_timers_claim, ph_timers_settle, ph_timers_renew, ph_timers_reap_expired,
      ph_timers_find, PH_TIMERS },
    { "runs", ph_job_runs_claim, ph_job_runs_settle, ph_job_runs_renew, ph_job_runs_reap_expired,
      ph_job_runs_find, PH_JOB_RUNS },
};
#define DOORS (sizeof(doors) / sizeof(*doors))

static size_t door_of(const struct turn *turn)
{
    const char *name = iso_option(turn->command, "door");
    size_t door = 0;

    while (name && door < DOORS && strcmp(doors[door].name, name) != 0)
        door++;
    CHECK(door < DOORS);
    return door;
}

ph_door iso_door(const struct turn *turn)
{
    return doors[door_of(turn)].number;
}

/* --------------------------------------------------------------------- claim */

/* A message whose enqueue has committed but not yet returned has no name here;
 * its payload is the name it will get. */
void iso_claimed(struct turn *turn, ph_owner owner, const ph_batch *batch)
{
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        const ph_delivery *delivery = ph_batch_at(batch, i);
        const char *name = iso_world_name_of(turn->actor->world, delivery->work_id);

        iso_actor_remember(turn->actor, owner, delivery);
        iso_result_add(turn->result, "%s:claimed", name ? name : delivery->payload);
    }
    iso_result_add(turn->result, "claimed=%zu", ph_batch_count(batch));
}

static int verb_claim(struct turn *turn)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_owner owner = iso_owner(iso_word_at(turn, 1));
    const char *topic = iso_option(turn->command, "topic");
    ph_batch *batch = NULL;
    int r;

    opts.batch_size = atoi(iso_word_at(turn, 2));
    opts.lease_s = (int)iso_option_number(turn->command, "lease", 0);
    opts.ns = turn->actor->world->ns;
    opts.topics = topic ? &topic : NULL;
    opts.topic_count = topic ? 1 : 0;
    r = doors[door_of(turn)].claim(turn->actor->store, turn->tx, owner, &opts, 0, &batch,
                                   &turn->err);
    if (r == 0)
        iso_claimed(turn, owner, batch);
    ph_batch_free(batch);
    return r;
}

/* -------------------------------------------------------------------- settle */

ph_lease_ref iso_lease_of(const struct turn *turn, ph_owner owner, const char *name)
{
    ph_work_id id = iso_world_id(turn->actor->world, name);
    ph_lease_ref lease = iso_actor_lease(turn->actor, owner, id);

    if (iso_has_word(turn->command, "nofence"))
        lease.fence = 0;
    return lease;
}

void iso_outcomes(struct turn *turn, const char *const *names, const ph_outcome *outcomes,
                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        iso_result_add(turn->result, "%s:%s", names[i], ph_outcome_text(outcomes[i]));
}

ph_settle_verb iso_settle_verb(const char *text)
{
    static const char *const texts[] = { "ack", "abandon", "fail", "release" };

    for (size_t i = 0; i < 4; i++) {
        if (strncmp(text, texts[i], strlen(texts[i])) == 0)
            return (ph_settle_verb)(i + 1);
    }
    return (ph_settle_verb)0;
}

static int settle(struct turn *turn, const char *const *names, const ph_settle_verb *verbs,
                  size_t count)
{
    int64_t delay = iso_option_number(turn->command, "delay", 0);
    ph_owner owner = iso_owner(iso_word_at(turn, 1));
    ph_settlement items[ITEMS_MAX] = { 0 };
    ph_outcome outcomes[ITEMS_MAX];
    int r;

    for (size_t i = 0; i < count; i++) {
        items[i].lease = iso_lease_of(turn, owner, names[i]);
        items[i].verb = verbs[i];
        items[i].delay_ms = delay * 1000;
    }
    r = doors[door_of(turn)].settle(turn->actor->store, turn->tx, owner, items, count, 0, outcomes,
                                    &turn->err);
    if (r == 0)
        iso_outcomes(turn, names, outcomes, count);
    return r;
}

/* ack, abandon, fail, release: OWNER NAME… */
static int verb_settle_all(struct turn *turn)
{
    const char *names[ITEMS_MAX];
    ph_settle_verb verbs[ITEMS_MAX];
    size_t count = iso_names_of(turn->command, 2, names);

    for (size_t i = 0; i < count; i++)
        verbs[i] = iso_settle_verb(turn->command->words[0]);
    return settle(turn, names, verbs, count);
}

/* settle OWNER VERB:NAME… */
static int verb_settle_each(struct turn *turn)
{
    const char *names[ITEMS_MAX];
    ph_settle_verb verbs[ITEMS_MAX];
    size_t count = iso_names_of(turn->command, 2, names);

    for (size_t i = 0; i < count; i++) {
        const char *colon = strchr(names[i], ':');

        verbs[i] = iso_settle_verb(names[i]);
        names[i] = colon ? colon + 1 : names[i];
    }
    return settle(turn, names, verbs, count);
}

static int verb_renew(struct turn *turn)
{
    ph_owner owner = iso_owner(iso_word_at(turn, 1));
    const char *names[ITEMS_MAX];
    ph_lease_ref leases[ITEMS_MAX];
    ph_outcome outcomes[ITEMS_MAX];
    size_t count = iso_names_of(turn->command, 2, names);
    int r;

    for (size_t i = 0; i < count; i++)
        leases[i] = iso_lease_of(turn, owner, names[i]);
    r = doors[door_of(turn)].renew(turn->actor->store, turn->tx, owner, leases, count,
                                   (int)iso_option_number(turn->command, "lease", 0), 0, outcomes,
                                   &turn->err);
    if (r == 0)
        iso_outcomes(turn, names, outcomes, count);
    return r;
}

static int verb_reap(struct turn *turn)
{
    int64_t count = 0;
    int r = doors[door_of(turn)].reap(turn->actor->store, turn->tx, 0, &count, &turn->err);

    if (r == 0)
        iso_result_add(turn->result, "reaped=%lld", (long long)count);
    return r;
}

/* ------------------------------------------------------------ look and steer */

int iso_look(ph_store *store, ph_tx tx, ph_work_id id, const char **ret_word,
             ph_message_info **ret_info, ph_error *err)
{
    static const char *const words[] = { "ready",  "in_progress", "done",
                                         "failed", "waiting",     "parked" };
    ph_message_info *info = NULL;
    int r = ph_id_is_zero(id.b) ? 0 : PH_ENOTFOUND;

    for (size_t door = 0; r == PH_ENOTFOUND && door < DOORS; door++)
        r = doors[door].find(store, tx, id, 0, &info, err);
    if (r < 0 && r != PH_ENOTFOUND)
        return r;
    *ret_word = info ? words[info->state] : "gone";
    if (ret_info)
        *ret_info = info;
    else
        ph_message_info_free(info);
    return 0;
}

static int verb_look(struct turn *turn)
{
    const char *names[ITEMS_MAX], *word = "";
    size_t count = iso_names_of(turn->command, 1, names);
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++) {
        r = iso_look(turn->actor->store, turn->tx, iso_world_id(turn->actor->world, names[i]),
                     &word, NULL, &turn->err);
        if (r == 0)
            iso_result_add(turn->result, "%s:%s", names[i], word);
    }
    return r;
}

static int verb_retention(struct turn *turn)
{
    int64_t count = 0;
    int r = ph_retention_run(turn->actor->store, turn->tx, 0, 0, &count, &turn->err);

    if (r == 0)
        iso_result_add(turn->result, "deleted=%lld", (long long)count);
    return r;
}

/* dead_retry OLD NEW: the message that takes OLD's place is called NEW. */
static int verb_dead_retry(struct turn *turn)
{
    ph_work_id old = iso_world_id(turn->actor->world, iso_word_at(turn, 1)), new = { { 0 } };
    int r = ph_dead_retry(turn->actor->store, turn->tx, &old, 1, 0, &new, &turn->err);

    if (r < 0)
        return r;
    if (!ph_id_is_zero(new.b))
        iso_world_name(turn->actor->world, iso_word_at(turn, 2), new,
                       iso_world_message_id(turn->actor->world, iso_word_at(turn, 1)));
    iso_result_add(turn->result, "%s:%s", iso_word_at(turn, 1),
                   ph_id_is_zero(new.b) ? "not_retried" : "retried");
    return 0;
}

static int verb_dead_discard(struct turn *turn)
{
    ph_work_id id = iso_world_id(turn->actor->world, iso_word_at(turn, 1));
    int64_t count = 0;
    int r = ph_dead_discard(turn->actor->store, turn->tx, &id, 1, 0, &count, &turn->err);

    if (r == 0)
        iso_result_add(turn->result, "discarded=%lld", (long long)count);
    return r;
}

static int verb_queue_set(struct turn *turn)
{
    const char *dead_head = iso_option(turn->command, "dead_head");
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    if (dead_head)
        settings.dead_head =
            strcmp(dead_head, "block") == 0 ? PH_DEAD_HEAD_BLOCK : PH_DEAD_HEAD_SKIP;

    settings.max_attempts = (int)iso_option_number(turn->command, "max_attempts", 0);
    settings.retention_s = iso_option_number(turn->command, "retention", 0);
    settings.dead_retention_s = iso_option_number(turn->command, "dead_retention", 0);
    settings.dedupe_retention_s = iso_option_number(turn->command, "dedupe_retention", 0);
    settings.max_lease_s = (int)iso_option_number(turn->command, "max_lease", 0);
    settings.affinity_grace_ms = (int)iso_option_number(turn->command, "grace", 0);
    settings.delete_on_ack = (int)iso_option_number(turn->command, "delete_on_ack", 0);
    return ph_queue_set(turn->actor->store, turn->tx, doors[door_of(turn)].number,
                        turn->actor->world->ns, &settings, 0, &turn->err);
}

static int verb_pause(struct turn *turn)
{
    return ph_queue_pause(turn->actor->store, turn->tx, doors[door_of(turn)].number,
                          turn->actor->world->ns, 0, &turn->err);
}

static int verb_resume(struct turn *turn)
{
    return ph_queue_resume(turn->actor->store, turn->tx, doors[door_of(turn)].number,
                           turn->actor->world->ns, 0, &turn->err);
}

static int verb_queue_delete(struct turn *turn)
{
    bool deleted = false;
    int r = ph_queue_delete(turn->actor->store, turn->tx, doors[door_of(turn)].number,
                            turn->actor->world->ns, 0, &deleted, &turn->err);

    if (r == PH_ESTATE)
        iso_result_add(turn->result, "queue:in_use");
    else if (r == 0)
        iso_result_add(turn->result, deleted ? "queue:deleted" : "queue:missing");
    return r == PH_ESTATE ? 0 : r;
}

/* -------------------------------------------------------------------- schema */

static int verb_migrate(struct turn *turn)
{
    int applied = 0;
    int r = ph_migrate(turn->actor->store, 0, &applied, &turn->err);

    if (r == 0)
        iso_result_add(turn->result, "migrated=%s", applied > 0 ? "yes" : "no");
    return r;
}

/* Makes the place of a bare store's tables by hand, as an operator might. On
 * SQLite there is nothing to make: the open transaction alone is in the way. */
static int verb_make_schema(struct turn *turn)
{
    char sql[120];

    if (!t_is_pg())
        return 0;
    snprintf(sql, sizeof(sql), "CREATE SCHEMA IF NOT EXISTS \"%s\"", turn->actor->store->schema);
    if (t_try_sql(turn->actor->conn, sql))
        return 0;
    snprintf(turn->err.message, sizeof(turn->err.message), "%.200s",
             t_sql_error(turn->actor->conn));
    return turn->err.code = PH_EDATABASE;
}

/* ------------------------------------------------------------------ the table */

static const struct iso_verb verbs[] = {
    { "begin", verb_begin },
    { "commit", verb_commit },
    { "rollback", verb_rollback },
    { "advance", verb_advance },
    { "enqueue", verb_enqueue },
    { "claim", verb_claim },
    { "ack", verb_settle_all },
    { "abandon", verb_settle_all },
    { "fail", verb_settle_all },
    { "release", verb_settle_all },
    { "settle", verb_settle_each },
    { "renew", verb_renew },
    { "reap", verb_reap },
    { "look", verb_look },
    { "retention", verb_retention },
    { "dead_retry", verb_dead_retry },
    { "dead_discard", verb_dead_discard },
    { "queue_set", verb_queue_set },
    { "queue_delete", verb_queue_delete },
    { "pause", verb_pause },
    { "resume", verb_resume },
    { "join", iso_verb_join },
    { "attach", iso_verb_attach },
    { "report", iso_verb_report },
    { "wait", iso_verb_wait },
    { "join_cancel", iso_verb_join_cancel },
    { "migrate", verb_migrate },
    { "make_schema", verb_make_schema },
};

static verb_function verb_of(const char *name)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].name, name) == 0)
            return verbs[i].run;
    }
    for (size_t i = 0; i < iso_schedule_verb_count; i++) {
        if (strcmp(iso_schedule_verbs[i].name, name) == 0)
            return iso_schedule_verbs[i].run;
    }
    for (size_t i = 0; i < iso_work_verb_count; i++) {
        if (strcmp(iso_work_verbs[i].name, name) == 0)
            return iso_work_verbs[i].run;
    }
    return NULL;
}

bool iso_verb_exists(const char *name)
{
    return verb_of(name) != NULL;
}

int iso_verb_run(struct iso_actor *actor, const struct iso_command *command,
                 struct iso_result *result)
{
    struct turn turn = {
        .actor = actor, .command = command, .result = result, .tx = iso_actor_tx(actor)
    };
    int r = verb_of(command->words[0])(&turn);
    char word[32];

    if (r < 0) {
        result->status = r;
        result->err = turn.err;
        iso_result_add(result, "error=%s", iso_status_word(r, word, sizeof(word)));
    }
    return r;
}
