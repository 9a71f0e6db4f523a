/* join_wait_test.c - what a wait is until its join ends, and what it sends then. */
#include "joins.h"

static int try_wait(ph_store *store, ph_join_id join, const ph_wait *wait)
{
    ph_work_id id = { { 7 } };
    int r = ph_join_wait(store, PH_OWN_TX, join, wait, 0, &id, &t_err);

    if (r < 0)
        CHECK(id.b[0] == 7); /* left alone */
    return r;
}

/* A join with so many steps done and failed, of as many. */
static ph_join_id ended_join(ph_store *store, int done, int failed)
{
    ph_join_id join = start_join(store, done + failed);

    for (int i = 0; i < done + failed; i++) {
        put_step(store, join);
        end_step(store, i < done ? PH_ACK : PH_FAIL);
    }
    return join;
}

static ph_batch *claim_topic(ph_store *store, ph_owner owner, const char *topic, const char *ns)
{
    ph_claim_opts opts = PH_CLAIM_OPTS_INIT;

    opts.topics = &topic;
    opts.topic_count = 1;
    opts.ns = ns;
    return claim_with(store, owner, &opts);
}

/* ---------------------------------------------------------- while the join is open */

TEST(a_wait_is_a_message_that_carries_what_it_will_send)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 1);
    ph_work_id id = wait_for(store, join, true);
    ph_message_info *info = NULL;
    char text[PH_ID_TEXT_SIZE];
    const char *body;

    OK(ph_outbox_find(store, PH_OWN_TX, id, 0, &info, &t_err));
    REQ_STR("JOIN-050", info->message->topic, "join.wait");
    REQ_INT("OBX-091 JOIN-053", info->state, PH_WAITING);
    REQ("JOIN-053", same_id(info->waits_for.b, join.b));
    CHECK(ph_id_is_zero(info->owner.b) && info->processed_at == 0 && info->next_attempt_at == 0);
    body = info->message->payload;
    REQ_STR("JOIN-051", json_text(body, "join_id"), ph_id_text(join.b, text));
    REQ_STR("JOIN-051", json_text(body, "fail_if_any_step_failed"), "true");
    REQ_STR("JOIN-051", json_text(body, "on_complete_topic"), GOOD);
    REQ_STR("JOIN-051", json_text(body, "on_complete_payload"), "good");
    REQ_STR("JOIN-051", json_text(body, "on_fail_topic"), BAD);
    REQ_STR("JOIN-051", json_text(body, "on_fail_payload"), "bad");
    ph_message_info_free(info);
    CHECK_STR(t_view(conn, id, "status"), "waiting");
    CHECK_STR(t_view(conn, id, "status_code"), "4");
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_wait_without_a_message_for_failure_says_so)
{
    ph_store *store = t_open(NULL);
    ph_wait wait = a_wait(false);
    ph_message_info *info = NULL;
    ph_work_id id;

    wait.on_fail_topic = wait.on_fail_payload = NULL;
    OK(ph_join_wait(store, PH_OWN_TX, start_join(store, 1), &wait, 0, &id, &t_err));
    OK(ph_outbox_find(store, PH_OWN_TX, id, 0, &info, &t_err));
    REQ_STR("JOIN-051", json_text(info->message->payload, "fail_if_any_step_failed"), "false");
    REQ_STR("JOIN-051", json_text(info->message->payload, "on_fail_topic"), "null");
    ph_message_info_free(info);
}

