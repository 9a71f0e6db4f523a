/* checkpoint_test.c - how far consumers have come in a stream (coordination.h; docs/states.md,
 * Checkpoints; scenario 44). */
#include "journal.h"
#include "lanes.h"

#include <stdlib.h>

static int try_checkpoint(const struct door *door, ph_store *store, const char *stream,
                          const char *consumer, int64_t seq, const char *error)
{
    ph_checkpoint_result result = { .door = door->number,
                                    .stream = stream,
                                    .consumer = consumer,
                                    .seq = seq,
                                    .failed = error != NULL,
                                    .error = error };

    return ph_checkpoint_report(store, PH_OWN_TX, &result, 1, 0, &t_err);
}

static void done(const struct door *door, ph_store *store, int64_t seq)
{
    OK(try_checkpoint(door, store, "a", "c", seq, NULL));
}

static void wrong(const struct door *door, ph_store *store, int64_t seq, const char *error)
{
    OK(try_checkpoint(door, store, "a", "c", seq, error));
}

/* "2+1 lag 3": at 2, one ahead, three messages above; with an error " error 4 (why)"; "none". */
static const char *stands(const struct door *door, ph_store *store, const char *consumer)
{
    static char text[1000];
    ph_checkpoints *list = NULL;

    OK(ph_checkpoint_list(
        store, PH_OWN_TX,
        T_OPTS(ph_checkpoint_list_opts, .door = door->number, .stream = "a", .consumer = consumer),
        0, &list, &t_err));
    CHECK(ph_checkpoints_count(list) <= 1);
    snprintf(text, sizeof(text), "none");
    if (ph_checkpoints_count(list) == 1) {
        const ph_checkpoint_info *info = ph_checkpoints_at(list, 0);

        CHECK_STR(info->consumer, consumer);
        snprintf(text, sizeof(text), "%lld+%lld lag %lld", (long long)info->seq,
                 (long long)info->ahead, (long long)info->lag);
        if (info->error || info->error_seq)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), " error %lld (%s)",
                     (long long)info->error_seq, info->error ? info->error : "");
    }
    ph_checkpoints_free(list);
    return text;
}

/* Scenario 44: "A checkpoint stays below a gap, moves to the end when the gap closes, and an old
 * completion never moves it back." */
LANE_TEST(a_checkpoint_stays_below_a_gap)
{
    ph_store *store = open_at_epoch();

    fill(door, store, "a1 a2 a3 a4 a5 a6 a7");
    CHECK_STR(stands(door, store, "c"), "none");
    done(door, store, 1);
    REQ_STR("CKP-001", stands(door, store, "c"), "1+0 lag 6");
    done(door, store, 3);
    REQ_STR("CKP-001", stands(door, store, "c"), "1+1 lag 6");
    done(door, store, 6);
    done(door, store, 4);
    done(door, store, 4);
    REQ_STR("CKP-001", stands(door, store, "c"), "1+3 lag 6");
    done(door, store, 2); /* closes the first gap */
    REQ_STR("CKP-001", stands(door, store, "c"), "4+1 lag 3");
    done(door, store, 1);
    done(door, store, 3);
    done(door, store, 4);
    REQ_STR("CKP-001", stands(door, store, "c"), "4+1 lag 3");
    done(door, store, 5);
    REQ_STR("CKP-001", stands(door, store, "c"), "6+0 lag 1");
    done(door, store, 7);
    REQ_STR("CKP-001", stands(door, store, "c"), "7+0 lag 0");
    all_is_well(store);
}

/* The state of the messages does not matter: a consumer follows a stream by itself. */
TEST(a_checkpoint_and_the_settling_of_messages_are_apart)
{
    ph_store *store = open_at_epoch();

    fill(&outbox_door, store, "a1 a2 a3");
    done(&outbox_door, store, 1);
    done(&outbox_door, store, 2);
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=ready a2=parked a3=parked");
    CHECK_STR(worked(&outbox_door, store, ph_owner_new(), 50), "a1 a2 a3");
    CHECK_STR(stands(&outbox_door, store, "c"), "2+0 lag 1");
    all_is_well(store);
}

/* "Messages that retention has deleted are no gap." */
LANE_TEST(messages_that_retention_has_deleted_are_no_gap)
{
    ph_store *store = open_at_epoch();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();

    settings.retention_s = 10;
    set_door_queue(door, store, &settings);
    fill(door, store, "a1 a2 a3 a4 a5 a6");
    done(door, store, 1);
    CHECK_STR(worked(door, store, owner, 3), "a1 a2 a3");
    t_clock_advance(store, 10 * T_SECOND);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    CHECK_STR(numbers(door, store, "a"), "4 5 6");
    done(door, store, 5);
    REQ_STR("CKP-001", stands(door, store, "c"), "1+1 lag 3"); /* 4 is a gap */
    done(door, store, 4);
    REQ_STR("CKP-001", stands(door, store, "c"), "5+0 lag 1"); /* 2 and 3 are none */
    all_is_well(store);
}

