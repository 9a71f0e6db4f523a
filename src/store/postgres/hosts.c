/* hosts.c - where to connect: the hosts of a URL in their order, the addresses of each name, and
 * how long each may take.
 *
 * libpq goes from one host to the next by itself. But it applies connect_timeout only in
 * PQconnectdb, which blocks; a non-blocking connect stays with a host that hangs for as long as the
 * caller waits. So every address is a try of its own, with its share of the caller's time; the rest
 * of a share goes to the addresses that follow. Names are looked up here as libpq does it, without
 * a limit: a lookup costs the caller's time, and not the host's share of the rest. */
#include "store/postgres/pg.h"

#include "core/error.h"
#include "util/alloc.h"
#include "util/random.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* --------------------------------------------------------------- what the URL says */

/* With the environment and the service file: only libpq knows those. So it is asked to connect, in
 * a way that it refuses before it does anything. */
static PQconninfoOption *options_of(const char *url)
{
    const char *keywords[] = { "dbname", "channel_binding", NULL };
    const char *values[] = { ph__pg_conninfo(url), "refuse this", NULL };
    PGconn *conn = PQconnectStartParams(keywords, values, 1);
    PQconninfoOption *options = conn ? PQconninfo(conn) : NULL;

    PQfinish(conn);
    return options;
}

static const PQconninfoOption *option(const struct ph__pg_walk *walk, const char *keyword)
{
    for (const PQconninfoOption *o = walk->options; o && o->keyword; o++) {
        if (strcmp(o->keyword, keyword) == 0)
            return o;
    }
    return NULL;
}

static char *value(const struct ph__pg_walk *walk, const char *keyword)
{
    const PQconninfoOption *o = option(walk, keyword);

    return o && o->val && *o->val ? o->val : NULL;
}

/* Makes texts of a list's elements, one after the other; returns how many. */
static size_t cut(char *list)
{
    size_t count = list ? 1 : 0;

    for (; list && *list; list++) {
        if (*list == ',') {
            *list = '\0';
            count++;
        }
    }
    return count;
}

static const char *element(const char *list, size_t i)
{
    while (list && i-- > 0)
        list += strlen(list) + 1;
    return list;
}

static bool has_empty(const char *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!*element(list, i))
            return true;
    }
    return false;
}

/* Lists of different lengths are libpq's to refuse; so are those with gaps, which mean its own
 * default. Such a URL is one place. */
static size_t read_hosts(struct ph__pg_walk *walk)
{
    char *hosts = value(walk, "host"), *addresses = value(walk, "hostaddr");
    char *ports = value(walk, "port");
    size_t of_hosts = cut(hosts), of_addresses = cut(addresses);
    size_t count = addresses ? of_addresses : of_hosts;

    walk->hosts = hosts;
    walk->addresses = addresses;
    walk->ports = ports;
    walk->port_count = cut(ports);
    if ((hosts && of_hosts != count) || (walk->port_count > 1 && walk->port_count != count) ||
        (addresses ? has_empty(addresses, count) : has_empty(hosts, count)))
        return 0;
    return count;
}

static void read_settings(struct ph__pg_walk *walk)
{
    const char *timeout = value(walk, "connect_timeout");
    const PQconninfoOption *port = option(walk, "port");
    long seconds = timeout ? strtol(timeout, NULL, 10) : 0;

    if (seconds > 0)
        walk->timeout_ms = seconds < 1000000 ? (int)seconds * 1000 : 1000000000;
    walk->attrs = value(walk, "target_session_attrs");
    walk->default_port = port ? port->compiled : NULL;
}

static bool is_random(const struct ph__pg_walk *walk)
{
    const char *how = value(walk, "load_balance_hosts"); /* libpq 16 and newer */

    return how && strcmp(how, "random") == 0;
}

/* ----------------------------------------------------------------------- the order */

static void shuffle(size_t *order, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)(ph__random_u64() % i), kept = order[i - 1];

        order[i - 1] = order[k];
        order[k] = kept;
    }
}

int ph__pg_walk_begin(struct ph__pg_walk *walk, const char *url, size_t first, ph_error *err)
{
    *walk = (struct ph__pg_walk){ .options = options_of(url) };
    walk->host_count = read_hosts(walk);
    read_settings(walk);
    walk->total = walk->host_count ? walk->host_count : 1;
    walk->order = ph__alloc(walk->total * sizeof(*walk->order));
    if (!walk->order) {
        ph__pg_walk_end(walk);
        return ph__fail_memory(err);
    }
    for (size_t i = 0; i < walk->total; i++)
        walk->order[i] = (first + i) % walk->total;
    if (is_random(walk))
        shuffle(walk->order, walk->total);
    if (walk->host_count && walk->attrs && strcmp(walk->attrs, "prefer-standby") == 0)
        walk->total *= 2; /* once for standbys, then for all */
    return 0;
}

void ph__pg_walk_end(struct ph__pg_walk *walk)
{
    PQconninfoFree(walk->options);
    ph__dealloc(walk->order);
    ph__dealloc(walk->found);
}

