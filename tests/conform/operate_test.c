/* operate_test.c - looking at messages, counting them, and what operators do with dead ones. */
#include "common.h"

static const ph_tenant_id tenant = { { 0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } };
#define TENANT_KEY "AB010203-0405-0607-0809-0a0b0c0d0e0f/order-1"

static ph_message_info *find(ph_store *store, ph_work_id id)
{
    ph_message_info *info = NULL;

    OK(ph_outbox_find(store, PH_OWN_TX, id, 0, &info, &t_err));
    return info;
}

/* A dead message. */
static ph_work_id bury_one(ph_store *store, const char *payload)
{
    ph_enqueued e = t_enqueue(store, "dead", payload);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref = take_one(store, owner);

    CHECK(same_id(ref.work_id.b, e.work_id.b));
    CHECK_INT(settle(store, owner, ref, PH_FAIL, "of no use", 0), PH_OUTCOME_FAILED);
    return e.work_id;
}

/* ---------------------------------------------------------------------- find */

TEST(find_shows_every_field_of_a_new_message)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("order.created", "body");
    ph_message_id message_id = { { 9, 9, 9, 9, 9, 9, 0x49, 9, 0x89, 9, 9, 9, 9, 9, 9, 9 } };
    ph_enqueued e;
    ph_message_info *info;

    t_clock_set(store, T_EPOCH);
    m.ns = "billing";
    m.tenant_id = &tenant;
    m.dedupe_key = TENANT_KEY;
    m.correlation_id = "trace 7";
    m.headers = "{\"a\": 1}";
    m.message_id = &message_id;
    m.priority = PH_PRIORITY_LOW;
    m.due_at = T_EPOCH + 5 * T_SECOND;
    m.expires_at = T_EPOCH + 50 * T_SECOND;
    m.max_attempts = 3;
    e = put(store, &m);
    info = find(store, e.work_id);
    CHECK(same_id(info->message->work_id.b, e.work_id.b));
    CHECK(same_id(info->message->message_id.b, message_id.b));
    CHECK_STR(info->message->topic, "order.created");
    CHECK_STR(info->message->payload, "body");
    CHECK_INT(info->message->payload_length, 4);
    CHECK_STR(info->message->ns, "billing");
    CHECK(info->message->tenant_id && same_id(info->message->tenant_id->b, tenant.b));
    CHECK_STR(info->message->dedupe_key, TENANT_KEY);
    CHECK_STR(info->message->correlation_id, "trace 7");
    CHECK_STR(info->message->headers, "{\"a\": 1}");
    CHECK_INT(info->message->priority, PH_PRIORITY_LOW);
    CHECK_INT(info->message->fence, 0);
    REQ_INT("OBX-016", info->message->attempts, 0);
    REQ_INT("OBX-016", info->message->retry_count, 0);
    REQ_INT("OBX-015", info->message->created_at, T_EPOCH);
    CHECK_INT(info->message->due_at, T_EPOCH + 5 * T_SECOND);
    CHECK_STR(info->message->last_error, NULL);
    CHECK_INT(info->state, PH_READY);
    CHECK_INT(info->max_attempts, 3);
    CHECK_INT(info->requested_due_at, T_EPOCH + 5 * T_SECOND);
    CHECK_INT(info->expires_at, T_EPOCH + 50 * T_SECOND);
    CHECK_INT(info->locked_until, 0);
    CHECK(ph_id_is_zero(info->owner.b));
    CHECK_INT(info->processed_at, 0);
    CHECK_INT(info->updated_at, T_EPOCH);
    CHECK_INT(info->next_attempt_at, T_EPOCH + 5 * T_SECOND);
    CHECK_STR(info->dead_reason, NULL);
    CHECK(ph_id_is_zero(info->retried_as.b));
    CHECK_INT(info->history_count, 0);
    ph_message_info_free(info);
}

TEST(find_shows_what_was_left_out_as_none)
{
    ph_store *store = t_open(NULL);
    ph_message_info *info = find(store, t_enqueue(store, "t", "").work_id);

    CHECK_STR(info->message->payload, "");
    CHECK_INT(info->message->payload_length, 0);
    CHECK_STR(info->message->ns, "");
    CHECK(info->message->tenant_id == NULL);
    CHECK_STR(info->message->dedupe_key, NULL);
    CHECK_STR(info->message->correlation_id, NULL);
    CHECK_STR(info->message->headers, NULL);
    CHECK_INT(info->message->priority, PH_PRIORITY_NORMAL);
    CHECK_INT(info->max_attempts, 10);
    CHECK_INT(info->requested_due_at, 0);
    CHECK_INT(info->expires_at, 0);
    ph_message_info_free(info);
}