TEST(no_claim_hands_out_a_wait)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_owner owner = ph_owner_new();
    ph_join_id join = start_join(store, 1);
    ph_queues *queues = NULL;
    ph_lease_ref ref = { 0 };
    ph_work_id id;

    set_max_attempts(store, 1);
    t_clock_set(store, T_EPOCH);
    id = wait_for(store, join, true);
    for (int i = 0; i < 12; i++) { /* more than any number of attempts */
        ph_batch *batch = claim_topic(store, owner, "join.wait", NULL);

        REQ_INT("OBX-091 JOIN-053", ph_batch_count(batch), 0);
        ph_batch_free(batch);
        CHECK_INT(claimable(store, 10), 0);
        t_clock_advance(store, 5 * 86400 * T_SECOND);
        CHECK_INT(reap(store), 0);
        OK(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    }
    REQ_STR("JOIN-053", t_view(conn, id, "status"), "waiting");
    OK(ph_outbox_count(store, PH_OWN_TX, NULL, 0, &counts, &t_err));
    CHECK_INT(counts.ready + counts.scheduled + counts.in_progress + counts.dead, 0);
    CHECK_INT(counts.waiting, 1);
    OK(ph_outbox_count(store, PH_OWN_TX, "elsewhere", 0, &counts, &t_err));
    CHECK_INT(counts.waiting, 0);
    OK(ph_queue_list(store, PH_OWN_TX, NULL, 0, &queues, &t_err));
    CHECK_INT(ph_queues_at(queues, 0)->counts.waiting, 1);
    ph_queues_free(queues);
    ref.work_id = id;
    CHECK_INT(ack(store, owner, ref), PH_OUTCOME_STALE);
    CHECK_INT(renew(store, owner, ref, 30), PH_OUTCOME_STALE);
    put_step(store, join);
    end_step(store, PH_ACK);
    REQ_STR("OBX-093", sent_text(store), "1 good, 0 bad");
    t_disconnect(conn);
}

TEST(waits_are_listed)
{
    ph_store *store = t_open(NULL);
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_join_id join = start_join(store, 1);
    ph_work_id first = wait_for(store, join, true);
    ph_messages *list = NULL;

    wait_for(store, join, false);
    a_step(store);
    opts.state = PH_LIST_WAITING;
    opts.oldest_first = true;
    OK(ph_outbox_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 2);
    CHECK(same_id(ph_messages_at(list, 0)->message->work_id.b, first.b));
    CHECK_INT(ph_messages_at(list, 0)->state, PH_WAITING);
    CHECK(same_id(ph_messages_at(list, 0)->waits_for.b, join.b));
    ph_messages_free(list);
    CHECK(cancel(store, join));
    OK(ph_outbox_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 0);
    ph_messages_free(list);
}

TEST(a_wait_is_no_step)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1), other = start_join(store, 2);
    ph_work_id id = wait_for(store, join, true);
    ph_message_id as_message;

    memcpy(as_message.b, id.b, sizeof(id.b));
    CHECK_INT(try_attach(store, other, as_message), PH_ESTATE);
    CHECK(strstr(t_err.message, "is a wait") != NULL);
    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK_INT(try_attach(store, other, as_message), PH_ESTATE); /* a settled one, either */
    CHECK_INT(attached_to(store, other), 0);
}

/* ------------------------------------------------------------- when the join ends */

TEST(success_sends_the_message_for_success)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);

    wait_for(store, join, true);
    wait_for(store, join, false);
    put_step(store, join);
    put_step(store, join);
    end_step(store, PH_ACK);
    REQ_STR("OBX-091 JOIN-053", sent_text(store), "0 good, 0 bad");
    end_step(store, PH_ACK);
    REQ_STR("OBX-093 JOIN-055", sent_text(store), "2 good, 0 bad");
}

TEST(a_failed_step_sends_the_message_for_failure_if_the_flag_says_so)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);

    wait_for(store, join, true);
    put_step(store, join);
    put_step(store, join);
    end_step(store, PH_FAIL);
    REQ_STR("OBX-091 JOIN-053", sent_text(store), "0 good, 0 bad"); /* not before the end */
    end_step(store, PH_ACK);
    REQ_STR("OBX-092 OBX-094 JOIN-054", sent_text(store), "0 good, 1 bad");
}

TEST(without_the_flag_failed_steps_are_as_good_as_others)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 2);

    wait_for(store, join, false);
    put_step(store, join);
    put_step(store, join);
    end_step(store, PH_FAIL);
    end_step(store, PH_FAIL);
    REQ_STR("JOIN-055", sent_text(store), "1 good, 0 bad");
    CHECK_STR(standing(store, join), "0+2/2 failed");
}

