/* retention_test.c - a dispatcher deletes what was settled long ago, and finds the time for it. */
#include "rig.h"

#define MANY 20000

/* Leaves settled messages behind whose retention is over. */
static void open_with_old(struct rig *rig)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_batch *batch;

    rig_open(rig);
    settings.retention_s = 3600;
    OK(ph_outbox_queue_set(rig->side, PH_OWN_TX, "", &settings, 0, &t_err));
    t_clock_set(rig->side, T_EPOCH);
    put_many(rig->side, "t", 5, NULL);
    OK(ph_outbox_claim(rig->side, PH_OWN_TX, owner, NULL, 0, &batch, &t_err));
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        ph_lease_ref lease = ph_lease_ref_of(ph_batch_at(batch, i));

        OK(ph_outbox_ack(rig->side, PH_OWN_TX, owner, &lease, 1, 0, NULL, &t_err));
    }
    ph_batch_free(batch);
    t_clock_advance(rig->side, INT64_C(7200) * 1000000);
    CHECK_INT(t_number(rig->conn, "SELECT count(*) FROM {t}message"), 5);
}

TEST(old_messages_are_deleted_when_idle)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_with_old(&rig);
    rig.opts.retention_ms = 50;
    rig_run(&rig, "t", play, &part);
    AWAIT(t_number(rig.conn, "SELECT count(*) FROM {t}message") == 0);
    rig_put(&rig, "t");
    rig_drain(&rig);
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}message"), 1); /* it is not old */
    rig_end(&rig);
}

TEST(old_messages_are_deleted_also_when_there_is_always_work)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    const char *old = "SELECT count(*) FROM {t}message m WHERE m.topic = 't'";
    struct rig rig;

    open_with_old(&rig);
    for (int i = 0; i < MANY / 1000; i++)
        put_many(rig.side, "busy", 1000, NULL);
    rig.opts.retention_ms = 10;
    rig_run(&rig, "busy", play, &part);
    AWAIT(t_number(rig.conn, old) == 0);
    CHECK_INT(rig_stats(&rig).empty_claims, 0);
    rig_end(&rig);
}

TEST(retention_can_be_left_to_others)
{
    static struct part part = { .verdict = PH_VERDICT_DONE };
    struct rig rig;

    open_with_old(&rig);
    rig.opts.retention_ms = -1;
    rig_run(&rig, "t", play, &part);
    for (int i = 0; i < 150; i++)
        nap();
    CHECK_INT(t_number(rig.conn, "SELECT count(*) FROM {t}message"), 5);
    rig_end(&rig);
}