/* Several of one call, in order; "all or none". */
TEST(results_of_consumers_are_taken_in_order_all_or_none)
{
    ph_store *store = open_at_epoch();
    ph_checkpoint_result r[4] = {
        { PH_OUTBOX, NULL, "a", "c", 2, false, NULL },
        { PH_OUTBOX, NULL, "a", "c", 1, true, "no" },
        { PH_OUTBOX, NULL, "a", "c", 1, false, NULL },
        { PH_OUTBOX, "", "a", "d", 3, false, NULL },
    };

    fill(&outbox_door, store, "a1 a2 a3");
    OK(ph_checkpoint_report(store, PH_OWN_TX, r, 4, 0, &t_err));
    CHECK_STR(stands(&outbox_door, store, "c"), "2+0 lag 1");
    CHECK_STR(stands(&outbox_door, store, "d"), "0+1 lag 3");
    r[0].seq = 3;
    r[2].seq = 4;
    CHECK_INT(ph_checkpoint_report(store, PH_OWN_TX, r, 4, 0, &t_err), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, "result 2: seq lies above") != NULL);
    CHECK_STR(stands(&outbox_door, store, "c"), "2+0 lag 1");
    all_is_well(store);
}

/* Consumers of one stream, streams of one name in other queues: each for itself. */
TEST(checkpoints_are_apart)
{
    ph_store *store = open_at_epoch();
    ph_checkpoints *list = NULL;
    ph_checkpoint_result r = { PH_OUTBOX, "ns", "a", "c", 1, false, NULL };

    fill(&outbox_door, store, "a1 a2 b1");
    fill(&inbox_door, store, "a1 a2");
    fill_in(&outbox_door, store, "ns", "a1 a2");
    OK(try_checkpoint(&outbox_door, store, "a", "z", 1, NULL));
    OK(try_checkpoint(&outbox_door, store, "a", "C", 2, NULL));
    OK(try_checkpoint(&outbox_door, store, "a", "c", 1, NULL));
    OK(try_checkpoint(&inbox_door, store, "a", "c", 2, NULL));
    OK(try_checkpoint(&outbox_door, store, "b", "c", 1, NULL));
    OK(ph_checkpoint_report(store, PH_OWN_TX, &r, 1, 0, &t_err));
    CHECK_STR(stands(&outbox_door, store, "c"), "1+0 lag 1");
    CHECK_STR(stands(&outbox_door, store, "C"), "0+1 lag 2");
    CHECK_STR(stands(&inbox_door, store, "c"), "0+1 lag 2");
    OK(ph_checkpoint_list(store, PH_OWN_TX,
                          T_OPTS(ph_checkpoint_list_opts, .ns = "", .stream = "a"), 0, &list,
                          &t_err));
    CHECK_INT(ph_checkpoints_count(list), 3); /* "by consumer" */
    CHECK_STR(ph_checkpoints_at(list, 0)->consumer, "C");
    CHECK_STR(ph_checkpoints_at(list, 1)->consumer, "c");
    CHECK_STR(ph_checkpoints_at(list, 2)->consumer, "z");
    CHECK_INT(ph_checkpoints_at(list, 2)->updated_at, T_EPOCH);
    CHECK_INT(ph_checkpoints_at(list, 2)->rewound_at, 0);
    CHECK(ph_checkpoints_at(list, 3) == NULL);
    ph_checkpoints_free(list);
    OK(ph_checkpoint_list(store, PH_OWN_TX,
                          T_OPTS(ph_checkpoint_list_opts, .ns = "", .stream = "none"), 0, &list,
                          &t_err));
    CHECK_INT(ph_checkpoints_count(list), 0);
    ph_checkpoints_free(list);
    all_is_well(store);
}

/* "Fail: error, error_seq, error_at are kept, if seq is above the checkpoint; a completion that moves
 * the checkpoint to or beyond error_seq, or is of it, clears them." */