TEST(find_follows_a_message_through_its_states)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_lease_ref ref;
    ph_work_id id;
    struct seen s;

    t_clock_set(store, T_EPOCH);
    id = t_enqueue(store, "t", "p").work_id;
    t_clock_advance(store, T_SECOND);
    ref = take_one(store, owner);
    s = see(store, id);
    CHECK_INT(s.status, PH_IN_PROGRESS);
    CHECK_INT(s.fence, ref.fence);
    REQ("OBX-021", same_id(s.owner.b, owner.b));
    REQ_INT("OBX-020", s.locked_until, T_EPOCH + 31 * T_SECOND);
    CHECK_INT(s.attempts, 1);
    CHECK_INT(s.next_attempt_at, 0);
    CHECK_INT(s.updated_at, T_EPOCH + T_SECOND);
    t_clock_advance(store, T_SECOND);
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_ACKED);
    s = see(store, id);
    CHECK_INT(s.status, PH_DONE);
    CHECK_INT(s.fence, 0);
    CHECK_INT(s.attempts, 1);
    CHECK_INT(s.locked_until, 0);
    REQ_INT("OBX-028", s.processed_at, T_EPOCH + 2 * T_SECOND);
    REQ("OBX-029", same_id(s.owner.b, owner.b));
    CHECK_INT(s.updated_at, T_EPOCH + 2 * T_SECOND);
    CHECK_INT(s.history_count, 0);
}

TEST(find_tells_the_history_oldest_first)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_work_id id;
    ph_message_info *info;

    t_clock_set(store, T_EPOCH);
    id = t_enqueue(store, "t", "p").work_id;
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_RELEASE, "ignored", 0),
              PH_OUTCOME_RELEASED);
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_ABANDON, "first", 7000),
              PH_OUTCOME_ABANDONED);
    t_clock_advance(store, 7 * T_SECOND);
    take_one(store, owner);
    t_clock_advance(store, 40 * T_SECOND);
    CHECK_INT(reap(store), 1);
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_FAIL, "last", 0), PH_OUTCOME_FAILED);
    info = find(store, id);
    CHECK_INT(info->history_count, 4);
    CHECK_STR(info->history[0].kind, "released");
    CHECK_STR(info->history[0].error, NULL);
    CHECK_INT(info->history[0].attempt, 1);
    CHECK_INT(info->history[0].next_due_at, T_EPOCH);
    CHECK_STR(info->history[1].kind, "abandoned");
    CHECK_STR(info->history[1].error, "first");
    CHECK_INT(info->history[1].attempt, 1);
    CHECK_INT(info->history[1].at, T_EPOCH);
    CHECK_INT(info->history[1].next_due_at, T_EPOCH + 7 * T_SECOND);
    CHECK(same_id(info->history[1].owner.b, owner.b));
    CHECK_STR(info->history[2].kind, "lost");
    CHECK_STR(info->history[2].error, NULL);
    CHECK_INT(info->history[2].attempt, 2);
    CHECK_INT(info->history[2].at, T_EPOCH + 47 * T_SECOND);
    CHECK(same_id(info->history[2].owner.b, owner.b));
    CHECK_STR(info->history[3].kind, "failed");
    CHECK_STR(info->history[3].error, "last");
    CHECK_INT(info->history[3].attempt, 3);
    CHECK_INT(info->history[3].next_due_at, 0);
    CHECK_INT(info->state, PH_FAILED);
    CHECK_STR(info->dead_reason, "failed");
    CHECK(same_id(info->owner.b, owner.b));
    CHECK_INT(info->processed_at, 0);
    CHECK_INT(info->updated_at, T_EPOCH + 47 * T_SECOND);
    REQ_STR("OBX-043", info->message->last_error, "last");
    CHECK_INT(info->message->attempts, 3);
    CHECK_INT(info->message->retry_count, 1);
    ph_message_info_free(info);
}

