/* hosts_test.c - URLs with several hosts: those that hang, drop, refuse and come back are left for
 * the next one, in time and in order. */
#include "common.h"
#include "proxy.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <netdb.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#define HOSTS 3

static struct proxy *hosts[HOSTS];
static char socket_path[300], user[100], database[100];

static void know_server(void)
{
    struct t_conn *conn;
    PGconn *pg;

    if (!t_is_pg())
        t_not_here("concerns servers only");
    conn = t_connect();
    pg = t_native(conn);
    snprintf(socket_path, sizeof(socket_path), "%s/.s.PGSQL.%s", PQhost(pg), PQport(pg));
    snprintf(user, sizeof(user), "%s", PQuser(pg));
    snprintf(database, sizeof(database), "%s", PQdb(pg));
    t_disconnect(conn);
    if (socket_path[0] != '/')
        t_skip("needs a server on a Unix socket");
}

/* A URL of the first n hosts, with more parameters. */
static const char *url_of(int n, const char *parameters)
{
    static char url[600];
    int length = snprintf(url, sizeof(url), "postgresql://%s@", user);

    for (int i = 0; i < n; i++)
        length += snprintf(url + length, sizeof(url) - (size_t)length, "%s127.0.0.1:%d",
                           i ? "," : "", proxy_port(hosts[i]));
    snprintf(url + length, sizeof(url) - (size_t)length, "/%s?sslmode=disable%s", database,
             parameters);
    return url;
}

static void start_hosts(void)
{
    know_server();
    ph_close(t_open(NULL)); /* the schema is there */
    for (int i = 0; i < HOSTS; i++)
        hosts[i] = proxy_new(NULL, 0, socket_path);
}

static int open_within(const char *url, int timeout_ms, ph_store **ret_store)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.schema = t_schema();
    opts.timeout_ms = timeout_ms;
    return t_try_open(url, &opts, ret_store);
}

TEST(hosts_are_tried_in_the_order_of_the_url)
{
    ph_store *store = NULL;

    start_hosts();
    OK(open_within(url_of(3, ""), 10000, &store));
    CHECK_INT(proxy_calls(hosts[0]), 1);
    CHECK_INT(proxy_calls(hosts[1]), 0);
    proxy_turn(hosts[0], PROXY_REFUSE);
    t_enqueue(store, "orders", "x"); /* the line was cut, and the second one is there */
    CHECK_INT(proxy_calls(hosts[1]), 1);
    proxy_turn(hosts[0], PROXY_PASS);
    t_enqueue(store, "orders", "x"); /* nobody goes back for nothing */
    CHECK_INT(proxy_calls(hosts[0]), 1);
    proxy_turn(hosts[1], PROXY_CUT_NOW);
    t_enqueue(store, "orders", "x"); /* but a new connection begins in front */
    CHECK_INT(proxy_calls(hosts[0]), 2);
    CHECK_INT(proxy_calls(hosts[2]), 0);
}

TEST(hosts_that_hang_or_drop_are_left_after_connect_timeout)
{
    ph_store *store = NULL;
    double at;

    start_hosts();
    proxy_turn(hosts[0], PROXY_STALL);
    proxy_turn(hosts[1], PROXY_DROP);
    at = t_now_s();
    OK(open_within(url_of(3, "&connect_timeout=1"), 30000, &store));
    CHECK(t_now_s() - at >= 1.9 && t_now_s() - at < 9); /* without it, ten seconds each */
    CHECK_INT(proxy_calls(hosts[2]), 1);
    t_enqueue(store, "orders", "x");
    CHECK_INT(claimable(store, 10), 1);
}

TEST(each_host_gets_its_share_of_the_time_limit)
{
    ph_store *store = NULL;

    start_hosts();
    proxy_turn(hosts[0], PROXY_DROP);
    OK(open_within(url_of(2, ""), 3000, &store));
    CHECK_INT(proxy_calls(hosts[1]), 1);
    ph_close(store);
    proxy_turn(hosts[0], PROXY_REFUSE); /* costs no time, and those after it have more */
    proxy_turn(hosts[1], PROXY_STALL);
    store = NULL;
    OK(open_within(url_of(3, ""), 3000, &store));
    CHECK_INT(proxy_calls(hosts[2]), 1);
}

/* It is the last resort: a host that hangs must leave some time for it. */
TEST(a_read_only_host_still_has_time_when_the_last_one_hangs)
{
    ph_message_list_opts wanted = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    ph_store *store = NULL;

    start_hosts();
    OK(open_within(url_of(2, "&options=-cdefault_transaction_read_only%3Don"), 10000, &store));
    proxy_turn(hosts[1], PROXY_STALL);
    proxy_turn(hosts[0], PROXY_CUT_NOW);
    OK(ph_outbox_list(store, PH_OWN_TX, &wanted, 4000, &list, &t_err));
    ph_messages_free(list);
}