TEST(without_a_message_for_failure_nothing_is_sent)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);
    ph_wait wait = a_wait(true);
    ph_work_id id;

    wait.on_fail_topic = wait.on_fail_payload = NULL;
    OK(ph_join_wait(store, PH_OWN_TX, join, &wait, 0, &id, &t_err));
    put_step(store, join);
    end_step(store, PH_FAIL);
    REQ_STR("JOIN-054", sent_text(store), "0 good, 0 bad");
    REQ_INT("JOIN-056", see(store, id).status, PH_DONE);
    OK(ph_join_wait(store, PH_OWN_TX, join, &wait, 0, &id, &t_err)); /* and at once */
    REQ_INT("JOIN-056", see(store, id).status, PH_DONE);
    CHECK_INT(claimable(store, 10), 0);
}

TEST(each_wait_acts_once)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 1);
    ph_work_id ids[20];
    ph_join_info *info;
    ph_enqueued e;

    t_clock_set(store, T_EPOCH);
    e = put_step(store, join);
    for (int i = 0; i < 20; i++)
        ids[i] = wait_for(store, join, i % 2);
    info = find_join(store, join);
    CHECK_INT(info->open_waits, 20);
    ph_join_info_free(info);
    t_clock_advance(store, T_SECOND);
    end_step(store, PH_FAIL);
    REQ_STR("JOIN-056", sent_text(store), "10 good, 10 bad");
    for (int i = 0; i < 20; i++) {
        struct seen s = see(store, ids[i]);

        REQ_INT("JOIN-056", s.status, PH_DONE);
        CHECK_INT(s.processed_at, T_EPOCH + T_SECOND);
        CHECK(ph_id_is_zero(s.owner.b));
        CHECK_STR(t_view(conn, ids[i], "processed_by"), "");
        CHECK_STR(t_view(conn, ids[i], "is_processed"), t_is_pg() ? "t" : "1");
    }
    OK(ph_join_report_completed(store, PH_OWN_TX, join, e.message_id, 0, &t_err));
    CHECK(!cancel(store, join));
    reap(store);
    REQ_STR("JOIN-056", sent_text(store), "10 good, 10 bad");
    info = find_join(store, join);
    CHECK_INT(info->open_waits, 0);
    ph_join_info_free(info);
    t_check_places(conn);
    t_disconnect(conn);
}

TEST(a_wait_on_a_join_that_has_ended_acts_at_once)
{
    ph_store *store = t_open(NULL);
    ph_join_id good = ended_join(store, 2, 0), bad = ended_join(store, 1, 1);
    ph_join_id cancelled = start_join(store, 1);

    REQ_INT("JOIN-056", see(store, wait_for(store, good, true)).status, PH_DONE);
    wait_for(store, good, false);
    REQ_STR("JOIN-055 OBX-093", sent_text(store), "2 good, 0 bad");
    REQ_INT("JOIN-056", see(store, wait_for(store, bad, true)).status, PH_DONE);
    REQ_STR("JOIN-054 OBX-094", sent_text(store), "2 good, 1 bad");
    wait_for(store, bad, false);
    REQ_STR("JOIN-055", sent_text(store), "3 good, 1 bad");
    cancel(store, cancelled);
    wait_for(store, cancelled, true);
    wait_for(store, cancelled, false);
    CHECK_STR(sent_text(store), "3 good, 3 bad");
}

TEST(a_wait_decides_by_the_join_alone)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);
    ph_enqueued e = put_step(store, join);
    ph_work_id again;

    end_step(store, PH_FAIL);
    OK(ph_dead_retry(store, PH_OWN_TX, &e.work_id, 1, 0, &again, &t_err));
    end_step(store, PH_ACK); /* the message is done now, the join has failed */
    wait_for(store, join, true);
    REQ_STR("JOIN-057", sent_text(store), "0 good, 1 bad");
    OK(ph_dead_discard(store, PH_OWN_TX, &e.work_id, 1, 0, NULL, &t_err));
    wait_for(store, join, true);
    REQ_STR("JOIN-057", sent_text(store), "0 good, 2 bad");
}

