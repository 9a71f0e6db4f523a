/* receptor_test.c - several parties that one message concerns, each for itself (coordination.h;
 * docs/states.md, Receptors; scenario 43). */
#include "lanes.h"

static int try_report(ph_store *store, ph_work_id id, const char *receptor, bool failed,
                      const char *error)
{
    ph_receptor_result result = { id, receptor, failed, error };

    return ph_receptor_report(store, PH_OWN_TX, &result, 1, 0, &t_err);
}

static void completed(ph_store *store, ph_work_id id, const char *receptor)
{
    OK(try_report(store, id, receptor, false, NULL));
}

static void failed(ph_store *store, ph_work_id id, const char *receptor, const char *error)
{
    OK(try_report(store, id, receptor, true, error));
}

/* "mail completed 1, log failed 2 (why)": name, how, attempts, error. */
static const char *receptors(ph_store *store, ph_work_id id)
{
    static char text[2000];
    ph_receptors *list = NULL;

    OK(ph_receptor_list(store, PH_OWN_TX, T_OPTS(ph_receptor_list_opts, .work_id = id), 0, &list,
                        &t_err));
    text[0] = '\0';
    for (size_t i = 0; i < ph_receptors_count(list); i++) {
        const ph_receptor_info *info = ph_receptors_at(list, i);
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%s %s %d%s%s%s", i ? ", " : "",
                 info->receptor, info->completed ? "completed" : "failed", info->attempts,
                 info->error ? " (" : "", info->error ? info->error : "", info->error ? ")" : "");
    }
    CHECK(ph_receptors_at(list, ph_receptors_count(list)) == NULL);
    ph_receptors_free(list);
    return text;
}

/* Scenario 43. */
LANE_TEST(one_receptor_that_fails_leaves_its_siblings_done)
{
    ph_store *store = open_at_epoch();
    ph_work_id id = door->make(store, "", "x");
    ph_receptors *list = NULL;

    CHECK_STR(receptors(store, id), "");
    completed(store, id, "mail");
    failed(store, id, "log", "disk full");
    completed(store, id, "bill");
    REQ_STR("REC-001", receptors(store, id),
            "bill completed 1, log failed 1 (disk full), "
            "mail completed 1");
    t_clock_advance(store, T_SECOND);
    failed(store, id, "log", "still full");
    REQ_STR("REC-001", receptors(store, id),
            "bill completed 1, log failed 2 (still full), "
            "mail completed 1");
    failed(store, id, "log", NULL);
    CHECK_STR(receptors(store, id), "bill completed 1, log failed 3, mail completed 1");
    t_clock_advance(store, T_SECOND);
    completed(store, id, "log");
    REQ_STR("REC-001", receptors(store, id),
            "bill completed 1, log completed 4, "
            "mail completed 1");
    OK(ph_receptor_list(store, PH_OWN_TX, T_OPTS(ph_receptor_list_opts, .work_id = id), 0, &list,
                        &t_err));
    CHECK_INT(ph_receptors_at(list, 1)->first_at, T_EPOCH);
    CHECK_INT(ph_receptors_at(list, 1)->last_at, T_EPOCH + 2 * T_SECOND);
    ph_receptors_free(list);
    all_is_well(store);
}

/* "Completed already: nothing." */
TEST(who_is_completed_stays_so)
{
    ph_store *store = open_at_epoch();
    ph_work_id id = t_enqueue(store, TOPIC, "x").work_id;
    ph_receptors *list = NULL;

    completed(store, id, "mail");
    t_clock_advance(store, T_SECOND);
    failed(store, id, "mail", "no");
    completed(store, id, "mail");
    REQ_STR("REC-001", receptors(store, id), "mail completed 1");
    OK(ph_receptor_list(store, PH_OWN_TX, T_OPTS(ph_receptor_list_opts, .work_id = id), 0, &list,
                        &t_err));
    CHECK_INT(ph_receptors_at(list, 0)->last_at, T_EPOCH);
    ph_receptors_free(list);
}

/* "Reports 1 … PH_BATCH_MAX results, in order, all or none." */
TEST(results_are_taken_in_order_all_or_none)
{
    ph_store *store = open_at_epoch();
    ph_work_id id = t_enqueue(store, TOPIC, "x").work_id,
               other = t_enqueue(store, TOPIC, "y").work_id;
    ph_receptor_result results[5] = { { id, "a", true, "1" },
                                      { id, "a", true, "2" },
                                      { other, "a", false, NULL },
                                      { id, "a", false, NULL },
                                      { id, "a", true, "late" } };

    OK(ph_receptor_report(store, PH_OWN_TX, results, 5, 0, &t_err));
    REQ_STR("REC-001", receptors(store, id), "a completed 3");
    CHECK_STR(receptors(store, other), "a completed 1");
    results[0].receptor = "b";
    memset(results[1].work_id.b, 0x11, 16);
    CHECK_INT(ph_receptor_report(store, PH_OWN_TX, results, 3, 0, &t_err), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, "result 1") != NULL);
    REQ_STR("REC-001", receptors(store, id), "a completed 3");
    all_is_well(store);
}

