/* work_batch_test.c - ph_process_work_batch: everything of one exchange, in one transaction, in a
 * fixed order (coordination.h; docs/states.md, Work batch). Heartbeats are in instance_test.c,
 * affinity in affinity_test.c. */
#include "joins.h"
#include "lanes.h"

#include <stdlib.h>

/* Settlements of deliveries, for a part of a call. */
static ph_settlement settle_of(const ph_batch *batch, const char *payload, ph_settle_verb verb)
{
    ph_settlement item = { .verb = verb, .error = "why" };

    item.lease = ph_lease_ref_of(delivered(batch, payload));
    return item;
}

static ph_inbox_message letter(const char *id, const char *stream)
{
    ph_inbox_message m = PH_INBOX_MESSAGE_INIT;

    m.source = "elsewhere";
    m.source_id = id;
    m.topic = TOPIC;
    m.payload = id;
    m.stream = stream;
    return m;
}

/* All parts at once: each with its answer. */
TEST(everything_happens_in_one_call)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_claim(id, 3);
    ph_work_batch *first, *second;
    ph_settlement out[2], in[1];
    ph_message new_out[2];
    ph_inbox_message new_in[2];
    ph_lease_ref renew_out[1], renew_in[1];
    ph_receptor_result receptor = { .receptor = "r" };
    ph_checkpoint_result checkpoint = { PH_OUTBOX, NULL, "a", "c", 1, false, NULL };

    fill(&outbox_door, store, "a1 -x -y");
    fill(&inbox_door, store, "i1 i2 -z");
    first = work(store, &opts);
    CHECK_STR(payloads(first->outbox), "a1 -x -y");
    CHECK_STR(payloads(first->inbox), "i1 i2 -z");
    t_clock_advance(store, 10 * T_SECOND);
    out[0] = settle_of(first->outbox, "a1", PH_ACK);
    out[1] = settle_of(first->outbox, "-x", PH_ABANDON);
    in[0] = settle_of(first->inbox, "i1", PH_FAIL);
    renew_out[0] = ph_lease_ref_of(delivered(first->outbox, "-y"));
    renew_in[0] = ph_lease_ref_of(delivered(first->inbox, "-z"));
    receptor.work_id = delivered(first->outbox, "a1")->work_id;
    new_out[0] = in_stream("a", "a2");
    new_out[1] = a_message(TOPIC, "-n");
    new_in[0] = letter("i9", "i");
    new_in[1] = letter("i2", "i"); /* there already */
    opts.outbox = out;
    opts.outbox_count = 2;
    opts.inbox = in;
    opts.inbox_count = 1;
    opts.receptors = &receptor;
    opts.receptor_count = 1;
    opts.checkpoints = &checkpoint;
    opts.checkpoint_count = 1;
    opts.new_outbox = new_out;
    opts.new_outbox_count = 2;
    opts.new_inbox = new_in;
    opts.new_inbox_count = 2;
    opts.renew_outbox = renew_out;
    opts.renew_outbox_count = 1;
    opts.renew_inbox = renew_in;
    opts.renew_inbox_count = 1;
    opts.batch_size = 10;
    opts.instance_lease_s = 100;
    second = work(store, &opts);
    REQ_INT("BAT-001", second->outbox_outcomes[0], PH_OUTCOME_ACKED);
    REQ_INT("BAT-001", second->outbox_outcomes[1], PH_OUTCOME_ABANDONED);
    REQ_INT("BAT-001", second->inbox_outcomes[0], PH_OUTCOME_FAILED);
    REQ_INT("BAT-001", second->renew_outbox_outcomes[0], PH_OUTCOME_RENEWED);
    REQ_INT("BAT-001", second->renew_inbox_outcomes[0], PH_OUTCOME_RENEWED);
    REQ("BAT-001", second->new_outbox[0].is_new && second->new_outbox[1].is_new);
    REQ("BAT-001", second->new_inbox[0].is_new && !second->new_inbox[1].is_new);
    CHECK(same_id(second->new_outbox[0].work_id.b, named(&outbox_door, store, "a2").b));
    CHECK(!second->registered);
    CHECK_INT(second->evicted, 0);
    CHECK_INT(see_named(&outbox_door, store, "-y").locked_until, T_EPOCH + 300 * T_SECOND);
    CHECK_INT(see_by(ph_outbox_find, store, named(&outbox_door, store, "a2")).locked_until,
              T_EPOCH + 110 * T_SECOND);
    CHECK_INT(ph_batch_count(second->outbox), 3); /* -x, again; a2 and -n, new */
    CHECK_INT(ph_batch_count(second->inbox), 2);  /* i2 and i9 follow the dead i1 */
    CHECK_INT(delivered(second->outbox, "a2")->flags, PH_WORK_NEW);
    CHECK_INT(delivered(second->outbox, "-n")->flags, PH_WORK_NEW);
    CHECK_INT(delivered(second->outbox, "-x")->flags, PH_WORK_RETRY);
    CHECK_INT(delivered(second->inbox, "i9")->flags, PH_WORK_NEW);
    CHECK_INT(delivered(second->inbox, "i2")->flags, 0);
    ph_work_batch_free(first);
    ph_work_batch_free(second);
    all_is_well(store);
}

