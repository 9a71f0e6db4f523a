#include "joins.h"

ph_join_id start_join_until(ph_store *store, int steps, int64_t deadline)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_id join = { { 0 } };

    opts.deadline = deadline;
    OK(ph_join_start(store, PH_OWN_TX, steps, &opts, 0, &join, &t_err));
    CHECK(!ph_id_is_zero(join.b));
    return join;
}

ph_join_id start_join(ph_store *store, int steps)
{
    return start_join_until(store, steps, 0);
}

/* The form of our ids, far from any that was given. */
#define STRANGE                                                                                    \
    {                                                                                              \
        0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x80, 0, 0x8a, 1, 2, 3, 4, 5, 6, 7                        \
    }

ph_join_id no_join(void)
{
    return (ph_join_id){ STRANGE };
}

ph_message_id no_message(void)
{
    return (ph_message_id){ STRANGE };
}

int try_attach(ph_store *store, ph_join_id join, ph_message_id message)
{
    return ph_join_attach(store, PH_OWN_TX, join, message, 0, &t_err);
}

void attach(ph_store *store, ph_join_id join, ph_message_id message)
{
    OK(try_attach(store, join, message));
}

ph_enqueued a_step(ph_store *store)
{
    return t_enqueue(store, STEP, "x");
}

ph_enqueued put_step(ph_store *store, ph_join_id join)
{
    ph_enqueued e = a_step(store);

    attach(store, join, e.message_id);
    return e;
}

size_t take_steps(ph_store *store, ph_owner owner, ph_lease_ref *ret_refs, int max)
{
    static const char *const topics[] = { STEP };
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;
    ph_batch *batch;
    size_t count;

    opts.topics = topics;
    opts.topic_count = 1;
    opts.batch_size = max;
    batch = claim_with(store, owner, &opts);
    count = ph_batch_count(batch);
    for (size_t i = 0; i < count; i++)
        ret_refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
    return count;
}

void end_step(ph_store *store, ph_settle_verb verb)
{
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;

    CHECK_INT(take_steps(store, owner, &ref, 1), 1);
    CHECK(settle(store, owner, ref, verb, "why", 0) >= PH_OUTCOME_ACKED);
}

ph_wait a_wait(bool fail_if_any_step_failed)
{
    ph_wait wait = PH_WAIT_INIT;

    wait.fail_if_any_step_failed = fail_if_any_step_failed;
    wait.on_complete_topic = GOOD;
    wait.on_complete_payload = "good";
    wait.on_fail_topic = BAD;
    wait.on_fail_payload = "bad";
    return wait;
}

ph_work_id wait_for(ph_store *store, ph_join_id join, bool fail_if_any_step_failed)
{
    ph_wait wait = a_wait(fail_if_any_step_failed);
    ph_work_id id = { { 0 } };

    OK(ph_join_wait(store, PH_OWN_TX, join, &wait, 0, &id, &t_err));
    CHECK(!ph_id_is_zero(id.b));
    return id;
}

size_t sent(ph_store *store, const char *topic)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    size_t count;

    opts.topic = topic;
    opts.limit = PH_BATCH_MAX;
    OK(ph_outbox_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    count = ph_messages_count(list);
    ph_messages_free(list);
    return count;
}

const char *sent_text(ph_store *store)
{
    static char text[80];

    snprintf(text, sizeof(text), "%zu good, %zu bad", sent(store, GOOD), sent(store, BAD));
    return text;
}

bool cancel(ph_store *store, ph_join_id join)
{
    bool cancelled = false;

    OK(ph_join_cancel(store, PH_OWN_TX, join, 0, &cancelled, &t_err));
    return cancelled;
}

ph_join_info *find_join(ph_store *store, ph_join_id join)
{
    ph_join_info *info = NULL;
    int r = ph_join_find(store, PH_OWN_TX, join, 0, 0, &info, &t_err);

    if (r == PH_ENOTFOUND)
        return NULL;
    OK(r);
    return info;
}

const char *standing(ph_store *store, ph_join_id join)
{
    static char text[80];
    ph_join_info *info = find_join(store, join);

    if (!info)
        return "gone";
    snprintf(text, sizeof(text), "%d+%d/%d %s", info->completed_steps, info->failed_steps,
             info->expected_steps, ph_join_state_text(info->state));
    ph_join_info_free(info);
    return text;
}

const char *steps_of(ph_store *store, ph_join_id join)
{
    static const char *const words[] = { "pending", "completed", "failed" };
    static char text[1000];
    ph_join_info *info = find_join(store, join);

    CHECK(info != NULL);
    text[0] = '\0';
    CHECK_INT(info->member_count, info->attached_steps);
    for (size_t i = 0; i < info->member_count; i++) {
        size_t used = strlen(text);

        CHECK(info->members[i].state >= 0 && info->members[i].state <= 2);
        snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
                 words[info->members[i].state]);
    }
    ph_join_info_free(info);
    return text;
}

int attached_to(ph_store *store, ph_join_id join)
{
    ph_join_info *info = find_join(store, join);
    int count = info->attached_steps;

    ph_join_info_free(info);
    return count;
}

const char *join_view(struct t_conn *conn, ph_join_id join, const char *column)
{
    char sql[200], id[PH_ID_TEXT_SIZE];

    snprintf(sql, sizeof(sql), "SELECT %s FROM {t}joins WHERE id = '%s'", column,
             ph_id_text(join.b, id));
    return t_value(conn, sql);
}

const char *json_text(const char *json, const char *key)
{
    static char text[400];
    char quoted[60];
    const char *at;

    snprintf(quoted, sizeof(quoted), "\"%s\"", key);
    at = json ? strstr(json, quoted) : NULL;
    if (!at)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, ": ");
    if (*at == '"')
        snprintf(text, sizeof(text), "%.*s", (int)strcspn(at + 1, "\""), at + 1);
    else
        snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, ",} "), at);
    return text;
}
