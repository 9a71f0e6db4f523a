/* join_log_test.c - what the log says of joins, and what the store's callback is told. */
#include "joins.h"
#include "journal.h"

TEST(starting_is_logged_at_info)
{
    ph_store *store = open_logging(PH_LOG_INFO);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    const struct line *line;
    char id[PH_ID_TEXT_SIZE];
    ph_join_id join;

    opts.grouping_key = "customer 7";
    OK(ph_join_start(store, PH_OWN_TX, 3, &opts, 0, &join, &t_err));
    line = newest_with("join", "started");
    REQ("JOIN-070", line != NULL);
    REQ_INT("JOIN-070", line->level, PH_LOG_INFO);
    REQ_STR("JOIN-070", field(line, "join_id"), ph_id_text(join.b, id));
    REQ_STR("JOIN-070", field(line, "grouping_key"), "customer 7");
    REQ_STR("JOIN-070", field(line, "expected_steps"), "3");
    CHECK_STR(line->store, "orders");
    start_join(store, 1);
    CHECK_STR(field(newest("join"), "grouping_key"), NULL);
}

TEST(attaching_is_logged_at_debug)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_join_id join = start_join(store, 3);
    ph_message_id ids[2] = { a_step(store).message_id, a_step(store).message_id };
    char text[PH_ID_TEXT_SIZE];
    const struct line *line;

    attach(store, join, ids[0]);
    line = newest_with("join", "attached");
    REQ("JOIN-071", line != NULL);
    REQ_INT("JOIN-071", line->level, PH_LOG_DEBUG);
    REQ_STR("JOIN-071", field(line, "join_id"), ph_id_text(join.b, text));
    REQ_STR("JOIN-071", field(line, "message_id"), ph_id_text(ids[0].b, text));
    OK(ph_join_attach_many(store, PH_OWN_TX, join, ids, 2, 0, &t_err));
    REQ_STR("JOIN-071", field(newest_with("join", "attached"), "message_id"),
            ph_id_text(ids[1].b, text));
}

/* How many lines of joins hold this text. */
static int lines_with(const char *text)
{
    int count = 0;

    for (size_t i = 0; i < journal.count; i++)
        count += strcmp(journal.lines[i].event, "join") == 0 &&
                 strstr(journal.lines[i].text, text) != NULL;
    return count;
}

TEST(a_repeated_attach_is_logged_as_such)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_join_id join = start_join(store, 3);
    ph_message_id a = a_step(store).message_id, b = a_step(store).message_id;
    ph_message_id ids[] = { b, b, a };
    char text[PH_ID_TEXT_SIZE];
    const struct line *line;

    attach(store, join, a);
    REQ_INT("JOIN-071", lines_with("attached before"), 0);
    attach(store, join, a);
    line = newest_with("join", "attached before");
    REQ("JOIN-071", line != NULL && line->level == PH_LOG_DEBUG);
    REQ_STR("JOIN-071", field(line, "message_id"), ph_id_text(a.b, text));
    OK(ph_join_attach_many(store, PH_OWN_TX, join, ids, 3, 0, &t_err));
    REQ_INT("JOIN-071", lines_with("attached before"), 3);
    REQ_INT("JOIN-071", lines_with(": attached store"), 2);
    CHECK_STR(field(newest_with("join", "attached before"), "message_id"), ph_id_text(a.b, text));
}

TEST(attaching_with_an_enqueue_is_logged_and_so_is_doing_it_again)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_join_id join = start_join(store, 9);
    ph_message many[3] = { a_message(STEP, "x"), a_message(STEP, "x"), a_message(STEP, "x") };
    char text[PH_ID_TEXT_SIZE], join_text[PH_ID_TEXT_SIZE];
    const struct line *line;
    ph_enqueued e;

    many[0].join_id = many[2].join_id = &join;
    many[0].dedupe_key = "k";
    e = put(store, &many[0]);
    line = newest_with("join", ": attached store");
    REQ("JOIN-071", line != NULL && line->level == PH_LOG_DEBUG);
    REQ_STR("JOIN-071", field(line, "join_id"), ph_id_text(join.b, join_text));
    REQ_STR("JOIN-071", field(line, "message_id"), ph_id_text(e.message_id.b, text));
    put(store, &many[0]);
    line = newest("join");
    REQ("JOIN-071", strstr(line->text, "attached before") != NULL);
    REQ_STR("JOIN-071", field(line, "message_id"), ph_id_text(e.message_id.b, text));
    OK(ph_enqueue_many(store, PH_OWN_TX, many, 3, 0, NULL, &t_err));
    REQ_INT("JOIN-071", lines_with("attached before"), 2);
    REQ_INT("JOIN-071", lines_with(": attached store"), 2);
}

TEST(a_join_that_is_not_to_be_found_is_not_logged)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_message_id id = a_step(store).message_id;
    ph_wait wait = a_wait(true);

    CHECK_INT(try_attach(store, no_join(), id), PH_ENOTFOUND);
    CHECK_INT(ph_join_start(store, PH_OWN_TX, 0, NULL, 0, &(ph_join_id){ { 0 } }, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_join_wait(store, PH_OWN_TX, no_join(), &wait, 0, NULL, &t_err), PH_ENOTFOUND);
    CHECK(newest("join") == NULL && newest("join_wait") == NULL);
}