/* Scenario 1: an idle call gives empty batches, and an empty call is fine. */
TEST(a_call_with_nothing_to_do_is_fine)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_claim(id, 0);
    ph_work_batch *batch = work(store, &opts);

    REQ_INT("BAT-002", ph_batch_count(batch->outbox), 0);
    REQ_INT("BAT-002", ph_batch_count(batch->inbox), 0);
    ph_work_batch_free(batch);
    opts = a_call(id);
    batch = work(store, &opts); /* the heart alone */
    REQ_INT("BAT-002", ph_batch_count(batch->outbox), 0);
    ph_work_batch_free(batch);
    ph_work_batch_free(NULL);
}

/* "An idle call writes nothing." */
TEST(an_idle_call_writes_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 0);
    const char *marker = t_is_pg() ? "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
                                   : "PRAGMA data_version";
    long long before;

    fill(&outbox_door, store, "-x a1"); /* queues and a stream that are worked off */
    fill(&inbox_door, store, "-y");
    work_only(store, &opts);
    ph_batch_free(t_claim(store, ph_owner_new(), 10));
    work_only(store, &opts);
    before = t_number(conn, marker);
    for (int i = 0; i < 5; i++)
        work_only(store, &opts);
    if (t_is_pg()) { /* other tests of this server take numbers, too: so ask who has one */
        t_begin(conn);
        for (int i = 0; i < 3; i++) {
            ph_work_batch *batch = NULL;

            OK(ph_process_work_batch(store, t_tx(conn), &opts, 0, &batch, &t_err));
            ph_work_batch_free(batch);
        }
        REQ_STR("BAT-002", t_value(conn, "SELECT pg_current_xact_id_if_assigned()"), "");
        t_rollback(conn);
    } else {
        REQ_INT("BAT-002", t_number(conn, marker), before);
    }
}

/* "A part that is wrong in itself (bad JSON, no such stream) fails the whole call, and nothing is
 * done." */
