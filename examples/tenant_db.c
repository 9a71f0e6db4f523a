/* tenant_db.c - the application's own connection, on either backend. A service has one of the two. */
#include "tenant_db.h"

#include <posthorn/pg.h>
#include <posthorn/sqlite.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tenant_db {
    sqlite3 *file; /* NULL: it is on a server */
    PGconn *conn;
};

static bool open_file(struct tenant_db *db, const char *path)
{
    if (sqlite3_open(path, &db->file) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", path, db->file ? sqlite3_errmsg(db->file) : "no memory");
        return false;
    }
    sqlite3_busy_timeout(db->file, 10000);
    sqlite3_wal_autocheckpoint(db->file, 0); /* older SQLites: see "version" in posthorn doctor */
    return true;
}

static bool open_server(struct tenant_db *db, const char *url)
{
    db->conn = PQconnectdb(url);
    if (PQstatus(db->conn) == CONNECTION_OK)
        return true;
    fprintf(stderr, "%s", PQerrorMessage(db->conn));
    return false;
}

struct tenant_db *tenant_db_open(const char *url)
{
    struct tenant_db *db = calloc(1, sizeof(*db));
    bool ok;

    if (!db)
        return NULL;
    ok = strncmp(url, "sqlite:", 7) == 0 ? open_file(db, url + 7) : open_server(db, url);
    if (ok)
        return db;
    tenant_db_close(db);
    return NULL;
}

void tenant_db_close(struct tenant_db *db)
{
    if (!db)
        return;
    sqlite3_close(db->file);
    PQfinish(db->conn);
    free(db);
}

bool tenant_db_run(struct tenant_db *db, const char *sql)
{
    PGresult *result;
    bool ok;

    if (db->file) {
        ok = sqlite3_exec(db->file, sql, NULL, NULL, NULL) == SQLITE_OK;
        if (!ok)
            fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db->file));
        return ok;
    }
    result = PQexec(db->conn, sql);
    ok = PQresultStatus(result) == PGRES_COMMAND_OK;
    if (!ok)
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(db->conn));
    PQclear(result);
    return ok;
}

bool tenant_db_begin(struct tenant_db *db)
{
    return tenant_db_run(db, db->file ? "BEGIN IMMEDIATE" : "BEGIN");
}

ph_tx tenant_db_tx(struct tenant_db *db)
{
    return db->file ? ph_tx_sqlite(db->file) : ph_tx_pg(db->conn);
}
