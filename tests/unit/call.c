/* call.c - what every verb does first. */
#include "harness.h"

#include <stdlib.h>

/* Every verb that may end joins, with nothing but a store and a time limit. */
static int verb(size_t which, ph_store *store, int timeout_ms)
{
    ph_owner owner = { { 1 } };
    ph_message_id message = { { 2 } };
    ph_join_id join = { { 3 } };
    ph_lease_ref lease = { .fence = 1 };
    ph_settlement settlement = { .verb = PH_ACK };
    ph_message to_send = PH_MESSAGE_INIT;
    ph_error *e = which % 2 ? &t_err : NULL;

    switch (which / 2) {
    case 0:
        return ph_join_wait(store, PH_OWN_TX, join, NULL, timeout_ms, NULL, e);
    case 1:
        return ph_outbox_exchange(store, PH_OWN_TX, owner, &settlement, 1, NULL, timeout_ms, NULL,
                                  NULL, e);
    case 2:
        return ph_outbox_settle(store, PH_OWN_TX, owner, &settlement, 1, timeout_ms, NULL, e);
    case 3:
        return ph_outbox_ack(store, PH_OWN_TX, owner, &lease, 1, timeout_ms, NULL, e);
    case 4:
        return ph_outbox_ack(store, PH_OWN_TX, owner, NULL, 0, timeout_ms, NULL, e);
    case 5:
        return ph_outbox_claim(store, PH_OWN_TX, owner, NULL, timeout_ms, NULL, e);
    case 6:
        return ph_outbox_reap_expired(store, PH_OWN_TX, timeout_ms, NULL, e);
    case 7:
        return ph_join_attach_many(store, PH_OWN_TX, join, &message, 1, timeout_ms, e);
    case 8:
        return ph_join_report_completed(store, PH_OWN_TX, join, message, timeout_ms, e);
    case 9:
        return ph_join_cancel(store, PH_OWN_TX, join, timeout_ms, NULL, e);
    case 10:
        return ph_instance_leave(store, PH_OWN_TX, owner, timeout_ms, NULL, e);
    case 11:
        return ph_process_work_batch(store, PH_OWN_TX, NULL, timeout_ms, NULL, e);
    case 12:
        return ph_enqueue(store, PH_OWN_TX, &to_send, timeout_ms, NULL, e);
    default:
        return 1;
    }
}

/* Builds for tests fill variables with a pattern: what is freed without having been set is found. */
TEST(a_call_that_cannot_begin_frees_nothing)
{
    const char *url =
        strstr(ph_backends(), "sqlite") ? "sqlite:orders.db" : "postgresql:dbname=orders";
    ph_store *store = NULL;
    size_t which = 0;

    OK(ph_open_lazy(url, NULL, &store, &t_err));
    for (; verb(which, NULL, 0) <= 0; which++) {
        CHECK_INT(verb(which, NULL, 0), PH_EINVAL);
        CHECK_INT(verb(which, NULL, -1), PH_EINVAL);
        CHECK_INT(verb(which, store, -1), PH_EINVAL);
        if (which % 2)
            CHECK(strstr(t_err.message, "timeout_ms is -1") != NULL);
    }
    CHECK_INT(which, 26);
    ph_close(store);
}
