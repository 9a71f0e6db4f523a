#include "seam.h"

#include "core/call.h"

#include <poll.h>

int seam_listen(ph_store *store)
{
    PH__CALL(call);
    int fd = -2;

    OK(ph__call_own(&call, store, 0, &t_err));
    OK(store->backend->doorbell_listen(&call, "", &fd));
    return fd;
}

bool seam_taken(ph_store *store, const char *ns)
{
    return store->backend->doorbell_taken(store, ns);
}

bool seam_hears(ph_store *store, const char *ns)
{
    for (int waited = 0; waited < PATIENCE_MS; waited += 100) {
        struct pollfd fd = { .fd = seam_listen(store), .events = POLLIN };

        CHECK(fd.fd >= 0);
        if (seam_taken(store, ns))
            return true;
        (void)poll(&fd, 1, 100);
    }
    return false;
}

PGconn *seam_begin(ph_store *store)
{
    PH__CALL(call);
    ph_tx tx = PH_OWN_TX;

    OK(ph__call_own(&call, store, 0, &t_err));
    OK(store->backend->tx_begin(&call, &tx));
    return tx.connection;
}

int seam_end(ph_store *store, bool commit)
{
    struct ph__call call = { .store = store,
                             .deadline = ph__deadline_in(PATIENCE_MS),
                             .err = &t_err };

    memset(&t_err, 0, sizeof(t_err));
    return store->backend->tx_end(&call, commit);
}