TEST(one_wrong_part_and_nothing_is_done)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new(), never = ph_owner_new();
    ph_work_batch_opts opts = a_claim(id, 10);
    ph_settlement out;
    ph_message m = in_stream("b", "b1");
    ph_receptor_result receptor = { .receptor = "r" };
    ph_checkpoint_result checkpoint = { PH_OUTBOX, NULL, "a", "c", 1, false, NULL };
    ph_work_batch *batch;

    fill(&outbox_door, store, "a1 a2");
    batch = work(store, &opts);
    out = settle_of(batch->outbox, "a1", PH_ACK);
    receptor.work_id = out.lease.work_id;
    opts.outbox = &out;
    opts.outbox_count = 1;
    opts.new_outbox = &m;
    opts.new_outbox_count = 1;
    opts.receptors = &receptor;
    opts.receptor_count = 1;
    opts.checkpoints = &checkpoint;
    opts.checkpoint_count = 1;
    checkpoint.seq = 3; /* found by the backend, after the settlements */
    REQ_INT("BAT-003", try_work(store, &opts), PH_ENOTFOUND);
    checkpoint.seq = 1;
    memset(receptor.work_id.b, 0x11, 16);
    REQ_INT("BAT-003", try_work(store, &opts), PH_ENOTFOUND);
    receptor.work_id = out.lease.work_id;
    m.headers = "[1]";
    REQ_INT("BAT-003", try_work(store, &opts), PH_EINVAL);
    m.headers = NULL;
    m.payload = repeated("x", 1024 * 1024 + 1); /* above the queue's limit */
    REQ_INT("BAT-003", try_work(store, &opts), PH_EINVAL);
    opts.instance_id = never; /* not even registered */
    REQ_INT("BAT-003", try_work(store, &opts), PH_EINVAL);
    CHECK(!see_instance(store, never).there);
    opts.instance_id = id;
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=leased a2=leased");
    CHECK(!see_lane(&outbox_door, store, "b").there);
    {
        ph_receptors *receptors = NULL;
        ph_checkpoints *checkpoints = NULL;

        OK(ph_receptor_list(store, PH_OWN_TX,
                            T_OPTS(ph_receptor_list_opts, .work_id = out.lease.work_id), 0,
                            &receptors, &t_err));
        CHECK_INT(ph_receptors_count(receptors), 0);
        ph_receptors_free(receptors);
        OK(ph_checkpoint_list(store, PH_OWN_TX, T_OPTS(ph_checkpoint_list_opts, .stream = "a"), 0,
                              &checkpoints, &t_err));
        CHECK_INT(ph_checkpoints_count(checkpoints), 0);
        ph_checkpoints_free(checkpoints);
    }
    m.payload = "b1"; /* and the same call without the mistake does it all */
    work_only(store, &opts);
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=done a2=leased");
    CHECK_STR(lane(&outbox_door, store, "b"), "b1=leased");
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* "Own leases only: another's item is PH_OUTCOME_STALE, and disturbs nothing." */
TEST(own_leases_only)
{
    ph_store *store = open_at_epoch();
    ph_owner a = ph_owner_new(), b = ph_owner_new();
    ph_work_batch_opts opts = a_claim(a, 10);
    ph_work_batch *theirs, *batch;
    ph_settlement out[3] = { 0 };
    ph_lease_ref renew[3] = { 0 };

    fill(&outbox_door, store, "-x");
    theirs = work(store, &opts);
    fill(&outbox_door, store, "-y");
    opts = a_claim(b, 10);
    batch = work(store, &opts);
    out[0] = settle_of(theirs->outbox, "-x", PH_FAIL);
    out[1].verb = PH_ACK;
    out[1].lease.work_id.b[0] = 9; /* unknown */
    out[2] = settle_of(batch->outbox, "-y", PH_ACK);
    renew[0] = out[0].lease;
    renew[1] = out[1].lease;
    ph_work_batch_free(batch);
    opts.outbox = out;
    opts.outbox_count = 3;
    opts.renew_outbox = renew;
    opts.renew_outbox_count = 2;
    batch = work(store, &opts);
    REQ_INT("BAT-004", batch->outbox_outcomes[0], PH_OUTCOME_STALE);
    REQ_INT("BAT-004", batch->outbox_outcomes[1], PH_OUTCOME_UNKNOWN);
    REQ_INT("BAT-004", batch->outbox_outcomes[2], PH_OUTCOME_ACKED);
    REQ_INT("BAT-004", batch->renew_outbox_outcomes[0], PH_OUTCOME_STALE);
    REQ_INT("BAT-004", batch->renew_outbox_outcomes[1], PH_OUTCOME_UNKNOWN);
    CHECK_INT(see_named(&outbox_door, store, "-x").status, PH_IN_PROGRESS);
    /* nor through the other door */
    opts = a_call(a);
    out[0].verb = PH_ACK;
    opts.inbox = out;
    opts.inbox_count = 1;
    ph_work_batch_free(batch);
    batch = work(store, &opts);
    REQ("BAT-004", batch->inbox_outcomes[0] == PH_OUTCOME_STALE ||
                       batch->inbox_outcomes[0] == PH_OUTCOME_UNKNOWN);
    CHECK_INT(see_named(&outbox_door, store, "-x").status, PH_IN_PROGRESS);
    ph_work_batch_free(batch);
    ph_work_batch_free(theirs);
    all_is_well(store);
}

