/* store_test.c - opening and closing: URLs, options, servers that are not there, and secrets. */
#include "common.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECRET "s3cr3t-horse"

static int refused(const char *url, const ph_store_opts *opts)
{
    ph_store *store = NULL;
    int r = t_try_open(url, opts, &store);

    CHECK(r < 0 && store == NULL);
    CHECK_INT(t_err.code, r);
    CHECK(t_err.message[0] != '\0');
    CHECK(strstr(t_err.message, SECRET) == NULL);
    return r;
}

TEST(unknown_urls_are_refused_with_an_example)
{
    static const char *const urls[] = { "",
                                        ":",
                                        "sqlite",
                                        "orders.db",
                                        "/tmp/orders.db",
                                        "SQLITE:x",
                                        ("mysql://user:" SECRET "@host/db"),
                                        "http://localhost",
                                        ("host=localhost password=" SECRET),
                                        "\xff",
                                        "file:x.db" };

    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        CHECK_INT(refused(urls[i], NULL), PH_EINVAL);
        CHECK(strstr(t_err.message, "sqlite:") && strstr(t_err.message, "postgresql:"));
    }
}

TEST(open_checks_its_pointers)
{
    ph_store *store = NULL;

    CHECK_INT(ph_open(NULL, NULL, &store, &t_err), PH_EINVAL);
    CHECK_INT(ph_open(t_url(), NULL, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_open(NULL, NULL, NULL, NULL), PH_EINVAL);
    CHECK_INT(ph_open_lazy(NULL, NULL, &store, &t_err), PH_EINVAL);
    CHECK_INT(ph_open_lazy(t_url(), NULL, NULL, NULL), PH_EINVAL);
    CHECK(store == NULL);
    ph_close(NULL);
    CHECK_STR(ph_store_id(NULL), "");
}

TEST(options_at_their_edges)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    struct {
        ph_store_opts opts;
        void *newer;
    } longer = { PH_STORE_OPTS_INIT, NULL };
    ph_store *store = NULL;

    opts.size = 0;
    CHECK_INT(refused(t_url(), &opts), PH_EINVAL);
    opts.size = sizeof(opts);
    opts.timeout_ms = -1;
    CHECK_INT(refused(t_url(), &opts), PH_EINVAL);
    opts.timeout_ms = 0;
    opts.log_level = (ph_log_level)5;
    CHECK_INT(refused(t_url(), &opts), PH_EINVAL);
    opts.log_level = (ph_log_level)-1;
    CHECK_INT(refused(t_url(), &opts), PH_EINVAL);
    opts.log_level = PH_LOG_DEBUG;
    opts.prepared = (ph_prepared)2;
    CHECK_INT(refused(t_url(), &opts), PH_EINVAL);
    longer.opts.size = sizeof(longer);
    longer.newer = &longer;
    CHECK_INT(refused(t_url(), &longer.opts), PH_EINVAL);
    longer.newer = NULL;
    longer.opts.schema = t_schema();
    longer.opts.deploy_schema = true;
    OK(t_try_open(t_url(), &longer.opts, &store));
}

TEST(strings_of_the_options_are_copied)
{
    char url[1024], schema[64], id[16] = "shop 1";
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;

    snprintf(url, sizeof(url), "%s", t_url());
    snprintf(schema, sizeof(schema), "%s", t_schema());
    opts.schema = schema;
    opts.store_id = id;
    opts.deploy_schema = true;
    OK(t_try_open(url, &opts, &store));
    memset(url, 'x', sizeof(url));
    memset(schema, 'x', sizeof(schema));
    memset(id, 'x', sizeof(id));
    CHECK_STR(ph_store_id(store), "shop 1");
    t_enqueue(store, "orders", "x");
    CHECK_INT(claimable(store, 10), 1);
}

TEST(the_clock_checks_its_arguments)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    int64_t time = 5;

    CHECK_INT(ph_clock(NULL, PH_OWN_TX, 0, &time, &t_err), PH_EINVAL);
    CHECK_INT(ph_clock(store, PH_OWN_TX, 0, NULL, &t_err), PH_EINVAL);
    CHECK_INT(ph_clock(store, PH_OWN_TX, -1, &time, &t_err), PH_EINVAL);
    CHECK_INT(ph_clock(store, t_tx(conn), 0, &time, &t_err), PH_ENOTX);
    CHECK_INT(time, 5);
    t_begin(conn);
    OK(ph_clock(store, t_tx(conn), 0, &time, &t_err));
    t_commit(conn);
    CHECK(time > T_EPOCH);
    t_clock_set(store, T_EPOCH);
    t_begin(conn);
    OK(ph_clock(store, t_tx(conn), 0, &time, &t_err));
    t_commit(conn);
    CHECK_INT(time, T_EPOCH);
    t_disconnect(conn);
}

TEST(versions_and_backends_are_named)
{
    CHECK_STR(ph_version(), PH_VERSION);
    CHECK(strstr(ph_backends(), t_backend()) != NULL);
}