TEST(find_of_an_unknown_id_is_not_found)
{
    ph_store *store = t_open(NULL);
    ph_work_id real = t_enqueue(store, "t", "p").work_id, id = real;
    ph_message_info *info = NULL;

    id.b[15] = (uint8_t)(id.b[15] ^ 1); /* the right number with another nonce: another store's */
    CHECK_INT(ph_outbox_find(store, PH_OWN_TX, id, 0, &info, &t_err), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, "there is no message ") == t_err.message);
    memset(id.b, 0, sizeof(id.b));
    CHECK_INT(ph_outbox_find(store, PH_OWN_TX, id, 0, &info, &t_err), PH_ENOTFOUND);
    memset(id.b, 0xff, sizeof(id.b));
    CHECK_INT(ph_outbox_find(store, PH_OWN_TX, id, 0, &info, &t_err), PH_ENOTFOUND);
    CHECK(info == NULL);
    CHECK_INT(ph_outbox_find(store, PH_OWN_TX, real, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_find(store, PH_OWN_TX, real, -1, &info, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_find(NULL, PH_OWN_TX, real, 0, &info, &t_err), PH_EINVAL);
    ph_message_info_free(NULL);
}

TEST(find_in_the_callers_transaction_sees_what_it_did)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_message m = a_message("t", "p");
    ph_message_info *info = NULL;
    ph_enqueued e;

    t_begin(conn);
    OK(ph_enqueue(store, t_tx(conn), &m, 0, &e, &t_err));
    OK(ph_outbox_find(store, t_tx(conn), e.work_id, 0, &info, &t_err));
    CHECK_INT(info->state, PH_READY);
    ph_message_info_free(info);
    t_rollback(conn);
    REQ("OBX-003", !see(store, e.work_id).there);
}

/* --------------------------------------------------------------------- count */

static ph_queue_counts count(ph_store *store, const char *ns)
{
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;

    OK(ph_outbox_count(store, PH_OWN_TX, ns, 0, &counts, &t_err));
    return counts;
}

TEST(count_of_an_empty_store_is_zero)
{
    ph_store *store = t_open(NULL);
    ph_queue_counts counts = count(store, NULL);

    CHECK_INT(counts.ready + counts.scheduled + counts.in_progress + counts.dead +
                  counts.expired_leases + counts.oldest_ready_ms,
              0);
    counts = count(store, "no such namespace");
    CHECK_INT(counts.ready + counts.scheduled + counts.oldest_ready_ms, 0);
}

TEST(count_tells_the_states_apart)
{
    ph_store *store = t_open(NULL);
    ph_message later = a_message("t", "later"), elsewhere = a_message("t", "elsewhere");
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[5];
    ph_queue_counts counts;

    t_clock_set(store, T_EPOCH);
    put_many(store, "t", 5, NULL);
    CHECK_INT(take(store, owner, 3, refs), 3);
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    CHECK_INT(settle(store, owner, refs[1], PH_FAIL, NULL, 0), PH_OUTCOME_FAILED);
    later.due_at = T_EPOCH + 100 * T_SECOND;
    put(store, &later);
    elsewhere.ns = "elsewhere";
    put(store, &elsewhere);
    t_clock_advance(store, 1500 * 1000);

    counts = count(store, "");
    CHECK_INT(counts.ready, 2);
    CHECK_INT(counts.scheduled, 1);
    CHECK_INT(counts.in_progress, 1);
    CHECK_INT(counts.dead, 1);
    CHECK_INT(counts.expired_leases, 0);
    CHECK_INT(counts.oldest_ready_ms, 1500);
    CHECK_INT(count(store, "elsewhere").ready, 1);
    CHECK_INT(count(store, NULL).ready, 3);

    t_clock_advance(store, 60 * T_SECOND);
    CHECK_INT(count(store, "").expired_leases, 1);
    CHECK_INT(count(store, "elsewhere").expired_leases, 0);
}

TEST(count_leaves_out_dead_ones_that_were_retried)
{
    ph_store *store = t_open(NULL);
    ph_work_id id = bury_one(store, "p");

    CHECK_INT(count(store, NULL).dead, 1);
    OK(ph_dead_retry(store, PH_OWN_TX, &id, 1, 0, NULL, &t_err));
    CHECK_INT(count(store, NULL).dead, 0);
    CHECK_INT(count(store, NULL).ready, 1);
}