TEST(a_wait_on_an_unknown_join_fails_and_stores_nothing)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_wait wait = a_wait(true);
    ph_join_id none = { { 0 } };

    REQ_INT("JOIN-052", try_wait(store, no_join(), &wait), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, "there is no join") != NULL);
    REQ_INT("JOIN-052", t_number(conn, "SELECT count(*) FROM {t}outbox"), 0);
    CHECK_INT(try_wait(store, none, &wait), PH_EINVAL);
    t_disconnect(conn);
}

/* --------------------------------------------------------------- what is sent */

TEST(what_is_sent_is_an_ordinary_message_that_names_the_join)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);
    ph_owner owner = ph_owner_new();
    char text[PH_ID_TEXT_SIZE];
    const ph_delivery *d;
    ph_batch *batch;

    t_clock_set(store, T_EPOCH);
    wait_for(store, join, true);
    put_step(store, join);
    t_clock_advance(store, 7 * T_SECOND);
    end_step(store, PH_FAIL);
    batch = claim_topic(store, owner, BAD, NULL);
    REQ_INT("OBX-094", ph_batch_count(batch), 1);
    d = ph_batch_at(batch, 0);
    REQ_STR("OBX-094 JOIN-054", d->topic, BAD);
    REQ_STR("OBX-094 JOIN-054", d->payload, "bad");
    CHECK_STR(json_text(d->headers, "join_id"), ph_id_text(join.b, text));
    CHECK_STR(json_text(d->headers, "join_status"), "failed");
    CHECK_INT(d->priority, PH_PRIORITY_NORMAL);
    CHECK_INT(d->attempts, 1);
    CHECK_INT(d->created_at, T_EPOCH + 7 * T_SECOND);
    CHECK_INT(d->due_at, T_EPOCH + 7 * T_SECOND);
    CHECK_STR(d->ns, "");
    CHECK(d->tenant_id == NULL && d->dedupe_key == NULL && d->correlation_id == NULL);
    CHECK(same_id(d->message_id.b, d->work_id.b));
    CHECK_INT(t_ack_all(store, owner, batch), 1);
}

TEST(the_headers_tell_how_the_join_stands)
{
    ph_store *store = t_open(NULL);
    ph_join_id joins[4] = { ended_join(store, 1, 0), ended_join(store, 0, 1), start_join(store, 1),
                            start_join_until(store, 1, t_clock(store) + T_SECOND) };
    static const char *const want[] = { "completed", "failed", "cancelled", "failed" };

    cancel(store, joins[2]);
    t_clock_set(store, t_clock(store) + 2 * T_SECOND);
    reap(store);
    for (int i = 0; i < 4; i++) {
        ph_owner owner = ph_owner_new();
        ph_batch *batch;

        wait_for(store, joins[i], false);
        batch = claim_topic(store, owner, i < 2 ? GOOD : BAD, NULL);
        CHECK_INT(ph_batch_count(batch), 1);
        CHECK_STR(json_text(ph_batch_at(batch, 0)->headers, "join_status"), want[i]);
        t_ack_all(store, owner, batch);
    }
}

TEST(what_is_sent_comes_byte_for_byte)
{
    static const char *const texts[] = { "",
                                         "{\"a\": \"b\\\\\"}",
                                         "line\nline\r\ttab",
                                         "\x01\x1f\x7f",
                                         "\xf0\x9f\x93\xaf \xc3\xa9",
                                         "null",
                                         "\"",
                                         "\\u0000",
                                         "'; DROP TABLE message; --",
                                         "<&>%s{t}{p}" };
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (int failure = 0; failure < 2; failure++) {
            ph_join_id join = start_join(store, 1);
            ph_wait wait = a_wait(true);
            ph_batch *batch;

            wait.on_complete_payload = failure ? "no" : texts[i];
            wait.on_fail_payload = failure ? texts[i] : "no";
            OK(try_wait(store, join, &wait));
            put_step(store, join);
            end_step(store, failure ? PH_FAIL : PH_ACK);
            batch = claim_topic(store, owner, failure ? BAD : GOOD, NULL);
            CHECK_INT(ph_batch_count(batch), 1);
            REQ_STR("OBX-093 OBX-094", ph_batch_at(batch, 0)->payload, texts[i]);
            t_ack_all(store, owner, batch);
        }
    }
}

