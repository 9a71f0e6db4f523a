/* roster.h - a list of databases and their keys: what a source has named, or all of them together. */
#ifndef PH_SET_ROSTER_H
#define PH_SET_ROSTER_H

#include "set/map.h"
#include "util/arena.h"

#include <posthorn/posthorn.h>

/* Which database. Nothing is NULL: defaults are filled in. */
struct ph__place {
    const char *id, *url, *schema, *prefix;
};
bool ph__place_same(const struct ph__place *one, const struct ph__place *other);

struct ph__key {
    struct ph__key *next; /* of the same node, in the order in which they were named */
    const char *text;     /* as it was given */
    const char *canonical;
    struct ph__node *node;
};

struct ph__node {
    struct ph__node *next; /* in the order in which they were named */
    struct ph__place place;
    struct ph__key *keys, **last_key;
    struct ph__entry *entry; /* only in the list of the set */
};

struct ph__roster {
    struct ph__arena arena;
    struct ph__map ids;  /* of nodes */
    struct ph__map keys; /* of keys, by their canonical form */
    struct ph__node *first, **last;
};

/* A key that is a UUID in its usual spelling, written into space; any other as it is. */
const char *ph__key_canonical(const char *key, char space[PH_ID_TEXT_SIZE]);

/* NULL when memory is out. */
struct ph__roster *ph__roster_new(void);
void ph__roster_free(struct ph__roster *roster); /* entries are not its own */

/* What is needed to add a key of a database: prepared, so that it cannot fail any more. */
struct ph__addition {
    struct ph__node *node;
    struct ph__key *key; /* NULL: it is there, or none was given */
    bool is_new;         /* the node */
};
/* key NULL: only the database. PH_EINVAL: the id has another place, or the key another id. */
int ph__roster_prepare(struct ph__roster *roster, const struct ph__place *place, const char *key,
                       struct ph__addition *ret_addition, ph_error *err);
/* True if it changed something. At most one addition is prepared at a time. */
bool ph__roster_commit(struct ph__roster *roster, const struct ph__addition *addition);
/* Both in one. */
int ph__roster_add(struct ph__roster *roster, const struct ph__place *place, const char *key,
                   ph_error *err);

/* A name for a URL that may be shown. */
#define PH__SHOWN_SIZE 160
const char *ph__url_shown(const char *url, char space[PH__SHOWN_SIZE]);

#endif
