#include "seam.h"

#include <posthorn/sqlite.h>

ph_tx begin_lent(ph_store *store)
{
    PH__CALL(call);
    ph_tx tx = PH_OWN_TX;

    OK(ph__call_own(&call, store, 0, &t_err));
    OK(store->backend->tx_begin(&call, &tx));
    return tx;
}

/* As the dispatcher does it: the connection is there, and is not asked for. */
int end_lent(ph_store *store, bool commit)
{
    struct ph__call call = { .store = store, .deadline = ph__deadline_in(10000), .err = &t_err };

    memset(&t_err, 0, sizeof(t_err));
    return store->backend->tx_end(&call, commit);
}

void run_on(ph_tx tx, const char *sql)
{
    char *error = NULL;

    if (sqlite3_exec(ph_tx_sqlite_connection(tx), sql, NULL, NULL, &error) != SQLITE_OK)
        printf("%s: %s\n", sql, error);
    CHECK(error == NULL);
}

int listen_to(ph_store *store)
{
    PH__CALL(call);
    int fd = -2;

    OK(ph__call_own(&call, store, 0, &t_err));
    OK(store->backend->doorbell_listen(&call, "", &fd));
    return fd;
}

bool taken(ph_store *store)
{
    return store->backend->doorbell_taken(store, "");
}