/* ---------------------------------------------------------------------- look-ups */

static int look_up_takes_ms;

int __real_getaddrinfo(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int __wrap_getaddrinfo(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret)
{
    usleep((useconds_t)look_up_takes_ms * 1000);
    return __real_getaddrinfo(name, service, hints, ret);
}

TEST(what_a_look_up_takes_is_not_missing_from_the_share_of_its_host)
{
    ph_store *store = NULL;
    char url[300];

    start_hosts();
    look_up_takes_ms = 1200;
    snprintf(url, sizeof(url),
             "postgresql://%s@localhost:%d,127.0.0.1:%d,127.0.0.1:%d/%s?sslmode=disable", user,
             proxy_port(hosts[0]), proxy_port(hosts[1]), proxy_port(hosts[2]), database);
    OK(open_within(url, 3000, &store)); /* a share is a second */
    CHECK_INT(proxy_calls(hosts[0]), 1);
    CHECK_INT(proxy_calls(hosts[1]), 0);
}

TEST(after_a_host_that_hung_comes_the_next_one)
{
    ph_message m = a_message("orders", "x");
    ph_store *store = NULL;
    double at;
    int r;

    start_hosts();
    OK(open_within(url_of(3, ""), 10000, &store));
    t_enqueue(store, "warm", "up");
    (void)t_clock(store); /* the doorbell's answer has been read: nothing is under way */
    proxy_turn(hosts[0], PROXY_STALL);
    r = ph_enqueue(store, PH_OWN_TX, &m, 300, NULL, &t_err);
    CHECK(r == PH_ETIMEOUT || r == PH_EUNKNOWN);
    CHECK(t_err.flags & PH_RETRY);
    at = t_now_s(); /* the share of the first would be 5 s */
    OK(ph_enqueue(store, PH_OWN_TX, &m, 15000, NULL, &t_err));
    CHECK(t_now_s() - at < 4);
    CHECK_INT(proxy_calls(hosts[1]), 1);
}

TEST(the_error_says_how_many_hosts_were_tried)
{
    ph_store *store = NULL;
    int r;

    start_hosts();
    for (int i = 0; i < HOSTS; i++)
        proxy_turn(hosts[i], PROXY_REFUSE);
    CHECK_INT(open_within(url_of(3, ""), 5000, &store), PH_ECONNECT);
    CHECK_INT(t_err.flags, PH_RETRY);
    CHECK(strstr(t_err.message, "3 of 3 hosts tried: connection to server at \"127.0.0.1\""));
    CHECK(strstr(t_err.message, "refused"));
    for (int i = 0; i < 2; i++)
        proxy_turn(hosts[i], PROXY_STALL);
    CHECK_INT(open_within(url_of(2, ""), 400, &store), PH_ETIMEOUT);
    CHECK_INT(t_err.flags, PH_RETRY);
    CHECK(strstr(t_err.message, "2 of 2 hosts tried: the server did not answer"));
    r = open_within(url_of(1, ""), 200, &store);
    CHECK_INT(r, PH_ETIMEOUT);
    CHECK(!strstr(t_err.message, "hosts"));
}

TEST(hosts_that_come_back_are_found)
{
    ph_message m = a_message("orders", "x");
    ph_store *store = NULL;

    start_hosts();
    OK(open_within(url_of(3, ""), 10000, &store));
    for (int i = 0; i < HOSTS; i++)
        proxy_turn(hosts[i], PROXY_REFUSE);
    CHECK_INT(ph_enqueue(store, PH_OWN_TX, &m, 200, NULL, &t_err), PH_ECONNECT);
    CHECK(t_err.flags & PH_RETRY);
    for (int i = HOSTS - 1; i >= 0; i--) {
        int calls = proxy_calls(hosts[i]);

        proxy_turn(hosts[i], PROXY_PASS);
        OK(try_put(store, PH_OWN_TX, &m));
        CHECK_INT(proxy_calls(hosts[i]), calls + 1);
        proxy_turn(hosts[i], PROXY_REFUSE);
    }
    proxy_turn(hosts[0], PROXY_PASS);
    CHECK_INT(claimable(store, 10), 3);
}

/* Another host would say the same. */
TEST(a_wrong_user_is_reported_by_the_first_host_that_answers)
{
    ph_store *store = NULL;
    char url[600];

    start_hosts();
    snprintf(url, sizeof(url), "%s&user=nobody_like_that", url_of(3, ""));
    CHECK_INT(open_within(url, 5000, &store), PH_EAUTH);
    CHECK_INT(t_err.flags, 0);
    CHECK_INT(proxy_calls(hosts[0]), 1);
    CHECK_INT(proxy_calls(hosts[1]), 0);
}

/* From here on this process has names of its own. */
static void give_name_addresses(const char *name, const char *first, const char *second)
{
    char path[300];
    FILE *file;

    snprintf(path, sizeof(path), "%s/hosts", t_dir());
    file = fopen(path, "w");
    CHECK(file && fprintf(file, "%s %s\n%s %s\n", first, name, second, name) > 0);
    CHECK(fclose(file) == 0);
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(path, "/etc/hosts", NULL, MS_BIND, NULL) < 0)
        t_skip("needs the right to mount: run as root");
}