/* "The record belongs to the message, and survives its retries", an operator's too: by message id. */
TEST(the_record_survives_retries)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_work_id id = t_enqueue(store, TOPIC, "x").work_id, again = { { 0 } };

    completed(store, id, "mail");
    failed(store, id, "log", "no");
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_ABANDON, "no", 0),
              PH_OUTCOME_ABANDONED);
    CHECK_STR(receptors(store, id), "log failed 1 (no), mail completed 1");
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_FAIL, "no", 0), PH_OUTCOME_FAILED);
    OK(ph_dead_retry(store, PH_OWN_TX, &id, 1, 0, &again, &t_err));
    REQ_STR("REC-002", receptors(store, again), "log failed 1 (no), mail completed 1");
    failed(store, again, "log", "again");
    REQ_STR("REC-002", receptors(store, id), "log failed 2 (again), mail completed 1");
    all_is_well(store);
}

/* In the view, too: work_id is the id of the newest message in the views outbox and inbox. */
TEST(the_view_of_receptors_joins_outbox_and_inbox)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_owner owner = ph_owner_new();
    ph_work_id id = t_enqueue(store, TOPIC, "x").work_id, again = { { 0 } };

    completed(store, id, "mail");
    completed(store, inbox_door.make(store, "", "t"), "log");
    CHECK_STR(
        t_value(conn, "SELECT r.receptor FROM {t}receptors r JOIN {t}outbox o ON o.id = r.work_id"),
        "mail");
    CHECK_STR(
        t_value(conn, "SELECT r.receptor FROM {t}receptors r JOIN {t}inbox i ON i.id = r.work_id"),
        "log");
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_FAIL, "no", 0), PH_OUTCOME_FAILED);
    OK(ph_dead_retry(store, PH_OWN_TX, &id, 1, 0, &again, &t_err));
    CHECK_STR(
        t_value(conn, "SELECT o.status FROM {t}receptors r JOIN {t}outbox o ON o.id = r.work_id"),
        "ready");
    t_disconnect(conn);
    all_is_well(store);
}

/* "Rows go when the last message with that message id is forgotten." */
TEST(the_record_goes_with_the_last_message_of_that_id)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_work_id id = t_enqueue(store, TOPIC, "x").work_id, again = { { 0 } };

    completed(store, id, "mail");
    completed(store, id, "log");
    CHECK_INT(settle(store, owner, take_one(store, owner), PH_FAIL, "no", 0), PH_OUTCOME_FAILED);
    OK(ph_dead_retry(store, PH_OWN_TX, &id, 1, 0, &again, &t_err));
    OK(ph_dead_discard(store, PH_OWN_TX, &id, 1, 0, NULL, &t_err));
    REQ_STR("REC-002", receptors(store, again), "log completed 1, mail completed 1");
    settings.retention_s = 10;
    set_queue(store, &settings);
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}receptor"), 2);
    t_clock_advance(store, 10 * T_SECOND);
    OK(ph_retention_run(store, PH_OWN_TX, 0, 0, NULL, &t_err));
    REQ_INT("REC-002", t_number(conn, "SELECT count(*) FROM {t}receptor"), 0);
    CHECK_INT(try_report(store, again, "mail", false, NULL), PH_ENOTFOUND);
    t_disconnect(conn);
    all_is_well(store);
}

TEST(the_record_goes_at_once_with_delete_on_ack)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_owner owner = ph_owner_new();
    ph_work_id id;

    settings.delete_on_ack = 1;
    set_queue(store, &settings);
    id = t_enqueue(store, TOPIC, "x").work_id;
    completed(store, id, "mail");
    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    REQ_INT("REC-002", t_number(conn, "SELECT count(*) FROM {t}receptor"), 0);
    t_disconnect(conn);
}

/* "no such message of outbox or inbox: an error" */
TEST(only_messages_of_outbox_and_inbox_have_receptors)
{
    ph_store *store = open_at_epoch();
    ph_work_id timer = timers_door.make(store, "", "t"), none = { { 0x22, 0x22 } };

    CHECK_INT(try_report(store, timer, "r", false, NULL), PH_ENOTFOUND);
    CHECK_INT(try_report(store, none, "r", false, NULL), PH_ENOTFOUND);
    CHECK(strstr(t_err.message, "there is no such message") != NULL);
    CHECK_STR(receptors(store, none), ""); /* nobody has reported */
}

