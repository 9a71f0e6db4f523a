/* readonly_test.c - a database that can be read but not written, and later written again. */
#include "common.h"

#include <sys/stat.h>
#include <unistd.h>

/* A database in a folder that other users can reach, with one message in it. */
static void make_database(char *folder, char *path, char *url, size_t size)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    char parent[300];

    snprintf(parent, sizeof(parent), "%s/..", t_dir());
    CHECK(chmod(parent, 0711) == 0 && chmod(t_dir(), 0711) == 0);
    snprintf(folder, size, "%s/folder", t_dir());
    CHECK(mkdir(folder, 0755) == 0);
    snprintf(path, size, "%s/folder/x.db", t_dir());
    snprintf(url, size, "sqlite:%s/folder/x.db", t_dir());
    opts.deploy_schema = true;
    OK(t_try_open(url, &opts, &store));
    t_enqueue(store, "orders", "x");
    ph_close(store);
}

TEST(a_file_without_the_right_to_write_is_read_only)
{
    char folder[320], path[320], url[320];
    ph_message m = a_message("orders", "x");
    ph_store *store = NULL;
    int r;

    if (t_is_pg())
        t_not_here("concerns files only");
    make_database(folder, path, url, sizeof(url));
    CHECK(chmod(path, 0444) == 0 && chmod(folder, 0555) == 0);
    if (geteuid() == 0) /* root may write everything */
        CHECK(seteuid(65534) == 0);
    r = t_try_open(url, NULL, &store);
    if (r == 0)
        r = try_put(store, PH_OWN_TX, &m);
    CHECK_INT(r, PH_EREADONLY);
    CHECK(strstr(t_err.message, "read-only") && strstr(t_err.message, "rights"));
    ph_close(store);
    if (getuid() == 0)
        CHECK(seteuid(0) == 0);
    store = NULL;
    CHECK(chmod(path, 0644) == 0 && chmod(folder, 0755) == 0);
    OK(t_try_open(url, NULL, &store));
    OK(try_put(store, PH_OWN_TX, &m));
    CHECK_INT(claimable(store, 10), 2);
}

static void set_read_only(struct t_conn *conn, const char *on_or_off)
{
    char sql[300];

    snprintf(sql, sizeof(sql),
             "DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET default_transaction_read_only = "
             "%s', current_database()); END $$",
             on_or_off);
    t_sql(conn, sql);
}

TEST(a_read_only_server_is_reported_and_can_be_read)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_message m = a_message("orders", "x");
    ph_owner owner = ph_owner_new();
    ph_batch *batch = NULL;
    ph_store *store = NULL;
    struct t_conn *conn;
    const char *url;
    ph_work_id id;

    if (!t_is_pg())
        t_not_here("concerns servers only");
    url = t_fresh_database();
    opts.deploy_schema = true;
    OK(t_try_open(url, &opts, &store));
    id = t_enqueue(store, "orders", "x").work_id;
    ph_close(store);
    conn = t_connect_to(url);
    set_read_only(conn, "on");
    OK(t_try_open(url, NULL, &store));
    CHECK_INT(try_put(store, PH_OWN_TX, &m), PH_EREADONLY);
    CHECK_STR(t_err.sqlstate, "25006");
    CHECK_INT(ph_outbox_claim(store, PH_OWN_TX, owner, NULL, 0, &batch, &t_err), PH_EREADONLY);
    CHECK_INT(see(store, id).status, PH_READY);
    set_read_only(conn, "off"); /* of new connections: the old one is closed */
    ph_close(store);
    OK(t_try_open(url, NULL, &store));
    OK(try_put(store, PH_OWN_TX, &m));
    CHECK_INT(claimable(store, 10), 2);
    t_disconnect(conn);
}