TEST(a_store_can_be_opened_and_closed_many_times)
{
    ph_close(t_open(NULL));
    for (int i = 0; i < 20; i++)
        ph_close(t_open(NULL));
    CHECK_INT(claimable(t_open(NULL), 1), 0);
}

/* ------------------------------------------------------------------ SQLite files */

static void only_sqlite(void)
{
    if (t_is_pg())
        t_not_here("concerns files only");
}

TEST(files_that_cannot_be_opened)
{
    ph_store_opts deploy = PH_STORE_OPTS_INIT;
    char url[600], path[500];
    FILE *file;

    only_sqlite();
    deploy.deploy_schema = true;
    snprintf(url, sizeof(url), "sqlite:%s/no/such/folder/x.db", t_dir());
    CHECK_INT(refused(url, &deploy), PH_ECONNECT);
    CHECK(strstr(t_err.message, "no/such/folder") || strstr(t_err.message, "open"));
    snprintf(url, sizeof(url), "sqlite:%s", t_dir()); /* a folder */
    CHECK_INT(refused(url, &deploy), PH_ECONNECT);
    snprintf(path, sizeof(path), "%s/garbage", t_dir());
    file = fopen(path, "w");
    fputs("this is a text and not a database, and long enough to be looked at: ", file);
    for (int i = 0; i < 100; i++)
        fputs("this is a text and not a database. ", file);
    fclose(file);
    snprintf(url, sizeof(url), "sqlite:%s", path);
    CHECK_INT(refused(url, &deploy), PH_ECORRUPT);
    CHECK_INT(refused(url, NULL), PH_ECORRUPT);
    CHECK_INT(refused("sqlite:", &deploy), PH_EINVAL);
}

TEST(a_file_may_have_an_odd_name)
{
    ph_store_opts deploy = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    char url[600];

    only_sqlite();
    deploy.deploy_schema = true;
    snprintf(url, sizeof(url), "sqlite:%s/it's 100%% \"odd\"?mode=memory#x\xc3\xa9.db", t_dir());
    OK(t_try_open(url, &deploy, &store));
    t_enqueue(store, "orders", "x");
    CHECK_INT(claimable(store, 10), 1);
    CHECK(access(url + 7, F_OK) == 0);
}

/* -------------------------------------------------------------- PostgreSQL servers */

static void only_pg(void)
{
    if (!t_is_pg())
        t_not_here("concerns servers only");
}

/* A socket on 127.0.0.1 that accepts at most what the kernel does by itself, and never answers. */
static int silent_server(int *ret_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    CHECK(listen(fd, 8) == 0 && getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

TEST(a_closed_port_is_refused_at_once)
{
    char url[200];
    int port, fd = silent_server(&port);
    double started = t_now_s();

    only_pg();
    close(fd);
    snprintf(url, sizeof(url), "postgresql://user:" SECRET "@127.0.0.1:%d/db", port);
    CHECK_INT(refused(url, NULL), PH_ECONNECT);
    CHECK(t_err.flags & PH_RETRY);
    CHECK(t_now_s() - started < 5);
}

TEST(a_server_that_never_answers_is_given_up_at_the_time_limit)
{
    char url[200];
    int port, fd = silent_server(&port);
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    double started = t_now_s();
    int r;

    only_pg();
    opts.timeout_ms = 400;
    snprintf(url, sizeof(url), "postgresql://user:" SECRET "@127.0.0.1:%d/db", port);
    r = refused(url, &opts);
    CHECK(r == PH_ECONNECT || r == PH_ETIMEOUT);
    CHECK(t_err.flags & PH_RETRY);
    CHECK(t_now_s() - started >= 0.35 && t_now_s() - started < 3);
    close(fd);
}

TEST(a_lazy_store_meets_the_missing_server_at_its_first_call)
{
    char url[200];
    int port, fd = silent_server(&port);
    ph_message m = a_message("orders", "x");
    ph_store *store = NULL;
    int r;

    only_pg();
    snprintf(url, sizeof(url), "postgresql://user:" SECRET "@127.0.0.1:%d/db", port);
    OK(ph_open_lazy(url, NULL, &store, &t_err));
    r = ph_enqueue(store, PH_OWN_TX, &m, 300, NULL, &t_err);
    CHECK(r == PH_ECONNECT || r == PH_ETIMEOUT);
    close(fd);
    CHECK_INT(ph_enqueue(store, PH_OWN_TX, &m, 300, NULL, &t_err), PH_ECONNECT);
    CHECK(strstr(t_err.message, SECRET) == NULL);
    ph_close(store);
}

TEST(names_that_do_not_exist_are_an_error_of_connecting)
{
    char url[1200];

    only_pg();
    CHECK_INT(refused("postgresql://user:" SECRET "@no-such-host.invalid/db", NULL), PH_ECONNECT);
    CHECK_INT(refused("postgresql:///db?host=/no/such/socket&password=" SECRET, NULL), PH_ECONNECT);
    snprintf(url, sizeof(url), "%s&dbname=no_such_database", t_url());
    CHECK_INT(refused(url, NULL), PH_ECONNECT);
    CHECK(strstr(t_err.message, "no_such_database") != NULL);
}

TEST(malformed_postgresql_urls_are_refused_without_their_secret)
{
    static const char *const urls[] = {
        "postgresql://user:" SECRET "@host:notaport/db", "postgresql://[::1/db?password=" SECRET,
        "postgresql:password=" SECRET " nonsense=1",     "postgresql:password='" SECRET,
        "postgresql://u:" SECRET "@h/db?nonsense=1",     "postgresql:" SECRET,
    };

    only_pg();
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        int r = refused(urls[i], NULL);

        CHECK(r == PH_EINVAL || r == PH_ECONNECT);
    }
}

TEST(what_may_be_a_part_of_a_password_is_not_repeated)
{
    static const char *const urls[] = {
        "postgresql://user:x@" SECRET "@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/" SECRET "@127.0.0.1:1/db",
        "postgresql://x@" SECRET "@host.invalid/db",
    };

    only_pg();
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        CHECK_INT(refused(urls[i], NULL), PH_ECONNECT);
        CHECK(strstr(t_err.message, "%2F") != NULL);
    }
    CHECK_INT(refused("postgresql://user:" SECRET "/x@127.0.0.1:1/db", NULL), PH_EINVAL);
    CHECK_INT(refused("postgresql://127.0.0.1:1/db?sslmode=" SECRET, NULL), PH_EINVAL);
}