/* A settled message still has its record; reports are possible as long as it is there. */
TEST(receptors_may_report_after_the_ack)
{
    ph_store *store = open_at_epoch();
    ph_owner owner = ph_owner_new();
    ph_work_id id = t_enqueue(store, TOPIC, "x").work_id;

    CHECK_INT(ack(store, owner, take_one(store, owner)), PH_OUTCOME_ACKED);
    completed(store, id, "late");
    CHECK_STR(receptors(store, id), "late completed 1");
    all_is_well(store);
}

TEST(reports_of_receptors_can_be_rolled_back)
{
    ph_store *store = open_at_epoch();
    struct t_conn *conn = t_connect();
    ph_receptor_result result = { t_enqueue(store, TOPIC, "x").work_id, "r", false, NULL };
    ph_receptors *list = NULL;

    CHECK_INT(ph_receptor_report(store, t_tx(conn), &result, 1, 0, &t_err), PH_ENOTX);
    t_begin(conn);
    OK(ph_receptor_report(store, t_tx(conn), &result, 1, 0, &t_err));
    OK(ph_receptor_list(store, t_tx(conn), T_OPTS(ph_receptor_list_opts, .work_id = result.work_id),
                        0, &list, &t_err));
    CHECK_INT(ph_receptors_count(list), 1);
    ph_receptors_free(list);
    t_rollback(conn);
    CHECK_STR(receptors(store, result.work_id), "");
    t_disconnect(conn);
}

/* Errors of any form are kept as those of attempts are: mended, and cut. */
TEST(errors_of_receptors_survive_quotes_bytes_and_length)
{
    ph_store *store = open_at_epoch();
    ph_work_id id = t_enqueue(store, TOPIC, "x").work_id;
    ph_receptors *list = NULL;

    failed(store, id, "a", "it's \"so\"\n\\");
    CHECK_STR(receptors(store, id), "a failed 1 (it's \"so\"\n\\)");
    failed(store, id, "b", repeated("x", PH_ERROR_TEXT_MAX + 100));
    failed(store, id, "c", "bad \xff byte");
    OK(ph_receptor_list(store, PH_OWN_TX, T_OPTS(ph_receptor_list_opts, .work_id = id), 0, &list,
                        &t_err));
    CHECK_INT(strlen(ph_receptors_at(list, 1)->error), PH_ERROR_TEXT_MAX);
    CHECK(strncmp(ph_receptors_at(list, 2)->error, "bad ", 4) == 0);
    ph_receptors_free(list);
}

TEST(bad_results_of_receptors_are_refused)
{
    ph_store *store = t_open(NULL);
    ph_work_id id = t_enqueue(store, TOPIC, "x").work_id;
    ph_receptor_result result = { id, "r", false, NULL };
    ph_receptors *list = NULL;

    CHECK_INT(try_report(store, id, NULL, false, NULL), PH_EINVAL);
    CHECK(strstr(t_err.message, "receptor is NULL") != NULL);
    CHECK_INT(try_report(store, id, "", false, NULL), PH_EINVAL);
    CHECK(strstr(t_err.message, "receptor is empty") != NULL);
    CHECK_INT(try_report(store, id, "\xff", false, NULL), PH_EINVAL);
    CHECK_INT(try_report(store, id, repeated("x", PH_NAME_MAX + 1), false, NULL), PH_EINVAL);
    OK(try_report(store, id, repeated("x", PH_NAME_MAX), false, NULL));
    CHECK_INT(ph_receptor_report(store, PH_OWN_TX, NULL, 1, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_receptor_report(store, PH_OWN_TX, &result, 0, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_receptor_report(store, PH_OWN_TX, &result, PH_BATCH_MAX + 1, 0, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_receptor_report(NULL, PH_OWN_TX, &result, 1, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_receptor_list(store, PH_OWN_TX, T_OPTS(ph_receptor_list_opts, .work_id = id), 0,
                               NULL, &t_err),
              PH_EINVAL);
    CHECK_INT(ph_receptor_list(store, PH_OWN_TX, T_OPTS(ph_receptor_list_opts, .work_id = id), -1,
                               &list, &t_err),
              PH_EINVAL);
    CHECK(list == NULL);
    ph_receptors_free(NULL);
    CHECK_INT(ph_receptors_count(NULL), 0);
}
