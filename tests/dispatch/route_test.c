/* route_test.c - which messages a dispatcher takes, and which handler gets them. */
#include "rig.h"

/* Counts what it gets, and whether all of it had the topic it expects. */
struct clerk {
    const char *topic; /* NULL: any */
    _Atomic int right, wrong;
};

static ph_verdict take_note(void *context, ph_work *work)
{
    struct clerk *clerk = context;

    if (!clerk->topic || strcmp(ph_work_delivery(work)->topic, clerk->topic) == 0)
        clerk->right++;
    else
        clerk->wrong++;
    return PH_VERDICT_DONE;
}

TEST(a_message_goes_to_the_handler_of_its_topic)
{
    static struct clerk orders = { .topic = "order.placed" }, mails = { .topic = "mail" };
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "order.placed", 12, NULL);
    put_many(rig.side, "mail", 7, NULL);
    rig_new(&rig);
    rig_handle(&rig, "order.placed", take_note, &orders);
    rig_handle(&rig, "mail", take_note, &mails);
    rig_start(&rig);
    put_many(rig.side, "mail", 5, NULL);
    rig_drain(&rig);
    REQ_INT("OBX-054", orders.right, 12);
    REQ_INT("OBX-054", mails.right, 12);
    REQ_INT("OBX-054", orders.wrong + mails.wrong, 0);
    CHECK_INT(rig_stats(&rig).done, 24);
    rig_end(&rig);
}

TEST(topics_are_compared_byte_for_byte)
{
    static struct clerk order = { .topic = "order" };
    ph_work_id others[4];
    struct rig rig;

    rig_open(&rig);
    others[0] = rig_put(&rig, "Order");
    others[1] = rig_put(&rig, "order.placed");
    others[2] = rig_put(&rig, "orde");
    others[3] = rig_put(&rig, "order ");
    rig_put(&rig, "order");
    rig_run(&rig, "order", take_note, &order);
    rig_drain(&rig);
    CHECK_INT(order.right, 1);
    CHECK_INT(order.wrong, 0);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(see(rig.side, others[i]).status, PH_READY);
    rig_end(&rig);
}

TEST(the_handler_without_topic_gets_what_has_none_of_its_own)
{
    static struct clerk orders = { .topic = "order" }, rest;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "order", 5, NULL);
    put_many(rig.side, "mail", 4, NULL);
    put_many(rig.side, "parcel", 3, NULL);
    rig_new(&rig);
    rig_handle(&rig, NULL, take_note, &rest);
    rig_handle(&rig, "order", take_note, &orders);
    rig_start(&rig);
    rig_drain(&rig);
    REQ_INT("OBX-054", orders.right, 5);
    REQ_INT("OBX-054", orders.wrong, 0);
    REQ_INT("OBX-054", rest.right, 7);
    CHECK_INT(rig_stats(&rig).no_handler, 0);
    rig_end(&rig);
}

TEST(messages_of_other_topics_are_never_claimed)
{
    static struct clerk orders = { .topic = "order" };
    ph_owner other = ph_owner_new();
    ph_enqueued mails[3];
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "mail", 3, mails);
    put_many(rig.side, "order", 3, NULL);
    rig_run(&rig, "order", take_note, &orders);
    rig_drain(&rig);
    CHECK_INT(rig_stats(&rig).claimed, 3);
    for (size_t i = 0; i < 3; i++) {
        struct seen seen = see(rig.side, mails[i].work_id);

        REQ_INT("OBX-055", seen.status, PH_READY);
        REQ_INT("OBX-055", seen.attempts, 0);
        REQ_INT("OBX-055", seen.history_count, 0);
    }
    CHECK_INT(t_ack_all(rig.side, other, t_claim(rig.side, other, 10)), 3);
    CHECK_INT(journal_count(rig.journal, PH_LOG_WARN, NULL, NULL), 0);
    rig_end(&rig);
}

/* What waits for longer than a minute and nobody claims is said once; what another instance claims,
 * or has only just come, is not. Looked for ten seconds after the start. */
TEST(topics_that_nobody_claims_are_warned_about_once)
{
    static struct clerk orders = { .topic = "order" };
    static const char *const bills[] = { "bill" };
    ph_work_batch_opts other = PH_WORK_BATCH_OPTS_INIT;
    ph_work_batch *batch = NULL;
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    other.instance_id = ph_owner_new();
    other.service_name = "billing";
    other.host_name = "host";
    other.process_id = 1;
    other.topics = bills;
    other.topic_count = 1;
    OK(ph_process_work_batch(rig.side, PH_OWN_TX, &other, 0, &batch, &t_err));
    ph_work_batch_free(batch);
    put_many(rig.side, "bill", 2, NULL);
    put_many(rig.side, "mail", 3, NULL);
    put_many(rig.side, "order", 3, NULL);
    t_clock_advance(rig.side, 61 * T_SECOND);
    put_many(rig.side, "parcel", 2, NULL);
    rig_run(&rig, "order", take_note, &orders);
    AWAIT(journal_count(rig.journal, PH_LOG_WARN, NULL, "mail") > 0);
    REQ_INT("OBX-055", journal_count(rig.journal, PH_LOG_WARN, NULL, "mail"), 1);
    REQ_INT("OBX-055", journal_count(rig.journal, PH_LOG_WARN, NULL, NULL), 1);
    CHECK_INT(orders.right, 3);
    rig_end(&rig);
}

static void check_deferred(struct rig *rig, const ph_enqueued *messages, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct seen seen = see(rig->side, messages[i].work_id);

        REQ_INT("OBX-055", seen.status, PH_READY);
        REQ_INT("OBX-055", seen.attempts, 0);
        REQ_INT("OBX-055", seen.retry_count, 0);
        REQ_INT("OBX-055", seen.next_attempt_at, t_clock(rig->side) + 5 * T_SECOND);
    }
}

