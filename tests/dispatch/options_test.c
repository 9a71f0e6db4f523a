/* options_test.c - what is refused, and that the error names the cure. */
#include "rig.h"

static ph_verdict nothing(void *context, ph_work *work)
{
    (void)context;
    (void)work;
    return PH_VERDICT_DONE;
}

/* The error must name this word, and the cure behind a semicolon or a colon, unless the cure is
 * obvious. */
static void check_refused(int r, const char *word)
{
    bool cure = strpbrk(t_err.message, ";:") || strstr(t_err.message, "not valid UTF-8");

    if (r != PH_EINVAL || !strstr(t_err.message, word) || !cure)
        printf("%d: \"%s\" should name \"%s\" and a cure\n", r, t_err.message, word);
    CHECK_INT(r, PH_EINVAL);
    CHECK_INT(t_err.code, PH_EINVAL);
    CHECK(strstr(t_err.message, word) != NULL);
    CHECK(cure);
}

static void refuse(ph_store *store, ph_dispatcher_opts opts, const char *word)
{
    ph_dispatcher *dispatcher = (ph_dispatcher *)store; /* must stay as it is */

    check_refused(ph_dispatcher_new(store, &opts, &dispatcher, &t_err), word);
    CHECK(dispatcher == (ph_dispatcher *)store);
}

static void accept(ph_store *store, ph_dispatcher_opts opts)
{
    ph_dispatcher *dispatcher = NULL;

    OK(ph_dispatcher_new(store, &opts, &dispatcher, &t_err));
    ph_dispatcher_free(dispatcher);
}

static ph_dispatcher_opts defaults(void)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;

    return opts;
}

#define WITH(member, value)                                                                        \
    ((ph_dispatcher_opts){ .size = sizeof(ph_dispatcher_opts), .member = value })

TEST(numbers_out_of_range_are_refused)
{
    ph_store *store = t_open(NULL);

    refuse(store, WITH(threads, -1), "threads");
    refuse(store, WITH(threads, 1025), "threads");
    refuse(store, WITH(batch_size, -1), "batch_size");
    refuse(store, WITH(batch_size, PH_BATCH_MAX + 1), "batch_size");
    refuse(store, WITH(prefetch, -2), "prefetch");
    refuse(store, WITH(in_flight_max, -1), "in_flight_max");
    refuse(store, WITH(lease_s, -1), "lease_s");
    refuse(store, WITH(lease_s, PH_LEASE_MAX_S + 1), "lease_s");
    refuse(store, WITH(poll_ms, -1), "poll_ms");
    refuse(store, WITH(defer_ms, -1), "defer_ms");
    refuse(store, WITH(message_limit, -1), "message_limit");
    refuse(store, WITH(retention_ms, -2), "retention_ms");
    refuse(store, WITH(doorbell, (ph_doorbell)7), "doorbell");
    refuse(store, WITH(connections, -1), "connections");
    refuse(store, WITH(connections, 3), "connections");
    accept(store, WITH(threads, 1024));
    accept(store, WITH(batch_size, PH_BATCH_MAX));
    accept(store, WITH(lease_s, PH_LEASE_MAX_S));
    accept(store, WITH(lease_s, 1)); /* the polling interval shrinks with it */
    accept(store, WITH(connections, 2));
    accept(store, WITH(in_flight_max, 1));
    accept(store, WITH(prefetch, 1));
    accept(store, WITH(prefetch, -1));
    accept(store, defaults());
}

TEST(a_polling_interval_above_a_third_of_the_lease_is_refused)
{
    ph_store *store = t_open(NULL);
    ph_dispatcher_opts opts = defaults();

    opts.lease_s = 3;
    opts.poll_ms = 1000;
    accept(store, opts);
    opts.poll_ms = 1001;
    refuse(store, opts, "poll_ms");
    CHECK(strstr(t_err.message, "lease") != NULL);
    opts.lease_s = 0; /* 30 */
    opts.poll_ms = 10000;
    accept(store, opts);
    opts.poll_ms = 10001;
    refuse(store, opts, "poll_ms");
    opts.poll_ms = INT32_MAX;
    refuse(store, opts, "poll_ms");
    opts.lease_s = PH_LEASE_MAX_S;
    opts.poll_ms = PH_LEASE_MAX_S / 3 * 1000;
    accept(store, opts);
}

TEST(a_bad_namespace_is_refused)
{
    ph_store *store = t_open(NULL);

    refuse(store, WITH(ns, repeated("n", PH_NAME_MAX + 1)), "namespace");
    refuse(store, WITH(ns, "not \xff UTF-8"), "namespace");
    accept(store, WITH(ns, repeated("\xe2\x82\xac", PH_NAME_MAX)));
    accept(store, WITH(ns, ""));
}

TEST(structs_of_other_versions)
{
    struct {
        ph_dispatcher_opts opts;
        char more[16];
    } newer = { PH_DISPATCHER_OPTS_INIT, { 0 } };
    ph_store *store = t_open(NULL);
    ph_dispatcher_opts opts = defaults();
    ph_dispatcher *dispatcher = NULL;

    opts.size = 0;
    refuse(store, opts, "size");
    opts.size = offsetof(ph_dispatcher_opts, lease_s); /* an older caller */
    opts.lease_s = -5;
    accept(store, opts);
    newer.opts.size = sizeof(newer);
    OK(ph_dispatcher_new(store, &newer.opts, &dispatcher, &t_err));
    ph_dispatcher_free(dispatcher);
    newer.more[3] = 1;
    dispatcher = NULL;
    check_refused(ph_dispatcher_new(store, &newer.opts, &dispatcher, &t_err), "version");
    CHECK(dispatcher == NULL);
}

