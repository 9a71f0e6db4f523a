/* common.h - small words the PostgreSQL tests share on top of the harness. */
#ifndef POSTGRES_COMMON_H
#define POSTGRES_COMMON_H

#include "harness.h"

/* A connection whose error texts begin with the SQLSTATE ("ERROR:  22023: …"). NULL: t_url(). */
struct t_conn *a_connection(const char *url);

/* The statement must fail with this SQLSTATE, and say this. */
void refused(struct t_conn *conn, const char *sqlstate, const char *text, const char *sql);

/* printf into one of a few buffers; valid for the next few calls. */
const char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The URL of this test's database with other or more parameters, such as "user=x". */
const char *url_with(const char *base, const char *parameters);

/* Runs a program and waits; its output (both kinds) goes to ret_output. Returns the exit status. */
int run_program(const char *const *argv, const char *input, char *ret_output, size_t size);

/* A row count of everything the engine stores: equal before and after means nothing was stored. */
const char *stored(struct t_conn *conn);

#endif
