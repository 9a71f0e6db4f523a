/* roles.h - the roles as the tests use them: logins, and a schema that belongs
 * to a plain login, not to the superuser, as it should in earnest. */
#ifndef POSTGRES_ROLES_H
#define POSTGRES_ROLES_H

#include "common.h"

struct role {
    const char *name;      /* of the login */
    const char *functions; /* it may call, with a blank before and after each */
    const char *views;     /* it may read, likewise */
};

extern const struct role producer, worker, scheduler, reader;
extern const struct role stranger; /* a login without any role */

extern struct t_conn *super; /* the superuser's connection to the test's database */

/* A database with the schema, the roles and a login for each. */
void roles_set_up(void);
/* Roles belong to the whole server: drops them. */
void roles_tear_down(void);

/* The login's name; "owner" owns the schema. */
const char *login(const char *name);
const char *url_as(const struct role *role);
ph_store *open_as(const char *name);

#endif