/* The order of parts: receptors, checkpoints, settle, store, renew, claim. */
TEST(the_parts_happen_in_their_order)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_claim(id, 10);
    ph_checkpoint_result checkpoint = { PH_OUTBOX, NULL, "a", "c", 2, false, NULL };
    ph_settlement out;
    ph_message m = in_stream("a", "a2");
    ph_lease_ref renew;
    ph_work_batch *batch;

    fill(&outbox_door, store, "a1");
    batch = work(store, &opts);
    out = settle_of(batch->outbox, "a1", PH_ACK);
    renew = out.lease;
    ph_work_batch_free(batch);
    opts.new_outbox = &m;
    opts.new_outbox_count = 1;
    opts.checkpoints = &checkpoint;
    opts.checkpoint_count = 1;
    REQ_INT("BAT-005", try_work(store, &opts), PH_ENOTFOUND); /* 2 is stored only after it */
    checkpoint.seq = 1;
    opts.outbox = &out; /* settled, and then no longer to be renewed */
    opts.outbox_count = 1;
    opts.renew_outbox = &renew;
    opts.renew_outbox_count = 1;
    batch = work(store, &opts);
    REQ_INT("BAT-005", batch->outbox_outcomes[0], PH_OUTCOME_ACKED);
    REQ_INT("BAT-005", batch->renew_outbox_outcomes[0], PH_OUTCOME_STALE);
    REQ_STR("BAT-005", payloads(batch->outbox),
            "a2"); /* the way is free, and the claim comes last */
    CHECK_INT(ph_batch_at(batch->outbox, 0)->seq, 2);
    CHECK_INT(ph_batch_at(batch->outbox, 0)->flags, PH_WORK_NEW);
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* "receptors, checkpoints (while what they are about is still there), settle": the ack that deletes a
 * message, and with it its stream, comes after what is reported of it. */
TEST(results_come_before_the_settlements_that_may_delete_what_they_are_about)
{
    ph_store *store = open_at_epoch();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 10);
    ph_checkpoint_result checkpoint = { PH_OUTBOX, NULL, "a", "c", 1, false, NULL };
    ph_receptor_result receptor = { .receptor = "r" };
    ph_checkpoints *list = NULL;
    ph_settlement out;
    ph_work_batch *batch;

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    fill(&outbox_door, store, "a1");
    batch = work(store, &opts);
    out = settle_of(batch->outbox, "a1", PH_ACK);
    receptor.work_id = out.lease.work_id;
    ph_work_batch_free(batch);
    opts.outbox = &out;
    opts.outbox_count = 1;
    opts.receptors = &receptor;
    opts.receptor_count = 1;
    opts.checkpoints = &checkpoint;
    opts.checkpoint_count = 1;
    work_only(store, &opts);
    REQ_STR("BAT-005", lane(&outbox_door, store, "a"), "");
    OK(ph_checkpoint_list(store, PH_OWN_TX, T_OPTS(ph_checkpoint_list_opts, .stream = "a"), 0,
                          &list, &t_err));
    REQ_INT("BAT-005", ph_checkpoints_count(list), 1); /* and so the stream stays */
    ph_checkpoints_free(list);
    all_is_well(store);
}

/* "one T for all (PostgreSQL: each part reads the clock, one after the other)" */
TEST(all_of_it_has_one_time)
{
    ph_store *store = t_open(NULL); /* the real clock */
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_claim(id, 10);
    ph_message m = a_message(TOPIC, "-x");
    ph_inbox_message i = letter("-y", NULL);
    ph_work_batch *batch;
    struct seen x, y;
    int64_t started;

    opts.new_outbox = &m;
    opts.new_outbox_count = 1;
    opts.new_inbox = &i;
    opts.new_inbox_count = 1;
    batch = work(store, &opts);
    CHECK_STR(payloads(batch->outbox), "-x");
    CHECK_STR(payloads(batch->inbox), "-y");
    x = see(store, batch->new_outbox[0].work_id);
    y = see_by(ph_inbox_find, store, batch->new_inbox[0].work_id);
    started = see_instance(store, id).started_at;
    if (!t_is_pg()) {
        REQ_INT("BAT-001", x.created_at, started);
        REQ_INT("BAT-001", y.created_at, started);
        REQ_INT("BAT-001", x.locked_until, started + 300 * T_SECOND);
        REQ_INT("BAT-001", y.locked_until, started + 300 * T_SECOND);
    }
    REQ("BAT-001", x.created_at >= started && y.created_at >= x.created_at);
    REQ("BAT-001", x.locked_until >= y.created_at + 300 * T_SECOND);
    REQ("BAT-001", y.locked_until >= x.locked_until);
    ph_work_batch_free(batch);
}

/* --------------------------------------------------------------------------- flags */

