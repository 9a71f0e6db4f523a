/* floor_pg.h - what speaks to PostgreSQL without the library. */
#ifndef BENCH_FLOOR_PG_H
#define BENCH_FLOOR_PG_H

#include "floor.h"

#include <libpq-fe.h>

/* All end the program if something fails. */
PGconn *bench_pg_dial(const char *url);
PGresult *bench_pg_checked(PGconn *conn, PGresult *result);
void bench_pg_run(PGconn *conn, const char *sql);
/* The statements of the floor: to delete a batch, and to insert a row with topic and payload. */
#define BENCH_PG_BY_INDEX                                                                          \
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off" /* before it deletes */
#define BENCH_PG_INSERT                                                                            \
    "INSERT INTO posthorn_bench_bare (topic, payload) VALUES ($1, $2) RETURNING id"
void bench_pg_drain_statement(char *ret_sql, size_t size, int batch);

#endif