TEST(unknown_topics_are_deferred_uncounted_with_one_warning_each)
{
    static struct clerk orders = { .topic = "order" };
    ph_enqueued mails[4], parcels[2];
    struct rig rig;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    set_max_attempts(rig.side, 1); /* if it counted they would be dead at once */
    put_many(rig.side, "mail", 4, mails);
    put_many(rig.side, "parcel", 2, parcels);
    put_many(rig.side, "order", 3, NULL);
    rig.opts.any_topic = true;
    rig.opts.defer_ms = 5000;
    rig_run(&rig, "order", take_note, &orders);
    for (int round = 1; round <= 3; round++) {
        rig_drain(&rig);
        CHECK_INT(rig_stats(&rig).no_handler, 6 * round);
        check_deferred(&rig, mails, 4);
        check_deferred(&rig, parcels, 2);
        t_clock_advance(rig.side, 6 * T_SECOND);
        AWAIT(rig_stats(&rig).no_handler >= 6 * (round + 1));
    }
    REQ_INT("OBX-055", journal_count(rig.journal, PH_LOG_WARN, NULL, "mail"), 1);
    REQ_INT("OBX-055", journal_count(rig.journal, PH_LOG_WARN, NULL, "parcel"), 1);
    CHECK_INT(journal_count(rig.journal, PH_LOG_WARN, NULL, NULL), 2);
    CHECK_INT(orders.right, 3);
    CHECK_INT(rig_stats(&rig).dead, 0);
    CHECK_INT(rig_stats(&rig).done, 3);
    rig_end(&rig);
}

TEST(unknown_topics_are_taken_with_the_default_delay)
{
    static struct clerk orders = { .topic = "order" };
    struct rig rig;
    ph_work_id id;

    rig_open(&rig);
    t_clock_set(rig.side, T_EPOCH);
    id = rig_put(&rig, "mail");
    rig.opts.any_topic = true;
    rig_run(&rig, "order", take_note, &orders);
    rig_drain(&rig);
    REQ_INT("OBX-055", see(rig.side, id).next_attempt_at, T_EPOCH + 60 * T_SECOND);
    rig_end(&rig);
}

TEST(only_its_namespace_is_served)
{
    static struct clerk any;
    ph_message message = a_message("order", "x");
    ph_work_id ours, elsewhere, nowhere;
    struct rig rig;

    rig_open(&rig);
    message.ns = "billing";
    ours = put(rig.side, &message).work_id;
    message.ns = "billing2";
    elsewhere = put(rig.side, &message).work_id;
    nowhere = rig_put(&rig, "order");
    rig.opts.ns = "billing";
    rig_run(&rig, NULL, take_note, &any);
    rig_drain(&rig);
    CHECK_INT(any.right, 1);
    CHECK_INT(see(rig.side, ours).status, PH_DONE);
    CHECK_INT(see(rig.side, elsewhere).status, PH_READY);
    CHECK_INT(see(rig.side, nowhere).status, PH_READY);
    rig_end(&rig);
}

TEST(a_namespace_that_comes_later_is_served)
{
    static struct clerk any;
    ph_message message = a_message("order", "x");
    struct rig rig;

    rig_open(&rig);
    rig.opts.ns = "not yet";
    rig_run(&rig, NULL, take_note, &any);
    AWAIT(rig_stats(&rig).exchanges > 1);
    message.ns = "not yet";
    put(rig.side, &message);
    AWAIT(rig_stats(&rig).done == 1);
    rig_end(&rig);
}

TEST(options_and_names_are_copied)
{
    static struct clerk orders = { .topic = "order" };
    char topic[] = "order", ns[] = "billing";
    ph_message message = a_message("order", "x");
    struct rig rig;

    rig_open(&rig);
    message.ns = "billing";
    put(rig.side, &message);
    rig.opts.ns = ns;
    rig_new(&rig);
    rig_handle(&rig, topic, take_note, &orders);
    memset(topic, '!', sizeof(topic) - 1);
    memset(ns, '!', sizeof(ns) - 1);
    rig_start(&rig);
    rig_drain(&rig);
    CHECK_INT(orders.right, 1);
    rig_end(&rig);
}

TEST(a_paused_queue_hands_out_nothing_until_it_goes_on)
{
    static struct clerk any;
    struct rig rig;

    rig_open(&rig);
    put_many(rig.side, "order", 3, NULL);
    OK(ph_outbox_queue_pause(rig.side, PH_OWN_TX, NULL, 0, &t_err));
    rig_run(&rig, NULL, take_note, &any);
    AWAIT(rig_stats(&rig).empty_claims >= 3);
    CHECK_INT(any.right, 0);
    OK(ph_outbox_queue_resume(rig.side, PH_OWN_TX, NULL, 0, &t_err));
    AWAIT(rig_stats(&rig).done == 3);
    rig_end(&rig);
}

TEST(hundreds_of_handlers_find_their_topics)
{
    enum { TOPICS = 300 };
    static struct clerk clerks[TOPICS];
    static char topics[TOPICS][16];
    struct rig rig;

    rig_open(&rig);
    rig_new(&rig);
    for (int i = 0; i < TOPICS; i++) {
        snprintf(topics[i], sizeof(topics[i]), "topic %d", i);
        clerks[i].topic = topics[i];
        rig_handle(&rig, topics[i], take_note, &clerks[i]);
        rig_put(&rig, topics[i]);
    }
    rig_start(&rig);
    rig_drain(&rig);
    for (int i = 0; i < TOPICS; i++) {
        CHECK_INT(clerks[i].right, 1);
        CHECK_INT(clerks[i].wrong, 0);
    }
    rig_end(&rig);
}