static size_t in_order(const struct ph__pg_walk *walk, size_t i)
{
    return walk->order[i % (walk->host_count ? walk->host_count : 1)];
}

size_t ph__pg_walk_at(const struct ph__pg_walk *walk)
{
    return in_order(walk, walk->tried - 1);
}

size_t ph__pg_walk_after(const struct ph__pg_walk *walk)
{
    return in_order(walk, walk->tried);
}

/* ----------------------------------------------------------------------- addresses */

static int take_addresses(struct ph__pg_walk *walk, const struct addrinfo *list, ph_error *err)
{
    size_t count = 0;

    for (const struct addrinfo *a = list; a; a = a->ai_next)
        count++;
    ph__dealloc(walk->found);
    walk->found = ph__alloc_zero(count, sizeof(*walk->found));
    if (!walk->found)
        return ph__fail_memory(err);
    walk->found_count = walk->found_used = 0;
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        if (getnameinfo(a->ai_addr, a->ai_addrlen, walk->found[walk->found_count],
                        sizeof(*walk->found), NULL, 0, NI_NUMERICHOST) == 0)
            walk->found_count++;
    }
    if (is_random(walk) && walk->found_count > 1) { /* libpq shuffles them, too: begin anywhere */
        size_t k = (size_t)(ph__random_u64() % walk->found_count);
        char kept[PH__PG_ADDRESS_SIZE];

        memcpy(kept, walk->found[0], sizeof(kept));
        memcpy(walk->found[0], walk->found[k], sizeof(kept));
        memcpy(walk->found[k], kept, sizeof(kept));
    }
    return 0;
}

static int look_up(struct ph__pg_walk *walk, const char *name, ph_error *err)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *list = NULL;
    int failure = getaddrinfo(name, NULL, &hints, &list), r;

    if (failure) {
        ph__fail(err, PH_ECONNECT,
                 "could not translate host name \"%s\" to address: %s; check the URL", name,
                 gai_strerror(failure));
        ph__cure_in_message(err, PH_ECONNECT, PH_CURE_CONNECTION);
        return ph__fail_flags(err, PH_ECONNECT, PH_RETRY);
    }
    r = take_addresses(walk, list, err);
    freeaddrinfo(list);
    return r;
}

/* ------------------------------------------------------------------- one by one */

static bool is_name(const char *host)
{
    return *host != '/' && *host != '@'; /* sockets of the file system, and abstract ones */
}

/* Its deadline: the same for all hosts that are left, and for all addresses of this one; and for a
 * spare connection, on which the caller's work is yet to be done. */
static ph__deadline share(ph__deadline until, size_t among, int most_ms)
{
    int ms = ph__deadline_left_ms(until) / (int)among;

    return ph__deadline_in(most_ms > 0 && most_ms < ms ? most_ms : ms);
}

static int begin_host(struct ph__pg_walk *walk, ph__deadline deadline, ph_error *err)
{
    const char *host = element(walk->hosts, in_order(walk, walk->tried));
    size_t among = walk->total - walk->tried + walk->has_spare;
    int r = 0;

    walk->found_count = walk->found_used = 0;
    walk->tried++;
    if (walk->host_count && !walk->addresses && is_name(host))
        r = look_up(walk, host, err);
    walk->until = share(deadline, among, 0); /* the host has done nothing yet */
    return r;
}

static const char *port_of(const struct ph__pg_walk *walk, size_t host)
{
    const char *port = element(walk->ports, walk->port_count > 1 ? host : 0);

    return port && !*port ? walk->default_port : port;
}

static const char *attrs_of(const struct ph__pg_walk *walk)
{
    if (walk->total == walk->host_count || walk->host_count == 0)
        return NULL;
    return walk->tried <= walk->host_count ? "standby" : "any";
}

int ph__pg_walk_next(struct ph__pg_walk *walk, ph__deadline deadline, struct ph__pg_place *ret,
                     ph_error *err)
{
    size_t addresses_left = walk->found_count - walk->found_used, host;
    int r;

    if (walk->tried > 0 && ph__deadline_left_ms(deadline) == 0)
        return 0;
    if (addresses_left == 0) {
        if (walk->tried == walk->total)
            return 0;
        r = begin_host(walk, deadline, err);
        if (r < 0)
            return r;
        addresses_left = walk->found_count;
    }
    *ret = (struct ph__pg_place){ .until = walk->until };
    if (walk->host_count) {
        host = ph__pg_walk_at(walk);
        ret->host = element(walk->hosts, host);
        ret->address = element(walk->addresses, host);
        ret->port = port_of(walk, host);
        ret->attrs = attrs_of(walk);
    }
    if (addresses_left) {
        ret->address = walk->found[walk->found_used++];
        ret->until = share(walk->until, addresses_left, 0);
    }
    if (walk->host_count || !walk->hosts) /* else several hosts would share it */
        ret->until = share(ret->until, 1, walk->timeout_ms);
    return 1;
}