TEST(completion_is_logged_at_info)
{
    ph_store *store = open_logging(PH_LOG_INFO);
    ph_join_id join = start_join(store, 3);
    const struct line *line;
    char id[PH_ID_TEXT_SIZE];

    wait_for(store, join, true);
    for (int i = 0; i < 3; i++)
        put_step(store, join);
    end_step(store, PH_ACK);
    end_step(store, PH_FAIL);
    CHECK(newest_with("join", "ended") == NULL);
    end_step(store, PH_ACK);
    line = newest_with("join", "ended");
    REQ("JOIN-072", line != NULL);
    REQ_INT("JOIN-072", line->level, PH_LOG_INFO);
    REQ_STR("JOIN-072", field(line, "join_id"), ph_id_text(join.b, id));
    REQ_STR("JOIN-072", field(line, "state"), "failed");
    REQ_STR("JOIN-072", field(line, "expected_steps"), "3");
    REQ_STR("JOIN-072", field(line, "completed_steps"), "2");
    REQ_STR("JOIN-072", field(line, "failed_steps"), "1");
    CHECK_STR(field(line, "waits"), "1");
    CHECK(cancel(store, start_join(store, 1)));
    CHECK_STR(field(newest_with("join", "ended"), "state"), "cancelled");
}

TEST(what_a_wait_decides_is_logged)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_join_id join = start_join(store, 1);
    ph_wait silent = a_wait(true);
    ph_work_id ids[3];
    const struct line *line;
    char id[PH_ID_TEXT_SIZE];

    silent.on_fail_topic = NULL;
    ids[0] = wait_for(store, join, true);
    line = newest_with("join_wait", "stored");
    REQ("JOIN-073", line != NULL);
    CHECK_STR(field(line, "join_id"), ph_id_text(join.b, id));
    CHECK_STR(field(line, "work_id"), ph_id_text(ids[0].b, id));
    ids[1] = wait_for(store, join, false);
    OK(ph_join_wait(store, PH_OWN_TX, join, &silent, 0, &ids[2], &t_err));
    put_step(store, join);
    end_step(store, PH_FAIL);
    line = newest_with("join_wait", "the message for failure was enqueued");
    REQ("JOIN-073", line != NULL && line->level >= PH_LOG_INFO);
    REQ_STR("JOIN-073", field(line, "work_id"), ph_id_text(ids[0].b, id));
    CHECK(field(line, "continuation") != NULL);
    line = newest_with("join_wait", "the message for success was enqueued");
    REQ("JOIN-073", line != NULL);
    REQ_STR("JOIN-073", field(line, "work_id"), ph_id_text(ids[1].b, id));
    line = newest_with("join_wait", "there is no message for failure");
    REQ("JOIN-073", line != NULL);
    REQ_STR("JOIN-073", field(line, "work_id"), ph_id_text(ids[2].b, id));
    CHECK_STR(field(line, "continuation"), NULL);
}

TEST(what_a_wait_sends_is_logged_as_enqueued_with_its_topic)
{
    ph_store *store = open_logging(PH_LOG_INFO);
    ph_join_id join = start_join(store, 1);
    ph_wait wait = a_wait(true);
    char id[PH_ID_TEXT_SIZE];
    const struct line *line;

    wait.on_complete_topic = "alle fertig, \xc3\xbc";
    wait.ns = "elsewhere";
    OK(ph_join_wait(store, PH_OWN_TX, join, &wait, 0, NULL, &t_err));
    put_step(store, join);
    end_step(store, PH_ACK);
    line = newest("enqueue");
    REQ_INT("OBX-102", line->level, PH_LOG_INFO);
    REQ_STR("OBX-102", field(line, "topic"), wait.on_complete_topic);
    REQ_STR("OBX-102", field(line, "namespace"), "elsewhere");
    CHECK_STR(field(line, "join_id"), ph_id_text(join.b, id));
    CHECK(field(line, "work_id") != NULL);
    wait.on_complete_topic = GOOD; /* the join has ended: it is sent at once */
    wait.ns = NULL;
    OK(ph_join_wait(store, PH_OWN_TX, join, &wait, 0, NULL, &t_err));
    REQ_STR("OBX-102", field(newest("enqueue"), "topic"), GOOD);
    CHECK_STR(field(newest("enqueue"), "namespace"), NULL);
}

TEST(neither_metadata_nor_payloads_are_logged)
{
    ph_store *store = open_logging(PH_LOG_DEBUG);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_wait wait = a_wait(true);
    ph_join_id join;

    opts.metadata = "tR0ub4dor";
    wait.on_complete_payload = wait.on_fail_payload = "tR0ub4dor";
    OK(ph_join_start(store, PH_OWN_TX, 1, &opts, 0, &join, &t_err));
    OK(ph_join_wait(store, PH_OWN_TX, join, &wait, 0, NULL, &t_err));
    put_step(store, join);
    end_step(store, PH_ACK);
    CHECK(journal.count > 3);
    for (size_t i = 0; i < journal.count; i++)
        CHECK(strstr(journal.lines[i].text, "tR0ub4dor") == NULL);
}

