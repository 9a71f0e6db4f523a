/* timer_args_test.c - every argument of the functions of timers at its edges. */
#include "doors.h"

static ph_timer a_timer(void)
{
    ph_timer timer = PH_TIMER_INIT;

    timer.topic = "remind";
    timer.payload = "tea";
    timer.due_at = T_EPOCH;
    return timer;
}

/* It says exactly this, answers nothing, and stores nothing. */
static void refused(ph_store *store, const ph_timer *timer, const char *says)
{
    struct t_conn *conn = t_connect();
    ph_work_id id, untouched;

    memset(&id, 0x5a, sizeof(id));
    memset(&untouched, 0x5a, sizeof(untouched));
    CHECK_INT(ph_timer_schedule(store, PH_OWN_TX, timer, 0, &id, &t_err), PH_EINVAL);
    CHECK_INT(t_err.code, PH_EINVAL);
    CHECK_STR(t_err.message, says);
    CHECK(memcmp(&id, &untouched, sizeof(id)) == 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}message"), 0);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}queue WHERE door <> 0"), 0);
    t_disconnect(conn);
}

TEST(topic_and_payload_of_a_timer_are_required)
{
    ph_store *store = t_open(NULL);
    ph_timer timer = a_timer();

    refused(store, NULL, "timer is NULL");
    timer.topic = NULL;
    refused(store, &timer, "topic is NULL; it is required");
    timer.topic = "";
    refused(store, &timer, "topic is empty; it is required");
    timer = a_timer();
    timer.payload = NULL;
    refused(store, &timer, "payload is NULL; it is required, but may be empty");
    timer.payload = "";
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err));
}

TEST(a_timer_needs_a_time_of_our_age)
{
    ph_store *store = t_open(NULL);
    ph_timer timer = a_timer();

    timer.due_at = 0;
    refused(store, &timer, "due_at is not set; a timer needs one");
    timer.due_at = PH_TIMER_MIN - 1;
    refused(store, &timer,
            "due_at is before the year 2000; its unit is probably wrong; times are microseconds "
            "since 1970");
    timer.due_at = 1700000000; /* seconds */
    refused(store, &timer,
            "due_at is before the year 2000; its unit is probably wrong; times are microseconds "
            "since 1970");
    timer.due_at = PH_TIME_MAX + 1;
    refused(store, &timer, "due_at lies outside the years 1 to 9999");
    timer.due_at = INT64_MIN;
    refused(store, &timer, "due_at lies outside the years 1 to 9999");
    timer.due_at = PH_TIMER_MIN;
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err));
    timer.due_at = PH_TIME_MAX;
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err));
    CHECK_INT(door_counts(&timers_door, store, NULL).scheduled, 1);
}

TEST(texts_of_a_timer_are_checked)
{
    ph_store *store = t_open(NULL);
    char *over = repeated("\xe2\x82\xac", 256);
    ph_timer timer = a_timer();

    timer.topic = over;
    refused(store, &timer, "topic has 256 characters; at most 255 are allowed");
    timer.topic = "\xc3";
    refused(store, &timer, "topic is not valid UTF-8");
    timer = a_timer();
    timer.ns = over;
    refused(store, &timer, "namespace has 256 characters; at most 255 are allowed");
    timer = a_timer();
    timer.correlation_id = over;
    refused(store, &timer, "correlation_id has 256 characters; at most 255 are allowed");
    timer = a_timer();
    timer.headers = "[]";
    refused(store, &timer, "headers are not a JSON object");
    timer = a_timer();
    timer.payload = "\xff";
    refused(store, &timer, "payload is not valid UTF-8; encode binary data as text");
    timer.payload = "a\0b";
    timer.payload_length = 3;
    refused(store, &timer, "payload holds a NUL byte; encode binary data as text");
    timer.payload_length = PH_PAYLOAD_MAX + 1;
    CHECK_INT(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err), PH_EINVAL);
    timer = a_timer();
    timer.topic = timer.ns = timer.correlation_id = repeated("\xe2\x82\xac", 255);
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, &t_err));
}

TEST(the_size_of_a_timer_is_looked_at)
{
    struct {
        ph_timer timer;
        int64_t newer;
    } longer = { a_timer(), 0 };
    ph_store *store = t_open(NULL);
    ph_timer timer = a_timer();

    timer.size = 0;
    refused(store, &timer,
            "ph_timer: the member size is not set; initialise the struct with its _INIT macro");
    longer.timer.size = sizeof(longer);
    longer.newer = 1;
    CHECK_INT(ph_timer_schedule(store, PH_OWN_TX, &longer.timer, 0, NULL, &t_err), PH_EINVAL);
    longer.newer = 0;
    OK(ph_timer_schedule(store, PH_OWN_TX, &longer.timer, 0, NULL, &t_err));
    timer = a_timer(); /* an older caller: without correlation id and headers */
    timer.size = offsetof(ph_timer, correlation_id);
    timer.headers = "not read";
    OK(ph_timer_schedule(store, PH_OWN_TX, &timer, 0, NULL, NULL));
}

TEST(other_arguments_of_timers)
{
    static const ph_work_id none;
    ph_store *store = t_open(NULL);
    ph_timer timer = a_timer();
    ph_work_id id = put_timer(store, "tea", T_EPOCH);
    bool cancelled = true;

    CHECK_INT(ph_timer_schedule(NULL, PH_OWN_TX, &timer, 0, NULL, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "store is NULL; open one with ph_open()");
    CHECK_INT(ph_timer_schedule(store, PH_OWN_TX, &timer, -1, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_timer_cancel(NULL, PH_OWN_TX, id, 0, &cancelled, &t_err), PH_EINVAL);
    CHECK_INT(ph_timer_cancel(store, PH_OWN_TX, id, -1, &cancelled, &t_err), PH_EINVAL);
    CHECK_INT(ph_timer_cancel(store, PH_OWN_TX, none, 0, &cancelled, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "timer id is empty; pass the one from ph_timer_schedule()");
    CHECK(cancelled);
    CHECK_INT(see_by(ph_timers_find, store, id).status, PH_READY);
    OK(ph_timer_cancel(store, PH_OWN_TX, id, 0, NULL, NULL)); /* nothing needs to be asked for */
    CHECK(!see_by(ph_timers_find, store, id).there);
}