LANE_TEST(a_failure_is_recorded_and_moves_nothing)
{
    ph_store *store = open_at_epoch();
    ph_checkpoints *list = NULL;

    fill(door, store, "a1 a2 a3 a4 a5");
    t_clock_advance(store, T_SECOND);
    wrong(door, store, 2, "why");
    REQ_STR("CKP-002", stands(door, store, "c"), "0+0 lag 5 error 2 (why)");
    OK(ph_checkpoint_list(
        store, PH_OWN_TX,
        T_OPTS(ph_checkpoint_list_opts, .door = door->number, .stream = "a", .consumer = "c"), 0,
        &list, &t_err));
    CHECK_INT(ph_checkpoints_at(list, 0)->error_at, T_EPOCH + T_SECOND);
    ph_checkpoints_free(list);
    done(door, store, 1);
    REQ_STR("CKP-002", stands(door, store, "c"), "1+0 lag 4 error 2 (why)");
    done(door, store, 2); /* of that very message */
    REQ_STR("CKP-002", stands(door, store, "c"), "2+0 lag 3");
    wrong(door, store, 1, "late");
    wrong(door, store, 2, "late");
    REQ_STR("CKP-002", stands(door, store, "c"), "2+0 lag 3"); /* not above the checkpoint */
    wrong(door, store, 4, "four");
    done(door, store, 4); /* above a gap, but of it */
    REQ_STR("CKP-002", stands(door, store, "c"), "2+1 lag 3");
    wrong(door, store, 3, "three");
    wrong(door, store, 5, "five"); /* the last one is kept */
    REQ_STR("CKP-002", stands(door, store, "c"), "2+1 lag 3 error 5 (five)");
    done(door, store, 3);
    CHECK_STR(stands(door, store, "c"), "4+0 lag 1 error 5 (five)");
    done(door, store, 5);
    CHECK_STR(stands(door, store, "c"), "5+0 lag 0");
    all_is_well(store);
}

/* A completion that moves the checkpoint beyond a failure clears it. */
TEST(a_failure_that_was_passed_is_forgotten)
{
    ph_store *store = open_at_epoch();

    fill(&outbox_door, store, "a1 a2 a3");
    done(&outbox_door, store, 2);
    wrong(&outbox_door, store, 2, "after all"); /* completed ahead, then said to have failed */
    done(&outbox_door, store, 1);
    REQ_STR("CKP-002", stands(&outbox_door, store, "c"), "2+0 lag 1");
    OK(try_checkpoint(&outbox_door, store, "a", "c", 3, ""));
    CHECK(strncmp(stands(&outbox_door, store, "c"), "2+0 lag 1 error 3", 17) == 0);
}

/* "Rewind: seq as given, nothing ahead, no error, rewound_at = T." */
LANE_TEST(a_checkpoint_is_set_back_on_purpose_only)
{
    ph_store *store = open_at_epoch();
    ph_checkpoints *list = NULL;
    int64_t old = -1;

    fill(door, store, "a1 a2 a3 a4 a5");
    for (int i = 1; i <= 3; i++)
        done(door, store, i);
    done(door, store, 5);
    wrong(door, store, 4, "why");
    t_clock_advance(store, T_SECOND);
    OK(ph_checkpoint_rewind(store, PH_OWN_TX, door->number, NULL, "a", "c", 1, 0, &old, &t_err));
    REQ_INT("CKP-003", old, 3);
    REQ_STR("CKP-003", stands(door, store, "c"), "1+0 lag 4");
    OK(ph_checkpoint_list(
        store, PH_OWN_TX,
        T_OPTS(ph_checkpoint_list_opts, .door = door->number, .stream = "a", .consumer = "c"), 0,
        &list, &t_err));
    CHECK_INT(ph_checkpoints_at(list, 0)->rewound_at, T_EPOCH + T_SECOND);
    CHECK_INT(ph_checkpoints_at(list, 0)->updated_at, T_EPOCH + T_SECOND);
    ph_checkpoints_free(list);
    done(door, store, 2);
    CHECK_STR(stands(door, store, "c"), "2+0 lag 3"); /* 3 is to be handled once more */
    OK(ph_checkpoint_rewind(store, PH_OWN_TX, door->number, "", "a", "c", 4, 0, NULL, &t_err));
    CHECK_STR(stands(door, store, "c"), "4+0 lag 1"); /* "or, on purpose, ahead" */
    OK(ph_checkpoint_rewind(store, PH_OWN_TX, door->number, NULL, "a", "c", 0, 0, &old, &t_err));
    CHECK_INT(old, 4);
    CHECK_STR(stands(door, store, "c"), "0+0 lag 5");
    OK(ph_checkpoint_rewind(store, PH_OWN_TX, door->number, NULL, "a", "new", 2, 0, &old, &t_err));
    CHECK_INT(old, 0); /* one that has never reported begins at 0 */
    CHECK_STR(stands(door, store, "new"), "2+0 lag 3");
    CHECK_INT(
        ph_checkpoint_rewind(store, PH_OWN_TX, door->number, NULL, "a", "c", 6, 0, NULL, &t_err),
        PH_ENOTFOUND);
    CHECK_INT(
        ph_checkpoint_rewind(store, PH_OWN_TX, door->number, NULL, "b", "c", 0, 0, NULL, &t_err),
        PH_ENOTFOUND);
    all_is_well(store);
}

