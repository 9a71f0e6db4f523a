/* interface_test.c - the whole C interface, with arguments at random: nothing crashes, every failure
 * has a name, and what is stored stays whole.
 *
 * PH_FUZZ_SEED repeats a run; PH_FUZZ_SECONDS makes it longer (./test --fuzz). */
#include "arguments.h"

#define CALLS 2000
#define CALLS_PER_ROUND 1000

/* A store that was abused still works. */
static void check_store(const char *url)
{
    ph_store *store = NULL;
    struct t_conn *conn = t_connect_to(url);

    OK(ph_open(url, NULL, &store, &t_err));
    t_conn_schema(conn, "posthorn");
    t_check_places(conn);
    t_check_joins(conn);
    t_disconnect(conn);
    ph_close(store);
}

static void one_round(const char *url, uint64_t seed)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct t_conn *conn;
    ph_store *store = NULL;

    opts.timeout_ms = 500;
    OK(ph_open(url, &opts, &store, &t_err));
    conn = t_connect_to(url);
    fuzz_begin(store, conn, url, seed);
    for (int i = 0; i < CALLS_PER_ROUND; i++)
        fuzz_one();
    fuzz_over();
    t_disconnect(conn);
    ph_close(store);
    check_store(url);
}

TEST(every_function_takes_any_arguments)
{
    const char *seconds = getenv("PH_FUZZ_SECONDS"), *seed = getenv("PH_FUZZ_SEED");
    double end = t_now_s() + (seconds ? atof(seconds) : 0);
    uint64_t next = seconds ? t_seed("PH_FUZZ_SEED") : seed ? strtoull(seed, NULL, 0) : 1;
    const char *url = t_fresh_database();
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    t_limit(seconds ? (int)atof(seconds) + 120 : 120);
    opts.deploy_schema = true;
    OK(ph_open(url, &opts, &store, &t_err));
    ph_close(store);
    for (int i = 0; i < CALLS / CALLS_PER_ROUND || t_now_s() < end; i++) {
        fprintf(stderr, "PH_FUZZ_SEED=%llu\n", (unsigned long long)next);
        one_round(url, next++);
    }
}