TEST(a_missing_payload_for_failure_is_empty)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = ended_join(store, 0, 1);
    ph_wait wait = a_wait(true);
    ph_batch *batch;

    wait.on_fail_payload = NULL;
    OK(try_wait(store, join, &wait));
    batch = claim_topic(store, ph_owner_new(), BAD, NULL);
    CHECK_STR(ph_batch_at(batch, 0)->payload, "");
    ph_batch_free(batch);
}

TEST(topics_at_their_edges_are_sent)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = ended_join(store, 1, 0);
    ph_wait wait = a_wait(true);

    wait.on_complete_topic = repeated("\xc3\xa9", PH_NAME_MAX);
    OK(try_wait(store, join, &wait));
    CHECK_INT(sent(store, wait.on_complete_topic), 1);
    wait.on_complete_topic = "Case";
    OK(try_wait(store, join, &wait));
    CHECK_INT(sent(store, "case"), 0);
    CHECK_INT(sent(store, "Case"), 1);
}

TEST(what_is_sent_can_be_a_step_of_the_next_join)
{
    ph_store *store = t_open(NULL);
    ph_join_id first = start_join(store, 1), second = start_join(store, 1);
    ph_wait wait = a_wait(true);
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;

    wait.on_complete_topic = STEP;
    OK(try_wait(store, first, &wait));
    wait_for(store, second, true);
    put_step(store, first);
    end_step(store, PH_ACK);
    opts.topic = STEP;
    opts.state = PH_LIST_READY;
    OK(ph_outbox_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    CHECK_INT(ph_messages_count(list), 1);
    attach(store, second, ph_messages_at(list, 0)->message->message_id);
    ph_messages_free(list);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, second), "1+0/1 completed");
    CHECK_STR(sent_text(store), "1 good, 0 bad");
}

/* --------------------------------------------------------- queues of the waits */

TEST(all_waits_of_a_queue_have_the_topic_that_is_set)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_join_id join = start_join(store, 1);
    ph_queues *list = NULL;
    ph_wait wait = a_wait(true);

    settings.join_wait_topic = "fan.in";
    set_queue(store, &settings);
    wait_for(store, join, true);
    wait_for(store, join, true);
    REQ_INT("JOIN-050", sent(store, "fan.in"), 2);
    REQ_INT("JOIN-050", sent(store, "join.wait"), 0);
    wait.ns = "other"; /* has its own settings */
    OK(try_wait(store, join, &wait));
    REQ_INT("JOIN-050", sent(store, "join.wait"), 1);
    OK(ph_queue_list(store, PH_OWN_TX, T_OPTS(ph_queue_list_opts, .ns = ""), 0, &list, &t_err));
    CHECK_STR(ph_queues_at(list, 0)->settings.join_wait_topic, "fan.in");
    ph_queues_free(list);
    settings.join_wait_topic = NULL; /* as it is */
    settings.max_attempts = 4;
    set_queue(store, &settings);
    wait_for(store, join, true);
    REQ_INT("JOIN-050", sent(store, "fan.in"), 3);
    settings.join_wait_topic = "";
    CHECK_INT(ph_outbox_queue_set(store, PH_OWN_TX, NULL, &settings, 0, &t_err), PH_EINVAL);
    settings.join_wait_topic = repeated("x", PH_NAME_MAX + 1);
    CHECK_INT(ph_outbox_queue_set(store, PH_OWN_TX, NULL, &settings, 0, &t_err), PH_EINVAL);
    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK_STR(sent_text(store), "4 good, 0 bad");
}

TEST(a_wait_sends_into_its_own_namespace)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);
    ph_owner owner = ph_owner_new();
    ph_wait wait = a_wait(true);
    ph_batch *batch;

    wait.ns = "billing"; /* which nobody has used yet */
    OK(try_wait(store, join, &wait));
    wait.ns = repeated("n", PH_NAME_MAX + 1);
    CHECK_INT(try_wait(store, join, &wait), PH_EINVAL);
    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK_INT(claimable(store, 10), 0);
    batch = claim_topic(store, owner, GOOD, "billing");
    CHECK_INT(ph_batch_count(batch), 1);
    CHECK_STR(ph_batch_at(batch, 0)->ns, "billing");
    t_ack_all(store, owner, batch);
}