/* Flags out: 1 stored in this call, 2 its worker was lost, 4 it was abandoned before. */
TEST(a_delivery_says_whether_it_is_new_an_orphan_or_a_retry)
{
    ph_store *store = open_at_epoch();
    ph_owner dead = ph_owner_new(), id = ph_owner_new();
    ph_work_batch_opts opts = a_claim(dead, 10);
    ph_settlement out[2];
    ph_work_batch *batch;

    fill(&outbox_door, store, "a1 a2 -x");
    fill(&inbox_door, store, "-i");
    batch = work(store, &opts);
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(ph_batch_at(batch->outbox, i)->flags, 0); /* stored before */
    CHECK_INT(ph_batch_at(batch->inbox, 0)->flags, 0);
    out[0] = settle_of(batch->outbox, "-x", PH_ABANDON);
    ph_work_batch_free(batch);
    opts.outbox = out;
    opts.outbox_count = 1;
    batch = work(store, &opts);
    REQ_STR("BAT-006", payloads(batch->outbox), "-x");
    REQ_INT("BAT-006", ph_batch_at(batch->outbox, 0)->flags, PH_WORK_RETRY);
    CHECK_INT(ph_batch_at(batch->outbox, 0)->retry_count, 1);
    ph_work_batch_free(batch);
    t_clock_advance(store, 601 * T_SECOND); /* gone, and removed by the next one's call */
    opts = a_claim(id, 10);
    batch = work(store, &opts);
    CHECK_INT(batch->evicted, 1);
    REQ_STR("BAT-006", payloads(batch->outbox), "a1 a2 -x"); /* the specification's picture */
    REQ_INT("BAT-006", ph_batch_at(batch->outbox, 0)->flags, PH_WORK_ORPHAN);
    REQ_INT("BAT-006", ph_batch_at(batch->outbox, 1)->flags, PH_WORK_ORPHAN);
    REQ_INT("BAT-006", ph_batch_at(batch->outbox, 2)->flags, PH_WORK_ORPHAN | PH_WORK_RETRY);
    REQ_INT("BAT-006", ph_batch_at(batch->inbox, 0)->flags, PH_WORK_ORPHAN);
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* Flags in: 2 and 4, and both. */
TEST(a_call_may_leave_out_a_door)
{
    ph_store *store = open_at_epoch();
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 10);
    ph_work_batch *batch;

    fill(&outbox_door, store, "-x");
    fill(&inbox_door, store, "-y");
    opts.flags = PH_BATCH_NO_OUTBOX | PH_BATCH_NO_INBOX;
    batch = work(store, &opts);
    REQ_INT("BAT-006", ph_batch_count(batch->outbox) + ph_batch_count(batch->inbox), 0);
    ph_work_batch_free(batch);
    opts.flags = PH_BATCH_NO_OUTBOX;
    batch = work(store, &opts);
    REQ_INT("BAT-006", ph_batch_count(batch->outbox), 0);
    REQ_STR("BAT-006", payloads(batch->inbox), "-y");
    ph_work_batch_free(batch);
    fill(&inbox_door, store, "-z");
    opts.flags = PH_BATCH_NO_INBOX;
    batch = work(store, &opts);
    REQ_INT("BAT-006", ph_batch_count(batch->inbox), 0);
    REQ_STR("BAT-006", payloads(batch->outbox), "-x");
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* Flags in: 1, "acked messages stay, also where delete_on_ack is set". */
TEST(a_call_may_keep_what_is_completed)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 10);
    ph_work_batch *batch;

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    set_door_queue(&inbox_door, store, &settings);
    for (int keep = 0; keep < 2; keep++) {
        ph_settlement out[2], in[2];

        fill(&outbox_door, store, "-x a1");
        fill(&inbox_door, store, keep ? "-y i2" : "-z i1");
        opts.outbox_count = opts.inbox_count = 0;
        opts.flags = 0;
        batch = work(store, &opts);
        CHECK_INT(ph_batch_count(batch->outbox) + ph_batch_count(batch->inbox), 4);
        for (size_t i = 0; i < 2; i++) {
            out[i] = settle_of(batch->outbox, ph_batch_at(batch->outbox, i)->payload, PH_ACK);
            in[i] = settle_of(batch->inbox, ph_batch_at(batch->inbox, i)->payload, PH_ACK);
        }
        ph_work_batch_free(batch);
        opts.outbox = out;
        opts.inbox = in;
        opts.outbox_count = opts.inbox_count = 2;
        opts.flags = keep ? PH_BATCH_KEEP_COMPLETED : 0;
        work_only(store, &opts);
        REQ_INT("BAT-006", t_number(conn, "SELECT count(*) FROM {t}message"), keep ? 4 : 0);
    }
    CHECK_STR(lane(&outbox_door, store, "a"), "a1=done");
    CHECK_STR(lane(&inbox_door, store, "i"), "i2=done");
    t_disconnect(conn);
    all_is_well(store);
}

