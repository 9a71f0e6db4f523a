/* delete_test.c - queues that delete what is acked: an ack takes away its messages with all that
 * belongs to them, and no others. SQLite deletes those without a gap between their numbers at
 * once. */
#include "common.h"

#define COUNT 30

static void delete_at_ack(ph_store *store)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
}

/* Acks those of the messages for which (number % 7) is in the bits of which. */
static void ack_some(ph_store *store, ph_owner owner, const ph_lease_ref *refs, unsigned which)
{
    ph_lease_ref some[COUNT];
    ph_outcome outcomes[COUNT];
    size_t count = 0;

    for (unsigned i = 0; i < COUNT; i++) {
        if (which & 1U << i % 7)
            some[count++] = refs[i];
    }
    OK(ph_outbox_ack(store, PH_OWN_TX, owner, some, count, 0, outcomes, &t_err));
    for (size_t i = 0; i < count; i++)
        CHECK_INT(outcomes[i], PH_OUTCOME_ACKED);
}

TEST(an_ack_deletes_its_messages_and_no_others)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_enqueued enqueued[COUNT];
    ph_lease_ref refs[COUNT];

    delete_at_ack(store);
    put_many(store, "topic", COUNT, enqueued);
    CHECK_INT(take(store, owner, COUNT, refs), COUNT);
    ack_some(store, owner, refs, 1U << 0 | 1U << 1 | 1U << 3);
    for (unsigned i = 0; i < COUNT; i++) {
        struct seen seen = see(store, enqueued[i].work_id);
        bool acked = i % 7 == 0 || i % 7 == 1 || i % 7 == 3;

        CHECK_INT(seen.there, !acked);
        if (seen.there)
            CHECK_INT(seen.status, PH_IN_PROGRESS);
    }
    t_check_places(conn);
    ack_some(store, owner, refs, 1U << 2 | 1U << 4 | 1U << 5 | 1U << 6);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}lease"), 0);
}

TEST(an_ack_deletes_histories_and_remembers_keys)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_lease_ref refs[COUNT];
    ph_message m = a_message("topic", "payload");

    delete_at_ack(store);
    for (int i = 0; i < COUNT; i++) {
        m.dedupe_key = i == 11 || i == 12 ? (i == 11 ? "one" : "other") : NULL;
        put(store, &m);
    }
    CHECK_INT(take(store, owner, COUNT, refs), COUNT);
    CHECK_INT(settle(store, owner, refs[5], PH_RELEASE, NULL, 0), PH_OUTCOME_RELEASED);
    CHECK_INT(settle(store, owner, refs[12], PH_ABANDON, "not yet", 0), PH_OUTCOME_ABANDONED);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}attempt_log"), 2);
    CHECK_INT(take(store, owner, COUNT, refs), 2);
    CHECK_INT(ack(store, owner, refs[0]), PH_OUTCOME_ACKED);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}attempt_log"), 1);
    CHECK_INT(ack(store, owner, refs[1]), PH_OUTCOME_ACKED);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}attempt_log"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), COUNT - 2);
    t_check_places(conn);
    m.dedupe_key = "other";
    CHECK(!put(store, &m).is_new);
}
