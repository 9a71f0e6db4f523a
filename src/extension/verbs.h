/* verbs.h - the functions that SQL sees. To add one: a small function, and a row in the table of
 * its file. */
#ifndef PH_EXTENSION_VERBS_H
#define PH_EXTENSION_VERBS_H

#include "extension/call.h"

/* A function with one answer. run checks the arguments, begins, acts, and sets the result. */
struct ph__scalar_verb {
    struct ph__signature signature;
    int (*run)(struct ph__ext_call *call, sqlite3_context *result);
    ph_door door; /* of a verb that each door has */
};

/* The rows of an answer, and the memory that they need. */
struct ph__answer {
    size_t count;
    struct ph__arena arena;
    const void *items; /* as the verb likes, from the arena */
    /* Memory that the library has allocated; NULL: none of that kind. */
    ph_batch *batch;
    ph_messages *messages;
    ph_work_batch *work;
};

/* A function whose answer is a table. */
struct ph__rows_verb {
    struct ph__signature signature;
    const char *columns; /* as in CREATE TABLE */
    int column_count;
    bool repeats; /* asked again with the same arguments by one statement, it answers the same
                     without acting again; otherwise that is an error */
    bool leases;  /* its rows are leased: none of them may be filtered away */
    int alias;    /* not 0: "column = value" with this column of the answer is the argument… */
    int aliased;  /* …of this number: both have the same name, as on PostgreSQL */
    int (*run)(struct ph__ext_call *call, struct ph__answer *answer);
    void (*column)(const struct ph__answer *answer, size_t row, int column,
                   sqlite3_context *result);
    ph_door door; /* of a verb that each door has */
};

/* Each ends with a row without run. */
extern const struct ph__scalar_verb ph__enqueue_scalars[], ph__door_scalars[], ph__join_scalars[],
    ph__schedule_scalars[], ph__coordination_scalars[], ph__operate_scalars[];
extern const struct ph__rows_verb ph__enqueue_rows[], ph__door_rows[], ph__schedule_rows[],
    ph__coordination_rows[], ph__batch_rows[], ph__operate_rows[];

/* posthorn_enqueue, for connections that allow it in triggers. */
extern const struct ph__scalar_verb *const ph__enqueue_verb;

/* Lets triggers and views of this connection call posthorn_enqueue. */
int ph__ext_allow_triggers(struct ph__ext_call *call);
/* Another table prefix for this connection. */
int ph__ext_use_prefix(struct ph__ext_call *call, const char *prefix);

/* handled is for transactions of the caller's; the call has begun. */
int ph__ext_handled_check(struct ph__ext_call *call, const ph_inbox_message *messages,
                          size_t count);

/* Results in the form that the views have. */
void ph__result_id(sqlite3_context *result, const uint8_t id[16]); /* zero: NULL */
void ph__result_text(sqlite3_context *result, const char *text);   /* NULL: NULL */
void ph__result_time(sqlite3_context *result, int64_t time);
/* JSON from sqlite3_malloc(), which is taken over; NULL: there was no memory for it. */
int ph__result_json(struct ph__ext_call *call, sqlite3_context *result, char *json);

#endif