/* ------------------------------------------------------------------------- claims */

/* Namespace, topics, batch size "of each door", lease. */
TEST(what_is_claimed_is_what_was_asked_for)
{
    static const char *const topics[] = { "x", TOPIC };
    ph_store *store = open_at_epoch();
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 2);
    ph_message m = a_message("other", "unwanted");
    ph_work_batch *batch;

    put(store, &m);
    fill(&outbox_door, store, "-1 -2 -3");
    fill(&inbox_door, store, "-1 -2 -3");
    fill_in(&outbox_door, store, "ns", "-4");
    opts.topics = topics;
    opts.topic_count = 2;
    opts.instance_lease_s = 77;
    batch = work(store, &opts);
    CHECK_STR(payloads(batch->outbox), "-1 -2");
    CHECK_STR(payloads(batch->inbox), "-1 -2");
    CHECK_INT(see_named(&inbox_door, store, "-1").locked_until, T_EPOCH + 77 * T_SECOND);
    ph_work_batch_free(batch);
    opts.ns = "ns";
    batch = work(store, &opts);
    CHECK_STR(payloads(batch->outbox), "-4");
    CHECK_INT(ph_batch_count(batch->inbox), 0);
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* Fifty of each door, for 300 seconds, unless said otherwise; and so are renewals. */
TEST(a_claim_of_the_exchange_has_defaults)
{
    ph_store *store = open_at_epoch();
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 0);
    ph_work_batch *batch;
    ph_lease_ref ref;

    CHECK_INT(PH_INSTANCE_LEASE_S, 300);
    put_many(store, TOPIC, 60, NULL);
    batch = work(store, &opts);
    CHECK_INT(ph_batch_count(batch->outbox), 50);
    ref = ph_lease_ref_of(ph_batch_at(batch->outbox, 0));
    ph_work_batch_free(batch);
    CHECK_INT(see(store, ref.work_id).locked_until, T_EPOCH + PH_INSTANCE_LEASE_S * T_SECOND);
    t_clock_advance(store, 10 * T_SECOND);
    opts.renew_outbox = &ref;
    opts.renew_outbox_count = 1;
    work_only(store, &opts);
    CHECK_INT(see(store, ref.work_id).locked_until,
              T_EPOCH + (10 + PH_INSTANCE_LEASE_S) * T_SECOND);
}

/* Paused: nothing is handed out, everything else is done. */
TEST(a_paused_queue_takes_messages_and_settlements_but_hands_out_none)
{
    ph_store *store = open_at_epoch();
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 10);
    ph_message m = in_stream("a", "a2");
    ph_settlement out;
    ph_work_batch *batch;

    fill(&outbox_door, store, "a1");
    batch = work(store, &opts);
    out = settle_of(batch->outbox, "a1", PH_ACK);
    ph_work_batch_free(batch);
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, NULL, 0, &t_err));
    opts.outbox = &out;
    opts.outbox_count = 1;
    opts.new_outbox = &m;
    opts.new_outbox_count = 1;
    batch = work(store, &opts);
    CHECK_INT(batch->outbox_outcomes[0], PH_OUTCOME_ACKED);
    CHECK(batch->new_outbox[0].is_new);
    CHECK_INT(ph_batch_count(batch->outbox), 0);
    ph_work_batch_free(batch);
    OK(ph_outbox_queue_resume(store, PH_OWN_TX, NULL, 0, &t_err));
    CHECK_STR(worked(&outbox_door, store, ph_owner_new(), 10), "a2");
    all_is_well(store);
}

/* Steps of joins are counted, and a join that ends is told. */
static int ended;

static void count_end(void *context, const ph_join_end *join)
{
    (void)context;
    (void)join;
    ended++;
}

