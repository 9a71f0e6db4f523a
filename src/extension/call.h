/* call.h - one call of one function: its connection, arguments, transaction and error. */
#ifndef PH_EXTENSION_CALL_H
#define PH_EXTENSION_CALL_H

#include "store/store.h"

#include <posthorn/sqlite.h>

#include <jansson.h>

#define PH__EXT_ARGUMENTS_MAX 25

/* The state of one connection of the host. Every function of the connection holds it. */
struct ph__ext {
    sqlite3 *db;
    ph_store *store; /* used only inside transactions on db */
    bool triggers;   /* may call posthorn_enqueue */
    int holders;
};

/* A function's name and its arguments' names, the required ones first. */
struct ph__signature {
    const char *name;
    int required;
    const char *arguments[PH__EXT_ARGUMENTS_MAX + 1]; /* ends with NULL */
};

struct ph__ext_call {
    struct ph__ext *ext;
    const struct ph__signature *signature;
    ph_door door;                                    /* of a verb that each door has */
    sqlite3_value *arguments[PH__EXT_ARGUMENTS_MAX]; /* NULL: not given */
    ph_tx tx;                                        /* after ph__ext_begin() */
    bool began;                                      /* the transaction is ours */
    bool saved;                                      /* the savepoint is */
    struct ph__arena arena;                          /* for converted arguments */
    json_t *json; /* the argument that was parsed last; NULL: it was not given */
    json_t *kept; /* those before it; they live as long as the call, too */
    ph_error err;
};

/* Joins the transaction that is open on the connection. If there is none, begins one that holds
 * the write lock: it then ends with the call. To be called when the arguments are known to be
 * good, so that a mistake waits for no lock. */
int ph__ext_begin(struct ph__ext_call *call);
/* The same for a call that only looks. */
int ph__ext_begin_read(struct ph__ext_call *call);
/* The same for a call that calls the library more than once: if it fails, nothing of it stays.
 * That needs a savepoint, so it is refused inside a statement that writes. */
int ph__ext_begin_steps(struct ph__ext_call *call);

/* Refuses to go on inside a statement that writes; what: the action that is impossible there. */
int ph__ext_alone(struct ph__ext_call *call, const char *what);

/* Ends the call, commits or rolls back its transaction, and returns r or, if r is 0, the result of
 * that. Nothing is left to free. */
int ph__ext_end(struct ph__ext_call *call, int r);

/* The call's error in the words of SQL, from sqlite3_malloc(); NULL: no memory. */
char *ph__ext_error_text(const struct ph__ext_call *call);

/* The SQLite result code for it. */
int ph__ext_error_code(const struct ph__ext_call *call);

#endif