TEST(a_paused_queue_sends_but_does_not_hand_out)
{
    ph_store *store = t_open(NULL);
    ph_join_id join = start_join(store, 1);

    wait_for(store, join, true);
    put_step(store, join);
    CHECK_INT(claimable(store, 1), 1); /* lets it be settled below */
    OK(ph_outbox_queue_pause(store, PH_OWN_TX, NULL, 0, &t_err));
    CHECK(cancel(store, join));
    CHECK_STR(sent_text(store), "0 good, 1 bad");
    CHECK_INT(claimable(store, 10), 0);
    OK(ph_outbox_queue_resume(store, PH_OWN_TX, NULL, 0, &t_err));
    CHECK_INT(claimable(store, 10), 1);
}

TEST(a_payload_must_fit_its_queue_when_the_wait_is_made)
{
    ph_store *store = t_open(NULL);
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_join_id join = start_join(store, 1);
    ph_wait wait = a_wait(true);

    settings.max_payload_bytes = 1000;
    set_queue(store, &settings);
    wait.on_complete_payload = repeated("x", 1001);
    CHECK_INT(try_wait(store, join, &wait), PH_EINVAL);
    CHECK(strstr(t_err.message, "longer than its queue allows") != NULL);
    wait = a_wait(true);
    wait.on_fail_payload = repeated("x", 1001);
    CHECK_INT(try_wait(store, join, &wait), PH_EINVAL);
    wait.on_complete_payload = wait.on_fail_payload = repeated("x", 1000);
    OK(try_wait(store, join, &wait));
    settings.max_payload_bytes = 10; /* too late: what was promised is sent */
    set_queue(store, &settings);
    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "1+0/1 completed");
    CHECK_STR(sent_text(store), "1 good, 0 bad");
}

TEST(a_queue_that_deletes_on_ack_keeps_what_is_sent)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_join_id join = start_join(store, 2);
    ph_work_id id;

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    id = wait_for(store, join, true);
    put_step(store, join);
    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK_INT(see(store, id).status, PH_WAITING);
    end_step(store, PH_ACK);
    CHECK_STR(standing(store, join), "2+0/2 completed");
    CHECK_STR(steps_of(store, join), "completed completed");
    CHECK_STR(sent_text(store), "1 good, 0 bad");
    CHECK(!see(store, id).there || see(store, id).status == PH_DONE);
    t_check_places(conn);
    t_disconnect(conn);
}

/* ------------------------------------------------------------------ arguments */

TEST(a_wait_says_what_is_wrong_with_it)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 1);
    ph_wait good = a_wait(true), bad;

    CHECK_INT(try_wait(store, join, NULL), PH_EINVAL);
    CHECK_STR(t_err.message, "wait is NULL");
#define REFUSED(member, value)                                                                     \
    do {                                                                                           \
        bad = good;                                                                                \
        bad.member = (value);                                                                      \
        CHECK_INT(try_wait(store, join, &bad), PH_EINVAL);                                         \
    } while (0)
    REFUSED(on_complete_topic, NULL);
    REFUSED(on_complete_topic, "");
    REFUSED(on_complete_topic, repeated("x", PH_NAME_MAX + 1));
    REFUSED(on_complete_topic, "\xff");
    REFUSED(on_complete_payload, NULL);
    REFUSED(on_complete_payload, "\xff");
    REFUSED(on_fail_topic, "");
    REFUSED(on_fail_topic, repeated("x", PH_NAME_MAX + 1));
    REFUSED(on_fail_topic, "\xff");
    REFUSED(on_fail_payload, "\xff");
    REFUSED(ns, "\xff");
    REFUSED(size, 0);
#undef REFUSED
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox"), 0);
    OK(ph_join_wait(store, PH_OWN_TX, join, &good, 0, NULL, &t_err)); /* without ret_wait */
    t_disconnect(conn);
}
