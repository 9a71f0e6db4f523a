/* tls_test.c - encrypted connections through the URL (OBX-126). The private
 * server of ./test has a certificate for "localhost" and refuses TCP without TLS. */
#include "common.h"

#include "store/postgres/pg.h"

#include <stdlib.h>

static const char *tcp_url(void)
{
    const char *url = t_tcp_url();

    if (!url)
        t_skip("there is no server with TLS; ./test starts one");
    return url;
}

static int open_with(const char *url, const char *parameters, ph_store **ret_store)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;

    opts.schema = t_schema();
    opts.deploy_schema = true;
    return t_try_open(url_with(url, parameters), &opts, ret_store);
}

/* The error says what is wrong, and holds no password. */
static void refused_with(const char *parameters, int status, const char *text)
{
    ph_store *store = NULL;
    int r = open_with(tcp_url(), parameters, &store);

    if (r != status || !strstr(t_err.message, text))
        printf("%s: %d, %s\n", parameters, r, t_err.message);
    REQ_INT("OBX-126", r, status);
    CHECK(strstr(t_err.message, text) != NULL);
    CHECK(strstr(t_err.message, ";") != NULL); /* the cure */
    CHECK(!strstr(t_err.message, T_TCP_PASSWORD));
    CHECK(store == NULL);
}

TEST(verify_full_works)
{
    ph_store *store = NULL;
    ph_owner owner = ph_owner_new();
    struct t_conn *conn;
    PGconn *own;

    OK(open_with(tcp_url(), "sslmode=verify-full", &store));
    own = ((struct ph__pg_own *)store->own)->conn;
    REQ("OBX-126", PQsslInUse(own));
    conn = t_connect();
    REQ_STR("OBX-126",
            t_value(conn, say("SELECT ssl FROM pg_stat_ssl WHERE pid = %d", PQbackendPID(own))),
            "t");
    t_enqueue(store, "t", "p");
    CHECK_INT(t_ack_all(store, owner, t_claim(store, owner, 10)), 1);
}

TEST(plain_text_is_refused_by_the_server)
{
    refused_with("sslmode=disable", PH_EAUTH, "no encryption; use TLS");
    CHECK_STR(t_err.sqlstate, "28000");
}

/* The server's words may be in any language; they are passed on without its number. */
TEST(a_server_that_refuses_is_understood_by_its_sqlstate)
{
    refused_with("password=wrong", PH_EAUTH, "FATAL:  password authentication failed for user");
    CHECK_STR(t_err.sqlstate, "28P01");
    CHECK(strstr(t_err.message, "; check user and password") != NULL);
    refused_with("dbname=nothing_here", PH_ECONNECT, "FATAL:  database \"nothing_here\" does not");
    CHECK_STR(t_err.sqlstate, "3D000");
    CHECK(!(t_err.flags & PH_RETRY));
}

/* The certificate names "localhost", not the address. */
TEST(another_host_name_is_refused)
{
    ph_store *store = NULL;

    refused_with("sslmode=verify-full&host=127.0.0.1", PH_ECONNECT, "does not match host name");
    OK(open_with(tcp_url(), "sslmode=verify-ca&host=127.0.0.1", &store));
}

TEST(another_authority_is_refused)
{
    const char *path = say("%s/other.crt", t_dir());
    const char *key = say("%s/other.key", t_dir());
    const char *argv[] = { "openssl",
                           "req",
                           "-new",
                           "-x509",
                           "-nodes",
                           "-newkey",
                           "ec",
                           "-pkeyopt",
                           "ec_paramgen_curve:prime256v1",
                           "-days",
                           "1",
                           "-subj",
                           "/CN=Posthorn test authority",
                           "-keyout",
                           key,
                           "-out",
                           path,
                           NULL };
    char output[4000];

    tcp_url();
    CHECK_INT(run_program(argv, NULL, output, sizeof(output)), 0);
    refused_with(say("sslmode=verify-full&sslrootcert=%s", path), PH_ECONNECT,
                 "certificate verify failed");
    refused_with(say("sslmode=verify-ca&sslrootcert=%s", path), PH_ECONNECT,
                 "certificate verify failed");
    refused_with(say("sslmode=verify-full&sslrootcert=%s.none", path), PH_ECONNECT,
                 "does not exist");
}