TEST(each_address_of_a_name_is_tried)
{
    ph_store *store;
    struct proxy *at[2];
    char url[400];

    know_server();
    ph_close(t_open(NULL));
    at[0] = proxy_new("127.0.0.1", 0, socket_path);
    at[1] = proxy_new("127.0.0.2", proxy_port(at[0]), socket_path);
    give_name_addresses("two.example", "127.0.0.1", "127.0.0.2");
    snprintf(url, sizeof(url),
             "postgresql://%s@two.example:%d/%s?sslmode=disable&connect_timeout=1", user,
             proxy_port(at[0]), database);
    for (int hung = 0; hung < 2; hung++) { /* whichever is the first */
        int calls = proxy_calls(at[!hung]);

        proxy_turn(at[hung], PROXY_STALL);
        store = NULL;
        OK(open_within(url, 20000, &store));
        CHECK(proxy_calls(at[!hung]) > calls); /* one of before may be counted only now */
        ph_close(store);
        proxy_turn(at[hung], PROXY_PASS);
    }
}

TEST(a_name_without_address_is_one_host_of_several)
{
    ph_store *store = NULL;
    char url[400];

    start_hosts();
    give_name_addresses("two.example", "127.0.0.1", "127.0.0.2");
    snprintf(url, sizeof(url), "postgresql://%s@nowhere.invalid:1,127.0.0.1:%d/%s?sslmode=disable",
             user, proxy_port(hosts[0]), database);
    OK(open_within(url, 20000, &store));
    ph_close(store);
    snprintf(url, sizeof(url), "postgresql://%s@nowhere.invalid:1/%s", user, database);
    CHECK_INT(open_within(url, 20000, &store), PH_ECONNECT);
    CHECK(strstr(t_err.message, "could not translate host name \"nowhere.invalid\" to address"));
}

/* What the URL leaves out, libpq takes from the environment and the service file. */
TEST(hosts_of_the_environment_and_of_a_service_count_as_well)
{
    char path[300], list[100], ports[100];
    ph_store *store = NULL;
    FILE *file;

    start_hosts();
    proxy_turn(hosts[0], PROXY_STALL);
    snprintf(path, sizeof(path), "%s/service", t_dir());
    snprintf(list, sizeof(list), "127.0.0.1,127.0.0.1");
    snprintf(ports, sizeof(ports), "%d,%d", proxy_port(hosts[0]), proxy_port(hosts[1]));
    file = fopen(path, "w");
    CHECK(file && fprintf(file, "[two]\nhost=%s\nport=%s\nuser=%s\ndbname=%s\n", list, ports, user,
                          database) > 0);
    CHECK(fclose(file) == 0 && setenv("PGSERVICEFILE", path, 1) == 0);
    OK(open_within("postgresql:service=two sslmode=disable connect_timeout=1", 30000, &store));
    ph_close(store);
    CHECK(setenv("PGHOST", list, 1) == 0 && setenv("PGPORT", ports, 1) == 0);
    CHECK(setenv("PGCONNECT_TIMEOUT", "1", 1) == 0 && setenv("PGUSER", user, 1) == 0);
    CHECK(setenv("PGDATABASE", database, 1) == 0);
    OK(open_within("postgresql://", 30000, &store));
    CHECK_INT(proxy_calls(hosts[1]), 2);
}

TEST(load_balance_hosts_spreads_connections)
{
    PQconninfoOption *options = PQconninfoParse("load_balance_hosts=random", NULL);
    bool known = options != NULL;

    PQconninfoFree(options);
    if (!known)
        t_not_here("libpq has it from version 16 on");
    start_hosts();
    for (int i = 0; i < 40; i++) {
        ph_store *store = NULL;

        OK(open_within(url_of(2, "&load_balance_hosts=random"), 10000, &store));
        ph_close(store);
    }
    CHECK(proxy_calls(hosts[0]) > 0 && proxy_calls(hosts[1]) > 0);
}