TEST(count_checks_its_arguments)
{
    ph_store *store = t_open(NULL);
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;

    CHECK_INT(ph_outbox_count(NULL, PH_OWN_TX, NULL, 0, &counts, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_count(store, PH_OWN_TX, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_count(store, PH_OWN_TX, NULL, -1, &counts, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_count(store, PH_OWN_TX, "\xff", 0, &counts, &t_err), PH_EINVAL);
    CHECK_INT(ph_outbox_count(store, PH_OWN_TX, repeated("n", 256), 0, &counts, &t_err), PH_EINVAL);
    counts.size = 0;
    CHECK_INT(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err), PH_EINVAL);
    /* An older program's shorter struct is filled as far as it goes. */
    t_enqueue(store, "t", "p");
    counts =
        (ph_queue_counts){ offsetof(ph_queue_counts, scheduled), -1, -2, -3, -4, -5, -6, -7, -8 };
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    CHECK_INT(counts.ready, 1);
    CHECK_INT(counts.scheduled, -2);
}

/* -------------------------------------------------------------- dead letters */

TEST(retry_puts_a_dead_message_back_under_a_new_id)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();
    ph_message m = a_message("t", "body");
    ph_enqueued e, duplicate;
    ph_work_id again = { { 0 } };
    ph_message_info *info;

    t_clock_set(store, T_EPOCH);
    m.tenant_id = &tenant;
    m.dedupe_key = TENANT_KEY;
    m.correlation_id = "c";
    m.headers = "{\"h\": \"x\"}";
    m.priority = PH_PRIORITY_URGENT;
    m.due_at = T_EPOCH - T_SECOND;
    m.expires_at = T_EPOCH + 1000 * T_SECOND;
    m.max_attempts = 2;
    e = put(store, &m);
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_ABANDON, "one", 0),
              PH_OUTCOME_ABANDONED);
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_ABANDON, "two", 0), PH_OUTCOME_DEAD);
    t_clock_advance(store, 10 * T_SECOND);
    OK(ph_dead_retry(store, PH_OWN_TX, &e.work_id, 1, 0, &again, &t_err));
    CHECK(!ph_id_is_zero(again.b));
    CHECK(!same_id(again.b, e.work_id.b));

    info = find(store, again);
    CHECK_INT(info->state, PH_READY);
    CHECK(same_id(info->message->message_id.b, e.message_id.b));
    CHECK_STR(info->message->payload, "body");
    CHECK(info->message->tenant_id && same_id(info->message->tenant_id->b, tenant.b));
    CHECK_STR(info->message->dedupe_key, TENANT_KEY);
    CHECK_STR(info->message->correlation_id, "c");
    CHECK_STR(info->message->headers, "{\"h\": \"x\"}");
    CHECK_INT(info->message->priority, PH_PRIORITY_URGENT);
    CHECK_INT(info->message->attempts, 0);
    CHECK_INT(info->message->retry_count, 0);
    CHECK_STR(info->message->last_error, NULL);
    CHECK_INT(info->message->created_at, T_EPOCH + 10 * T_SECOND);
    CHECK_INT(info->requested_due_at, 0);
    CHECK_INT(info->next_attempt_at, T_EPOCH + 10 * T_SECOND);
    CHECK_INT(info->expires_at, T_EPOCH + 1000 * T_SECOND);
    CHECK_INT(info->max_attempts, 2);
    CHECK_INT(info->history_count, 0);
    ph_message_info_free(info);

    duplicate = put(store, &m); /* the key names the message that was put back */
    CHECK(!duplicate.is_new);
    CHECK(same_id(duplicate.work_id.b, again.b));
    CHECK(same_id(duplicate.message_id.b, e.message_id.b));

    info = find(store, e.work_id); /* the dead row stays, and names the new one */
    CHECK_INT(info->state, PH_FAILED);
    CHECK_STR(info->dead_reason, "attempts");
    CHECK(same_id(info->retried_as.b, again.b));
    CHECK_INT(info->history_count, 2);
    ph_message_info_free(info);
    CHECK_INT(claimable(store, 10), 1);
    t_check_places(t_connect());
}

TEST(retry_drops_an_expiry_that_has_passed)
{
    ph_store *store = t_open(NULL);
    ph_message m = a_message("t", "p");
    ph_enqueued e;
    ph_work_id again;

    t_clock_set(store, T_EPOCH);
    m.expires_at = T_EPOCH + T_SECOND;
    e = put(store, &m);
    t_clock_advance(store, T_SECOND);
    CHECK_INT(claimable(store, 1), 0);
    CHECK_STR(see(store, e.work_id).dead_reason, "expired");
    OK(ph_dead_retry(store, PH_OWN_TX, &e.work_id, 1, 0, &again, &t_err));
    CHECK_INT(see(store, again).expires_at, 0);
    CHECK_INT(claimable(store, 1), 1);
}

TEST(retry_answers_zero_for_what_is_not_dead)
{
    ph_store *store = t_open(NULL);
    ph_work_id dead = bury_one(store, "p"), ids[4], again[4];

    ids[0] = t_enqueue(store, "t", "alive").work_id;
    ids[1] = dead;
    ids[2] = dead; /* twice in one list */
    memset(ids[3].b, 0x77, sizeof(ids[3].b));
    memset(again, 0x11, sizeof(again));
    OK(ph_dead_retry(store, PH_OWN_TX, ids, 4, 0, again, &t_err));
    CHECK(ph_id_is_zero(again[0].b));
    CHECK(!ph_id_is_zero(again[1].b));
    CHECK(ph_id_is_zero(again[2].b));
    CHECK(ph_id_is_zero(again[3].b));
    OK(ph_dead_retry(store, PH_OWN_TX, &dead, 1, 0, again, &t_err)); /* and a second time */
    CHECK(ph_id_is_zero(again[0].b));
    CHECK_INT(count(store, NULL).ready, 2);
}