TEST(missing_arguments_are_refused)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_store *store = t_open(NULL);
    ph_dispatcher *dispatcher = NULL;

    handler.handle = nothing;
    CHECK_INT(ph_dispatcher_new(NULL, NULL, &dispatcher, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "store is NULL");
    CHECK_INT(ph_dispatcher_new(store, NULL, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_dispatcher_new(NULL, NULL, &dispatcher, NULL), PH_EINVAL);
    CHECK_INT(ph_dispatcher_handle(NULL, &handler, &t_err), PH_EINVAL);
    CHECK_INT(ph_dispatcher_start(NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_dispatcher_drain(NULL, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_dispatcher_stop(NULL, 0, &t_err), PH_EINVAL);
    CHECK_INT(ph_dispatcher_stats_get(NULL, &stats, &t_err), PH_EINVAL);
    ph_dispatcher_free(NULL);

    OK(ph_dispatcher_new(store, NULL, &dispatcher, &t_err));
    CHECK_INT(ph_dispatcher_handle(dispatcher, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_dispatcher_stats_get(dispatcher, NULL, &t_err), PH_EINVAL);
    stats.size = 3;
    check_refused(ph_dispatcher_stats_get(dispatcher, &stats, &t_err), "size");
    OK(ph_dispatcher_handle(dispatcher, &handler, &t_err));
    OK(ph_dispatcher_start(dispatcher, &t_err));
    CHECK_INT(ph_dispatcher_drain(dispatcher, -1, &t_err), PH_EINVAL);
    CHECK_INT(ph_dispatcher_stop(dispatcher, -1, &t_err), PH_EINVAL);
    OK(ph_dispatcher_stop(dispatcher, 0, &t_err));
    ph_dispatcher_free(dispatcher);
}

static void refuse_handler(ph_dispatcher *dispatcher, ph_handler handler, const char *word)
{
    check_refused(ph_dispatcher_handle(dispatcher, &handler, &t_err), word);
}

static void take_handler(ph_dispatcher *dispatcher, ph_handler handler)
{
    OK(ph_dispatcher_handle(dispatcher, &handler, &t_err));
}

#define HANDLER(...) ((ph_handler){ .size = sizeof(ph_handler), __VA_ARGS__ })

TEST(bad_handlers_are_refused)
{
    ph_store *store = t_open(NULL);
    ph_dispatcher *d = NULL;

    OK(ph_dispatcher_new(store, NULL, &d, &t_err));
    refuse_handler(d, HANDLER(.topic = "t"), "function");
    refuse_handler(d, HANDLER(.topic = "", .handle = nothing), "topic");
    refuse_handler(d, HANDLER(.topic = repeated("t", PH_NAME_MAX + 1), .handle = nothing), "topic");
    refuse_handler(d, HANDLER(.topic = "\xff", .handle = nothing), "topic");
    refuse_handler(d, HANDLER(.topic = "t", .handle = nothing, .time_limit_ms = -1),
                   "time_limit_ms");
    refuse_handler(d, (ph_handler){ .topic = "t", .handle = nothing }, "size");
    take_handler(d, HANDLER(.topic = "t", .handle = nothing));
    refuse_handler(d, HANDLER(.topic = "t", .handle = nothing), "t");
    take_handler(d, HANDLER(.handle = nothing));
    refuse_handler(d, HANDLER(.handle = nothing), "topic");
    take_handler(d, HANDLER(.topic = repeated("t", PH_NAME_MAX), .handle = nothing));
    ph_dispatcher_free(d);
}

TEST(the_order_of_calls_is_checked)
{
    ph_store *store = t_open(NULL);
    ph_dispatcher *d = NULL;

    OK(ph_dispatcher_new(store, NULL, &d, &t_err));
    check_refused(ph_dispatcher_start(d, &t_err), "handler");
    check_refused(ph_dispatcher_drain(d, 100, &t_err), "start");
    take_handler(d, HANDLER(.topic = "t", .handle = nothing));
    OK(ph_dispatcher_start(d, &t_err));
    check_refused(ph_dispatcher_start(d, &t_err), "start");
    refuse_handler(d, HANDLER(.topic = "u", .handle = nothing), "start");
    OK(ph_dispatcher_drain(d, 60000, &t_err));
    OK(ph_dispatcher_stop(d, 1000, &t_err));
    check_refused(ph_dispatcher_start(d, &t_err), "start");
    CHECK_INT(ph_dispatcher_drain(d, 100, &t_err), PH_EINVAL);
    refuse_handler(d, HANDLER(.topic = "u", .handle = nothing), "start");
    ph_dispatcher_free(d);
}

TEST(a_dispatcher_that_was_never_started_can_be_stopped_and_freed)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    ph_store *store = t_open(NULL);
    ph_dispatcher *d = NULL;

    OK(ph_dispatcher_new(store, NULL, &d, &t_err));
    OK(ph_dispatcher_stats_get(d, &stats, &t_err));
    CHECK_INT(stats.claimed, 0);
    CHECK(!ph_id_is_zero(ph_dispatcher_owner(d).b));
    OK(ph_dispatcher_stop(d, 100, &t_err));
    ph_dispatcher_free(d);
    t_enqueue(store, "t", "x"); /* the store is ours again */
}

TEST(every_dispatcher_has_an_owner_of_its_own)
{
    ph_store *store = t_open(NULL), *second = t_open(NULL);
    ph_dispatcher *d = NULL, *e = NULL;

    OK(ph_dispatcher_new(store, NULL, &d, &t_err));
    OK(ph_dispatcher_new(second, NULL, &e, &t_err));
    CHECK(!same_id(ph_dispatcher_owner(d).b, ph_dispatcher_owner(e).b));
    ph_dispatcher_free(d);
    ph_dispatcher_free(e);
}
