/* open.c - opening without a database: URLs, names, options, and memory. */
#include "harness.h"

#include "store/store.h"
#include "util/alloc.h"

#include <stdlib.h>

/* A URL of a backend that this build has. */
static const char *some_url(void)
{
    return strstr(ph_backends(), "sqlite") ? "sqlite:orders.db" : "postgresql:dbname=orders";
}

static int lazy(const char *url, const ph_store_opts *opts, ph_store **ret_store)
{
    return ph_open_lazy(url, opts, ret_store, &t_err);
}

static void refused(const char *url, const ph_store_opts *opts, int code, const char *part)
{
    ph_store *store = (void *)&store, *untouched = store;

    CHECK_INT(lazy(url, opts, &store), code);
    CHECK(store == untouched);
    if (!strstr(t_err.message, part))
        printf("\"%s\" is not in \"%s\"\n", part, t_err.message);
    CHECK(strstr(t_err.message, part) != NULL);
    CHECK_INT(ph_open(url, opts, &store, &t_err), code);
    CHECK(store == untouched);
}

TEST(version_and_backends)
{
    char version[32];

    snprintf(version, sizeof(version), "%d.%d.%d", PH_VERSION_MAJOR, PH_VERSION_MINOR,
             PH_VERSION_PATCH);
    CHECK_STR(ph_version(), version);
    CHECK_STR(ph_version(), PH_VERSION);
    CHECK(strstr(ph_backends(), "sqlite") || strstr(ph_backends(), "postgresql"));
}

TEST(arguments_are_required)
{
    ph_store *store;

    CHECK_INT(lazy(NULL, NULL, &store), PH_EINVAL);
    CHECK_STR(t_err.message, "url is NULL");
    CHECK_INT(lazy(some_url(), NULL, NULL), PH_EINVAL);
    CHECK_STR(t_err.message, "ret_store is NULL");
    CHECK_INT(ph_open(some_url(), NULL, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_open(NULL, NULL, &store, NULL), PH_EINVAL);
}

TEST(unknown_schemes_are_refused_with_the_cure)
{
    static const char *const urls[] = { "",      "mysql://localhost/x", "orders.db",
                                        ":",     "http://localhost",    "SQLITE:x",
                                        "lite:x" };

    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++)
        refused(urls[i], NULL, PH_EINVAL, "sqlite:orders.db or postgresql://localhost/orders");
}

TEST(a_file_has_no_host_and_a_password_before_one_is_not_shown)
{
    ph_store *store = NULL;

    if (!strstr(ph_backends(), "sqlite"))
        t_not_here("no SQLite in this build");
    refused("sqlite://x.db", NULL, PH_EINVAL, "write sqlite:PATH");
    refused("sqlite://u:SECRET@h/x.db", NULL, PH_EINVAL, "write sqlite:PATH");
    CHECK(strstr(t_err.message, "SECRET") == NULL);
    OK(lazy("sqlite:///x.db", NULL, &store));
    ph_close(store);
}

TEST(names_are_allow_listed)
{
    static const char *const wrong[] = { "",
                                         "1a",
                                         "a b",
                                         "a-b",
                                         "a\"b",
                                         "a'b",
                                         "a;b",
                                         "\xc3\xa4",
                                         "a.b",
                                         "pg_x",
                                         "PG_x",
                                         "sqlite_x",
                                         "information_schema",
                                         "a2345678901234567890123456789012345678901" };
    static const char *const right[] = { "a", "_", "A_1",
                                         "a234567890123456789012345678901234567890" };
    ph_store *store;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        ph_store_opts opts = PH_STORE_OPTS_INIT;

        opts.schema = wrong[i];
        refused(some_url(), &opts, PH_EINVAL, "schema");
        if (!*wrong[i])
            continue;
        opts.schema = NULL;
        opts.table_prefix = wrong[i];
        refused(some_url(), &opts, PH_EINVAL, "table_prefix");
    }
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
        ph_store_opts opts = PH_STORE_OPTS_INIT;

        opts.schema = right[i];
        opts.table_prefix = right[i];
        OK(lazy(some_url(), &opts, &store));
        ph_close(store);
    }
}

TEST(other_options_are_checked)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.timeout_ms = -1;
    refused(some_url(), &opts, PH_EINVAL, "timeout_ms is -1");
    opts.timeout_ms = 0;
    opts.log_level = (ph_log_level)5;
    refused(some_url(), &opts, PH_EINVAL, "log_level 5");
    opts.log_level = (ph_log_level)0;
    opts.prepared = (ph_prepared)2;
    refused(some_url(), &opts, PH_EINVAL, "prepared 2");
    opts.prepared = PH_PREPARED_OFF;
    opts.size = 0;
    refused(some_url(), &opts, PH_EINVAL, "_INIT");
}

TEST(the_store_id_is_given_or_made_without_password)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store;

    opts.store_id = "mine";
    OK(lazy(some_url(), &opts, &store));
    CHECK_STR(ph_store_id(store), "mine");
    ph_close(store);
    OK(lazy(some_url(), NULL, &store));
    CHECK(strstr(ph_store_id(store), "orders") != NULL);
    ph_close(store);
    CHECK_STR(ph_store_id(NULL), "");
}

TEST(passwords_are_not_shown)
{
    static const char *const urls[] = {
        "postgresql://user:s3cret@localhost:5432/orders",
        "postgres://localhost/orders?user=u&password=s3cret",
        "postgresql:host=localhost password=s3cret dbname=orders",
        "postgresql:host=localhost password = 's3cret' dbname=orders",
        "postgresql://user:s3cret@@bad%zz/orders",
        "postgresql://localhost/orders?password=s3cret&sslpassword=s3cret2&nonsense=1",
    };

    if (!strstr(ph_backends(), "postgresql"))
        t_skip("no PostgreSQL in this build");
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        ph_store *store = NULL;

        if (lazy(urls[i], NULL, &store) == 0)
            CHECK(!strstr(ph_store_id(store), "s3cret"));
        else
            CHECK(!strstr(t_err.message, "s3cret"));
        ph_close(store);
    }
}

TEST(closing_nothing_is_fine)
{
    ph_close(NULL);
    ph_free(NULL);
    ph_batch_free(NULL);
    ph_message_info_free(NULL);
    CHECK_INT(ph_batch_count(NULL), 0);
    CHECK(ph_batch_at(NULL, 0) == NULL);
}

TEST(a_reference_of_no_delivery_is_empty)
{
    ph_lease_ref ref = ph_lease_ref_of(NULL);

    CHECK(ph_id_is_zero(ref.work_id.b));
    CHECK_INT(ref.fence, 0);
}

static void run_out(const char *url)
{
    ph_store *store = NULL;
    long n = 0;
    int r;

    do {
        ph__alloc_fail_after = n++;
        r = lazy(url, NULL, &store);
        ph__alloc_fail_after = -1;
        if (r < 0) {
            CHECK_INT(r, PH_ENOMEM);
            CHECK_INT(t_err.flags, PH_RETRY);
            CHECK(store == NULL);
        }
        CHECK(n < 100);
    } while (r < 0);
    CHECK(n > 4);
    ph_close(store);
}

/* Every allocation of an opening fails once: an error each time, no leak, and
 * at last success. */
TEST(memory_runs_out_while_opening)
{
    if (strstr(ph_backends(), "sqlite"))
        run_out("sqlite:x");
    if (strstr(ph_backends(), "postgresql"))
        run_out("postgresql://u:p@localhost/x");
}