TEST(retry_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id dead = bury_one(store, "p"), again;

    t_begin(conn);
    OK(ph_dead_retry(store, t_tx(conn), &dead, 1, 0, &again, &t_err));
    t_rollback(conn);
    CHECK(!see(store, again).there);
    CHECK(ph_id_is_zero(see(store, dead).retried_as.b));
    t_begin(conn);
    OK(ph_dead_retry(store, t_tx(conn), &dead, 1, 0, &again, &t_err));
    t_commit(conn);
    CHECK_INT(see(store, again).status, PH_READY);
}

TEST(discard_deletes_dead_messages_and_no_others)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id ids[4];
    int64_t deleted = -1;

    ids[0] = bury_one(store, "p");
    ids[1] = t_enqueue(store, "t", "alive").work_id;
    memset(ids[2].b, 0x77, sizeof(ids[2].b));
    ids[3] = ids[0];
    OK(ph_dead_discard(store, PH_OWN_TX, ids, 4, 0, &deleted, &t_err));
    CHECK_INT(deleted, 1);
    CHECK(!see(store, ids[0]).there);
    CHECK(see(store, ids[1]).there);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 1);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}attempt_log"), 0);
    OK(ph_dead_discard(store, PH_OWN_TX, ids, 4, 0, &deleted, &t_err));
    CHECK_INT(deleted, 0);
    t_check_places(conn);
}

TEST(discard_is_part_of_the_callers_transaction)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_id dead = bury_one(store, "p");

    t_begin(conn);
    OK(ph_dead_discard(store, t_tx(conn), &dead, 1, 0, NULL, &t_err));
    t_rollback(conn);
    CHECK_INT(see(store, dead).status, PH_FAILED);
}

TEST(dead_letter_calls_check_their_arguments)
{
    ph_store *store = t_open(NULL);
    ph_work_id id = { { 1 } };
    int64_t deleted = -7;

    CHECK_INT(ph_dead_retry(NULL, PH_OWN_TX, &id, 1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_dead_retry(store, PH_OWN_TX, NULL, 1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_dead_retry(store, PH_OWN_TX, &id, PH_BATCH_MAX + 1, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_dead_retry(store, PH_OWN_TX, &id, 1, -1, NULL, &t_err), PH_EINVAL);
    OK(ph_dead_retry(store, PH_OWN_TX, NULL, 0, 0, NULL, &t_err));
    CHECK_INT(ph_dead_discard(NULL, PH_OWN_TX, &id, 1, 0, &deleted, &t_err), PH_EINVAL);
    CHECK_INT(ph_dead_discard(store, PH_OWN_TX, NULL, 1, 0, &deleted, &t_err), PH_EINVAL);
    CHECK_INT(ph_dead_discard(store, PH_OWN_TX, &id, PH_BATCH_MAX + 1, 0, &deleted, &t_err),
              PH_EINVAL);
    CHECK_INT(deleted, -7);
    OK(ph_dead_discard(store, PH_OWN_TX, NULL, 0, 0, &deleted, &t_err));
    CHECK_INT(deleted, 0);
}

/* --------------------------------------------------------------------- clock */

TEST(clock_is_the_databases)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int64_t time = 0;

    OK(ph_clock(store, PH_OWN_TX, 0, &time, &t_err));
    CHECK(time > T_EPOCH); /* the real one: it is later than the fake one's start */
    t_clock_set(store, T_EPOCH + 1);
    OK(ph_clock(store, PH_OWN_TX, 0, &time, &t_err));
    CHECK_INT(time, T_EPOCH + 1);
    t_begin(conn);
    OK(ph_clock(store, t_tx(conn), 0, &time, &t_err));
    CHECK_INT(time, T_EPOCH + 1);
    t_rollback(conn);
    time = 5;
    CHECK_INT(ph_clock(store, PH_OWN_TX, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_clock(NULL, PH_OWN_TX, 0, &time, &t_err), PH_EINVAL);
    CHECK_INT(ph_clock(store, PH_OWN_TX, -1, &time, &t_err), PH_EINVAL);
    CHECK_INT(ph_clock(store, t_tx(conn), 0, &time, &t_err), PH_ENOTX);
    CHECK_INT(time, 5);
}
