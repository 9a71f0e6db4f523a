/* work_batch_args_test.c - ph_process_work_batch at the edges of its arguments: "PH_EINVAL (says
 * what)" (coordination.h). */
#include "lanes.h"

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

/* Tries a call with one thing wrong; store, id and opts are those of the test. */
#define REFUSED(text)                                                                              \
    do {                                                                                           \
        CHECK_INT(try_work(store, &opts), PH_EINVAL);                                              \
        if (!strstr(t_err.message, text))                                                          \
            printf("%s\n", t_err.message);                                                         \
        REQ("BAT-008", strstr(t_err.message, text) != NULL);                                       \
    } while (0)
#define WRONG(member, value, text)                                                                 \
    do {                                                                                           \
        opts = a_claim(id, 0);                                                                     \
        opts.member = (value);                                                                     \
        REFUSED(text);                                                                             \
    } while (0)
#define WRONG_PART(member, items, n, text)                                                         \
    do {                                                                                           \
        opts = a_claim(id, 0);                                                                     \
        opts.member = (items);                                                                     \
        opts.member##_count = (n);                                                                 \
        REFUSED(text);                                                                             \
    } while (0)

TEST(bad_arguments_of_the_exchange_are_refused)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner id = ph_owner_new(), nobody = { { 0 } };
    ph_work_batch_opts opts;
    ph_work_batch *batch = NULL;

    WRONG(instance_id, nobody, "instance_id is empty");
    WRONG(service_name, NULL, "service_name is NULL");
    WRONG(service_name, "", "service_name is empty");
    WRONG(service_name, "\xff", "service_name");
    WRONG(service_name, repeated("x", PH_NAME_MAX + 1), "service_name");
    WRONG(host_name, "", "host_name");
    WRONG(metadata, "[]", "metadata is not a JSON object");
    WRONG(metadata, "{", "metadata is not a JSON object; the error is at byte 1");
    WRONG(flags, 8u, "flags");
    WRONG(ns, "\xff", "namespace");
    WRONG(batch_size, -1, "batch_size");
    WRONG(batch_size, PH_BATCH_MAX + 1, "batch_size is 10001");
    WRONG(partition_count, -1, "partition_count is -1");
    WRONG(partition_count, PH_PARTITIONS_MAX + 1, "partition_count is 1000001");
    WRONG(max_partitions, -1, "max_partitions is negative");
    WRONG(instance_lease_s, -1, "instance_lease_s is -1; give 1 to 86400, or 0 for 300");
    WRONG(instance_lease_s, PH_LEASE_MAX_S + 1, "instance_lease_s is 86401");
    WRONG(stale_threshold_s, -1, "stale_threshold_s is -1");
    WRONG(stale_threshold_s, PH_STALE_THRESHOLD_MAX_S + 1, "stale_threshold_s");
    WRONG(size, 0, "size");
    CHECK_INT(ph_process_work_batch(store, PH_OWN_TX, NULL, 0, &batch, &t_err), PH_EINVAL);
    CHECK(strstr(t_err.message, "opts is NULL") != NULL);
    opts = a_call(id);
    CHECK_INT(ph_process_work_batch(store, PH_OWN_TX, &opts, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_process_work_batch(store, PH_OWN_TX, &opts, -1, &batch, &t_err), PH_EINVAL);
    CHECK_INT(ph_process_work_batch(NULL, PH_OWN_TX, &opts, 0, &batch, &t_err), PH_EINVAL);
    CHECK(batch == NULL);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}instance"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
}

TEST(bad_parts_of_the_exchange_are_refused)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts;
    ph_settlement item = { .verb = PH_ACK };
    ph_lease_ref ref = { 0 };
    ph_message m = a_message("", "x");
    ph_inbox_message i = letter("1", NULL);
    ph_receptor_result r = { .receptor = "" };
    ph_checkpoint_result c = { PH_OUTBOX, NULL, "a", "c", 0, false, NULL };

    WRONG_PART(outbox, NULL, 1, "outbox is NULL");
    WRONG_PART(inbox, NULL, 1, "inbox is NULL");
    WRONG_PART(new_outbox, NULL, 1, "new_outbox is NULL");
    WRONG_PART(new_inbox, NULL, 1, "new_inbox is NULL");
    WRONG_PART(renew_outbox, NULL, 1, "renew_outbox is NULL");
    WRONG_PART(renew_inbox, NULL, 1, "renew_inbox is NULL");
    WRONG_PART(outbox, &item, PH_BATCH_MAX + 1, "outbox: 10001 items");
    WRONG_PART(renew_inbox, &ref, PH_BATCH_MAX + 1, "renew_inbox: 10001 items");
    WRONG_PART(new_outbox, &m, 1, "new_outbox: topic is empty");
    m.topic = TOPIC;
    i.source = NULL;
    WRONG_PART(new_inbox, &i, 1, "new_inbox: source is NULL");
    i.source = "s";
    i.handled = true;
    WRONG_PART(new_inbox, &i, 1, "new_inbox: handled needs a transaction of yours");
    item.verb = (ph_settle_verb)9;
    WRONG_PART(outbox, &item, 1, "verb");
    item.verb = PH_ABANDON;
    item.delay_ms = -2;
    WRONG_PART(inbox, &item, 1, "delay");
    opts = a_claim(id, 0);
    opts.receptors = &r;
    opts.receptor_count = 1;
    REFUSED("receptors: receptor is empty");
    opts.receptors = NULL;
    REFUSED("receptors is NULL");
    opts = a_claim(id, 0);
    opts.checkpoints = &c;
    opts.checkpoint_count = 1;
    REFUSED("checkpoints: seq is 0");
    opts.checkpoints = NULL;
    REFUSED("checkpoints is NULL");
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}instance"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
}

/* The limits themselves are fine. */
TEST(the_largest_values_of_the_exchange_are_taken)
{
    ph_store *store = open_at_epoch();
    ph_owner id = ph_owner_new();
    ph_work_batch_opts opts = a_claim(id, PH_BATCH_MAX);
    struct instance_seen s;

    opts.service_name = repeated("\xc3\xa4", PH_NAME_MAX);
    opts.partition_count = PH_PARTITIONS_MAX;
    opts.max_partitions = 1000000;
    opts.instance_lease_s = PH_LEASE_MAX_S;
    opts.stale_threshold_s = PH_STALE_THRESHOLD_MAX_S;
    fill(&outbox_door, store, "a1 -x");
    work_only(store, &opts);
    s = see_instance(store, id);
    CHECK_INT(s.lease_s, PH_LEASE_MAX_S);
    CHECK_INT(s.stale_threshold_s, PH_STALE_THRESHOLD_MAX_S);
    CHECK_INT(s.in_progress, 2);
    opts = a_call(ph_owner_new());
    opts.stale_threshold_s = 1;
    opts.partition_count = 1;
    opts.max_partitions = 1;
    work_only(store, &opts);
    all_is_well(store);
}