/* "Says so in the log". */
TEST(a_rewind_is_logged)
{
    ph_store *store = open_logging(PH_LOG_WARN);
    const struct line *line;

    fill(&outbox_door, store, "a1 a2");
    done(&outbox_door, store, 1);
    CHECK(newest("checkpoint") == NULL);
    OK(ph_checkpoint_rewind(store, PH_OWN_TX, PH_OUTBOX, NULL, "a", "c", 0, 0, NULL, &t_err));
    line = newest("checkpoint");
    REQ("CKP-003", line != NULL);
    CHECK_STR(field(line, "stream"), "a");
    CHECK_STR(field(line, "consumer"), "c");
    CHECK_STR(field(line, "from"), "1");
    CHECK_STR(field(line, "to"), "0");
}

/* "reading a stream from a checkpoint in order": the loop of a consumer. */
LANE_TEST(a_consumer_reads_on_from_its_checkpoint)
{
    ph_store *store = open_at_epoch();
    ph_checkpoints *at = NULL;
    ph_messages *list = NULL;
    int64_t after = 0;
    int handled = 0;

    fill(door, store, "a1 a2 a3 a4 a5 a6 a7");
    for (;;) {
        OK(ph_checkpoint_list(
            store, PH_OWN_TX,
            T_OPTS(ph_checkpoint_list_opts, .door = door->number, .stream = "a", .consumer = "c"),
            0, &at, &t_err));
        after = ph_checkpoints_count(at) ? ph_checkpoints_at(at, 0)->seq : 0;
        ph_checkpoints_free(at);
        OK(ph_stream_read(store, PH_OWN_TX, door->number, NULL, "a", after, 3, 0, &list, &t_err));
        if (ph_messages_count(list) == 0)
            break;
        for (size_t i = 0; i < ph_messages_count(list); i++) {
            CHECK_INT(ph_messages_at(list, i)->message->seq, ++handled);
            done(door, store, handled);
        }
        ph_messages_free(list);
    }
    ph_messages_free(list);
    REQ_INT("CKP-004", handled, 7);
    CHECK_STR(stands(door, store, "c"), "7+0 lag 0");
    all_is_well(store);
}

/* "PH_ESTATE (more than PH_CHECKPOINT_AHEAD_MAX gaps)" */
TEST(a_checkpoint_remembers_a_thousand_gaps)
{
    enum { LAST = 2 * PH_CHECKPOINT_AHEAD_MAX + 4 };
    ph_store *store = open_at_epoch();
    ph_message *m = calloc(LAST, sizeof(*m));
    ph_checkpoint_result *r = calloc(PH_CHECKPOINT_AHEAD_MAX, sizeof(*r));

    for (int i = 0; i < LAST; i++)
        m[i] = in_stream("a", "x");
    OK(ph_enqueue_many(store, PH_OWN_TX, m, LAST, 0, NULL, &t_err));
    for (int i = 0; i < PH_CHECKPOINT_AHEAD_MAX; i++)
        r[i] = (ph_checkpoint_result){ PH_OUTBOX, NULL, "a", "c", 2 * (int64_t)i + 2, false, NULL };
    OK(ph_checkpoint_report(store, PH_OWN_TX, r, PH_CHECKPOINT_AHEAD_MAX, 0, &t_err));
    CHECK_STR(stands(&outbox_door, store, "c"), "0+1000 lag 2004");
    CHECK_INT(try_checkpoint(&outbox_door, store, "a", "c", LAST - 1, NULL), PH_ESTATE);
    CHECK(strstr(t_err.message, "gaps") != NULL);
    CHECK_STR(stands(&outbox_door, store, "c"), "0+1000 lag 2004");
    done(&outbox_door, store, 1); /* one gap less */
    CHECK_STR(stands(&outbox_door, store, "c"), "2+999 lag 2002");
    OK(try_checkpoint(&outbox_door, store, "a", "c", LAST - 1, NULL));
    done(&outbox_door, store, LAST); /* joins a range: no further gap */
    CHECK_STR(stands(&outbox_door, store, "c"), "2+1001 lag 2002");
    free(m);
    free(r);
}