TEST(a_store_id_says_where_a_server_is)
{
    static const struct {
        const char *url, *id;
    } urls[] = {
        { "postgresql://u:p@h:5432/db", "postgresql://h:5432/db" },
        { "postgresql://u@[::1]:5432/db", "postgresql://::1:5432/db" },
        { "postgresql://h1:1,h2:2/db", "postgresql://h1,h2:1,2/db" },
        { "postgresql:host=/run/pg:1 dbname=db", "postgresql:///run/pg:1/db" },
        { "postgresql:host=fe80::1%eth0", "postgresql://fe80::1%eth0/" },
        { "postgresql:", "postgresql:///" },
        { "postgresql://u:p@h@h/db", "postgresql:?" },
    };

    only_pg();
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        ph_store *store = NULL;

        OK(ph_open_lazy(urls[i].url, NULL, &store, &t_err));
        CHECK_STR(ph_store_id(store), urls[i].id);
        ph_close(store);
    }
}

TEST(a_wrong_password_is_its_own_error)
{
    char url[1200];
    const char *tcp = t_tcp_url();

    only_pg();
    if (!tcp)
        t_skip("needs the server of ./test with passwords");
    snprintf(url, sizeof(url), "%s&password=" SECRET, tcp);
    CHECK_INT(refused(url, NULL), PH_EAUTH);
    CHECK(strstr(t_err.message, T_TCP_PASSWORD) == NULL);
    snprintf(url, sizeof(url), "%s&user=no_such_role&password=" SECRET, tcp);
    CHECK_INT(refused(url, NULL), PH_EAUTH);
}

TEST(a_store_id_never_holds_the_password)
{
    static const char *const urls[] = {
        "postgresql://user:" SECRET "@host/db",
        "postgres://user:" SECRET "@host:5432/db?sslmode=require",
        "postgresql://user@host/db?password=" SECRET,
        "postgresql:///db?host=/tmp&password=" SECRET "&user=me",
        "postgresql:host=h user=u password=" SECRET " dbname=db",
        "postgresql:host=h password='" SECRET "' dbname=db",
        "postgresql:password = " SECRET,
        "postgresql://user:s3cr3t%2Dhorse@host/db",
        "postgresql://host/db?sslpassword=" SECRET,
        "postgresql://user:" SECRET "@/broken url with blank",
        "postgresql://user:12/" SECRET "@host/db", /* what should be %2F and so on */
        "postgresql://user:x/" SECRET "@host/db",
        "postgresql://user:" SECRET "/x@host/db",
        "postgresql://user:x@" SECRET "@host/db",
        "postgresql://user:x@" SECRET "/x@host/db",
        "postgresql://user:x@" SECRET ":x@host/db",
        "postgresql://user:x@/" SECRET "@host/db",
        "postgresql://user:" SECRET,
        "postgresql:dbname=postgresql://user:" SECRET "@host/db",
        "postgresql:dbname='host=h password=" SECRET "'",
    };

    only_pg();
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        ph_store *store = NULL;

        if (ph_open_lazy(urls[i], NULL, &store, &t_err) < 0) {
            CHECK(strstr(t_err.message, SECRET) == NULL);
            continue;
        }
        CHECK(ph_store_id(store)[0] != '\0');
        CHECK(strstr(ph_store_id(store), SECRET) == NULL);
        CHECK(strstr(ph_store_id(store), "s3cr3t") == NULL);
        ph_close(store);
    }
}