/* ------------------------------------------------------------------- callback */

static struct ended {
    int calls;
    ph_join_end last;
} ended;

static void note(void *context, const ph_join_end *join)
{
    CHECK(context == &ended);
    ended.calls++;
    ended.last = *join;
}

static ph_store *open_listening(void)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.join_ended = note;
    opts.join_context = &ended;
    return t_open(&opts);
}

TEST(the_callback_is_told_of_each_join_that_a_call_has_ended)
{
    ph_store *store = open_listening();
    ph_join_id a = start_join(store, 2), b = start_join(store, 1);
    ph_enqueued e = put_step(store, a);

    put_step(store, a);
    attach(store, b, e.message_id);
    wait_for(store, b, true);
    wait_for(store, b, true);
    CHECK_INT(ended.calls, 0);
    end_step(store, PH_FAIL); /* ends b alone */
    CHECK_INT(ended.calls, 1);
    CHECK(same_id(ended.last.id.b, b.b));
    CHECK_INT(ended.last.state, PH_JOIN_FAILED);
    CHECK_INT(ended.last.expected_steps, 1);
    CHECK_INT(ended.last.completed_steps, 0);
    CHECK_INT(ended.last.failed_steps, 1);
    CHECK_INT(ended.last.waits, 2);
    end_step(store, PH_ACK);
    CHECK_INT(ended.calls, 2);
    CHECK(same_id(ended.last.id.b, a.b));
    CHECK_INT(ended.last.completed_steps, 1);
    CHECK_INT(ended.last.waits, 0);
    wait_for(store, a, true); /* it had ended before */
    CHECK(!cancel(store, a));
    CHECK_INT(ended.calls, 2);
}

TEST(the_callback_hears_of_every_way_to_end)
{
    ph_store *store = open_listening();
    ph_join_id join = start_join(store, 1);
    ph_message m = a_message(STEP, "x");
    ph_message_id id;

    t_clock_set(store, T_EPOCH);
    CHECK(cancel(store, join));
    CHECK_INT(ended.calls, 1);
    CHECK_INT(ended.last.state, PH_JOIN_CANCELLED);
    id = put_step(store, start_join(store, 2)).message_id;
    end_step(store, PH_ACK);
    attach(store, start_join(store, 1), id); /* an attach */
    CHECK_INT(ended.calls, 2);
    CHECK_INT(ended.last.state, PH_JOIN_COMPLETED);
    join = start_join(store, 1);
    id = put_step(store, join).message_id;
    OK(ph_join_report_completed(store, PH_OWN_TX, join, id, 0, &t_err)); /* a report */
    CHECK_INT(ended.calls, 3);
    end_step(store, PH_ACK);
    join = start_join_until(store, 1, T_EPOCH + T_SECOND);
    t_clock_advance(store, T_SECOND);
    CHECK_INT(claimable(store, 1), 0); /* a claim that finds a deadline */
    CHECK_INT(ended.calls, 4);
    CHECK_INT(ended.last.state, PH_JOIN_FAILED);
    CHECK_INT(ended.last.failed_steps, 0);
    m.expires_at = T_EPOCH + 5 * T_SECOND;
    attach(store, start_join(store, 1), put(store, &m).message_id);
    t_clock_advance(store, 10 * T_SECOND);
    CHECK_INT(claimable(store, 1), 0); /* a claim that buries */
    CHECK_INT(ended.calls, 5);
    set_max_attempts(store, 1);
    put_step(store, start_join(store, 1));
    CHECK_INT(claimable(store, 1), 1);
    t_clock_advance(store, 31 * T_SECOND);
    CHECK_INT(reap(store), 1); /* a reap */
    CHECK_INT(ended.calls, 6);
    m = a_message(STEP, "x");
    m.dedupe_key = "k";
    put(store, &m);
    end_step(store, PH_ACK);
    join = start_join(store, 1);
    m.join_id = &join;
    put(store, &m); /* an enqueue: the duplicate is done */
    CHECK_INT(ended.calls, 7);
    CHECK_STR(standing(store, join), "1+0/1 completed");
}

TEST(one_call_that_ends_many_joins_tells_of_each)
{
    ph_store *store = open_listening();
    ph_enqueued e = a_step(store);

    for (int i = 0; i < 30; i++)
        attach(store, start_join(store, 1), e.message_id);
    end_step(store, PH_ACK);
    CHECK_INT(ended.calls, 30);
}

TEST(in_a_transaction_of_the_caller_it_is_told_by_the_call)
{
    ph_store *store = open_listening();
    struct t_conn *conn = t_connect();
    ph_join_id join = start_join(store, 1);

    t_begin(conn);
    OK(ph_join_cancel(store, t_tx(conn), join, 0, NULL, &t_err));
    CHECK_INT(ended.calls, 1);
    t_rollback(conn);
    CHECK_STR(standing(store, join), "0+0/1 pending");
    CHECK_INT(ended.calls, 1);
    t_disconnect(conn);
}