TEST(reports_of_consumers_can_be_rolled_back)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_checkpoint_result r = { PH_OUTBOX, NULL, "a", "c", 1, false, NULL };

    fill(&outbox_door, store, "a1 a2");
    CHECK_INT(ph_checkpoint_report(store, t_tx(conn), &r, 1, 0, &t_err), PH_ENOTX);
    t_begin(conn);
    OK(ph_checkpoint_report(store, t_tx(conn), &r, 1, 0, &t_err));
    OK(ph_checkpoint_rewind(store, t_tx(conn), PH_OUTBOX, NULL, "a", "d", 1, 0, NULL, &t_err));
    t_rollback(conn);
    CHECK_STR(stands(&outbox_door, store, "c"), "none");
    CHECK_STR(stands(&outbox_door, store, "d"), "none");
    t_disconnect(conn);
    all_is_well(store);
}

TEST(bad_results_of_consumers_are_refused)
{
    ph_store *store = t_open(NULL);
    ph_checkpoint_result r;
    ph_checkpoints *list = NULL;

    fill(&outbox_door, store, "a1");
#define REFUSED(member, value, status, text)                                                       \
    do {                                                                                           \
        r = (ph_checkpoint_result){ PH_OUTBOX, NULL, "a", "c", 1, false, NULL };                   \
        r.member = (value);                                                                        \
        CHECK_INT(ph_checkpoint_report(store, PH_OWN_TX, &r, 1, 0, &t_err), status);               \
        if (!strstr(t_err.message, text))                                                          \
            printf("%s\n", t_err.message);                                                         \
        CHECK(strstr(t_err.message, text) != NULL);                                                \
    } while (0)
    REFUSED(door, PH_TIMERS, PH_EINVAL, "only outbox and inbox have streams");
    REFUSED(ns, "\xff", PH_EINVAL, "namespace");
    REFUSED(stream, NULL, PH_EINVAL, "stream is NULL");
    REFUSED(stream, "", PH_EINVAL, "stream is empty");
    REFUSED(consumer, NULL, PH_EINVAL, "consumer is NULL");
    REFUSED(consumer, "", PH_EINVAL, "consumer is empty");
    REFUSED(consumer, repeated("x", PH_NAME_MAX + 1), PH_EINVAL, "consumer");
    REFUSED(seq, 0, PH_EINVAL, "seq is 0; they begin with 1");
    REFUSED(seq, -1, PH_EINVAL, "seq is -1");
    REFUSED(seq, 2, PH_ENOTFOUND, "seq lies above the stream's last message");
    REFUSED(stream, "b", PH_ENOTFOUND, "there is no such stream");
    REFUSED(ns, "ns", PH_ENOTFOUND, "there is no such stream");
    REFUSED(door, PH_INBOX, PH_ENOTFOUND, "there is no such stream");
#undef REFUSED
    r = (ph_checkpoint_result){ PH_OUTBOX, NULL, "a", "c", 1, false, NULL };
    CHECK_INT(ph_checkpoint_report(store, PH_OWN_TX, NULL, 1, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_checkpoint_report(store, PH_OWN_TX, &r, 0, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_checkpoint_report(store, PH_OWN_TX, &r, PH_BATCH_MAX + 1, 0, &t_err), PH_EINVAL);
    CHECK_INT(
        ph_checkpoint_rewind(store, PH_OWN_TX, PH_OUTBOX, NULL, "a", "c", -1, 0, NULL, &t_err),
        PH_EINVAL);
    CHECK_INT(ph_checkpoint_rewind(store, PH_OWN_TX, PH_OUTBOX, NULL, "a", "", 0, 0, NULL, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_checkpoint_rewind(store, PH_OWN_TX, PH_TIMERS, NULL, "a", "c", 0, 0, NULL, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_checkpoint_list(store, PH_OWN_TX, T_OPTS(ph_checkpoint_list_opts, .stream = ""), 0,
                                 &list, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_checkpoint_list(store, PH_OWN_TX,
                                 T_OPTS(ph_checkpoint_list_opts, .stream = "a", .consumer = ""), 0,
                                 &list, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_checkpoint_list(store, PH_OWN_TX, T_OPTS(ph_checkpoint_list_opts, .stream = "a"),
                                 0, NULL, &t_err),
              PH_EINVAL);
    CHECK(list == NULL);
    CHECK_STR(stands(&outbox_door, store, "c"), "none");
    ph_checkpoints_free(NULL);
    CHECK_INT(ph_checkpoints_count(NULL), 0);
}