TEST(joins_are_counted_by_the_exchange)
{
    ph_store_opts store_opts = PH_STORE_OPTS_INIT;
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 10);
    ph_settlement out[2];
    ph_work_batch *batch;
    ph_store *store;
    ph_join_id join;

    store_opts.join_ended = count_end;
    store = t_open(&store_opts);
    t_clock_set(store, T_EPOCH);
    join = start_join(store, 3);
    for (int i = 0; i < 3; i++) {
        static const char *const words[] = { "a1", "a2", "-x" };
        ph_message m = in_stream(i < 2 ? "a" : NULL, words[i]);

        m.join_id = &join;
        put(store, &m);
    }
    batch = work(store, &opts);
    out[0] = settle_of(batch->outbox, "a1", PH_ACK);
    out[1] = settle_of(batch->outbox, "-x", PH_FAIL);
    opts.outbox = out;
    opts.outbox_count = 2;
    work_only(store, &opts);
    CHECK_STR(standing(store, join), "1+1/3 pending");
    CHECK_INT(ended, 0);
    out[0] = settle_of(batch->outbox, "a2", PH_ACK);
    opts.outbox_count = 1;
    work_only(store, &opts);
    CHECK_STR(standing(store, join), "2+1/3 failed");
    CHECK_INT(ended, 1);
    ph_work_batch_free(batch);
    all_is_well(store);
}

/* ------------------------------------------------------- in the caller's transaction */

TEST(an_exchange_is_part_of_the_callers_transaction)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_claim(id, 10);
    ph_inbox_message i = letter("h", NULL);
    ph_message m = in_stream("a", "a2");
    ph_settlement out;
    ph_work_batch *batch = NULL;

    fill(&outbox_door, store, "a1");
    CHECK_INT(ph_process_work_batch(store, t_tx(conn), &opts, 0, &batch, &t_err), PH_ENOTX);
    batch = work(store, &opts);
    out = settle_of(batch->outbox, "a1", PH_ACK);
    ph_work_batch_free(batch);
    i.handled = true; /* allowed here: the transaction is the caller's */
    opts.outbox = &out;
    opts.outbox_count = 1;
    opts.new_inbox = &i;
    opts.new_inbox_count = 1;
    opts.new_outbox = &m;
    opts.new_outbox_count = 1;
    for (int round = 0; round < 2; round++) {
        t_begin(conn);
        OK(ph_process_work_batch(store, t_tx(conn), &opts, 0, &batch, &t_err));
        CHECK_INT(batch->outbox_outcomes[0], PH_OUTCOME_ACKED);
        CHECK(batch->new_inbox[0].is_new);
        CHECK_STR(payloads(batch->outbox), "a2");
        CHECK_INT(ph_batch_count(batch->inbox), 0); /* handled already */
        ph_work_batch_free(batch);
        if (round == 0)
            t_rollback(conn);
        else
            t_commit(conn);
        REQ_STR("BAT-007", lane(&outbox_door, store, "a"),
                round == 0 ? "a1=leased" : "a1=done a2=leased");
    }
    CHECK_INT(see_named(&inbox_door, store, "h").status, PH_DONE);
    t_disconnect(conn);
    all_is_well(store);
}

/* What the transaction writes, before or after, may be the effect of the message once more. */
TEST(a_repeated_completion_is_acked_in_a_call_of_its_own_only)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_work_batch_opts opts = a_claim(ph_owner_new(), 3);
    ph_message new_out = a_message(TOPIC, "-n");
    ph_settlement out, in;
    ph_work_batch *batch;

    fill(&outbox_door, store, "-x");
    fill(&inbox_door, store, "-i");
    batch = work(store, &opts);
    out = settle_of(batch->outbox, "-x", PH_ACK);
    in = settle_of(batch->inbox, "-i", PH_ACK);
    ph_work_batch_free(batch);
    opts.outbox = &out;
    opts.inbox = &in;
    opts.outbox_count = opts.inbox_count = 1;
    opts.new_outbox = &new_out;
    ph_work_batch_free(work(store, &opts));
    for (int i = 0; i < 4; i++) { /* the plain form, and the one with messages */
        bool own = i % 2 == 0;

        opts.new_outbox_count = i / 2;
        if (!own)
            t_begin(conn);
        OK(ph_process_work_batch(store, own ? PH_OWN_TX : t_tx(conn), &opts, 0, &batch, &t_err));
        if (!own)
            t_rollback(conn);
        CHECK_INT(batch->outbox_outcomes[0], own ? PH_OUTCOME_ACKED : PH_OUTCOME_STALE);
        CHECK_INT(batch->inbox_outcomes[0], own ? PH_OUTCOME_ACKED : PH_OUTCOME_STALE);
        ph_work_batch_free(batch);
    }
    t_disconnect(conn);
}
