/* checkpoint.c - the only place where a checkpoint happens.
 *
 * SQLite 3.7.0 to 3.51.2 can lose committed pages when one connection restarts
 * the log while another is in the middle of a checkpoint. Only a writer
 * restarts the log; so our own connection holds the write lock while its
 * sibling makes the checkpoint, and automatic checkpoints are off. */
#include "store/sqlite/checkpoint.h"

#define CHECKPOINT_PAGES 1000

static int on_commit(void *context, sqlite3 *db, const char *schema, int pages)
{
    struct ph__sqlite *own = context;

    (void)db;
    (void)schema;
    if (pages < own->wal_pages) /* the log was restarted */
        own->checkpoint_at = CHECKPOINT_PAGES;
    own->wal_pages = pages;
    return SQLITE_OK;
}

void ph__sqlite_watch_wal(struct ph__sqlite *own)
{
    if (own->checkpoint_at == 0)
        own->checkpoint_at = CHECKPOINT_PAGES;
    sqlite3_wal_hook(own->db, on_commit, own);
}

bool ph__sqlite_checkpoint_now(struct ph__sqlite *own, const char *path, int *ret_pages,
                               int *ret_moved)
{
    int rc = SQLITE_ERROR;

    own->deadline = 0; /* the busy handlers give up at once */
    if (!own->sibling && ph__sqlite_open(path, false, own, &own->sibling) != SQLITE_OK) {
        sqlite3_close(own->sibling);
        own->sibling = NULL;
    }
    if (own->sibling && sqlite3_exec(own->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK) {
        rc = sqlite3_wal_checkpoint_v2(own->sibling, NULL, SQLITE_CHECKPOINT_PASSIVE, ret_pages,
                                       ret_moved);
        sqlite3_exec(own->db, "ROLLBACK", NULL, NULL, NULL);
    }
    ph__sqlite_stop_waiting(own);
    return rc == SQLITE_OK;
}

void ph__sqlite_checkpoint_if_due(struct ph__sqlite *own, const char *path)
{
    if (own->wal_pages < own->checkpoint_at)
        return;
    /* An old reader can keep the log from being restarted: then not at every commit. */
    own->checkpoint_at = own->wal_pages + CHECKPOINT_PAGES;
    (void)ph__sqlite_checkpoint_now(own, path, NULL, NULL);
}

void ph__sqlite_clear_log(struct ph__sqlite *own)
{
    sqlite3_db_config(own->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    if (own->sibling)
        sqlite3_db_config(own->sibling, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
}

void ph__sqlite_checkpoint_at_close(struct ph__sqlite *own, const char *path)
{
    if (own->wal_pages > 0)
        (void)ph__sqlite_checkpoint_now(own, path, NULL, NULL);
}
