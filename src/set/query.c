/* query.c - a source: rows of a control database. */
#include "core/call.h"
#include "core/error.h"
#include "set/sources.h"
#include "util/alloc.h"

#define COLUMNS_MIN 2
#define COLUMNS_MAX 5

struct reading {
    ph_found *found;
    int columns;
};

static int on_columns(void *context, int count, ph_error *err)
{
    struct reading *reading = context;

    if (count < COLUMNS_MIN || count > COLUMNS_MAX)
        return ph__fail(err, PH_EINVAL,
                        "the query gives %d column%s; it must give id and url, and may give key, "
                        "schema and table_prefix after them",
                        count, count == 1 ? "" : "s");
    reading->columns = count;
    return 0;
}

static int on_row(void *context, const char *const *texts, ph_error *err)
{
    struct reading *reading = context;
    ph_database database = PH_DATABASE_INIT;
    struct ph__buffer url = { 0 };
    int r;

    if (texts[1])
        ph__file_put_url(&url, reading->found->file, texts[1]);
    database.id = texts[0];
    database.url = url.data;
    database.key = reading->columns > 2 ? texts[2] : NULL;
    database.schema = reading->columns > 3 ? texts[3] : NULL;
    database.table_prefix = reading->columns > 4 ? texts[4] : NULL;
    r = url.failed ? ph__fail_memory(err) : ph_found_add(reading->found, &database, err);
    ph__buffer_free(&url);
    return r == PH_ENOMEM ? r : ph__ok(err); /* a row that makes no sense is left out */
}

int ph__query_ask(const char *url, const char *sql, ph_found *found, ph_error *err)
{
    struct reading reading = { .found = found };
    struct ph__reader reader = { on_columns, on_row, &reading };
    ph_store_opts opts = found->set->stores;
    ph_store *store = NULL;
    PH__CALL(call);
    int r;

    opts.store_id = found->set->voice.id;
    r = ph_open_lazy(url, &opts, &store, err);
    if (r == 0)
        r = ph__call_begin(&call, store, PH_OWN_TX, found->timeout_ms, err);
    r = ph__call_connect_bare(&call, r);
    if (r == 0)
        r = store->backend->query(&call, sql, &reader);
    ph__call_end(&call);
    ph_close(store);
    return r;
}

static int ask(struct ph__source *source, ph_found *found, ph_error *err)
{
    return ph__query_ask(source->url, source->sql, found, err);
}

static int check(const char *url, const char *sql, ph_error *err)
{
    ph_store *store = NULL;
    int r;

    if (!url || !sql)
        return ph__fail(err, PH_EINVAL, "%s is NULL", url ? "sql" : "url");
    if (!*sql)
        return ph__fail(err, PH_EINVAL, "sql is empty");
    r = ph_open_lazy(url, NULL, &store, err);
    ph_close(store);
    return r;
}

int ph_set_add_query(ph_set *set, const char *url, const char *sql, ph_error *reterr)
{
    char shown[PH__SHOWN_SIZE];
    struct ph__source *source;
    int r;

    ph__ok(reterr);
    if (!set)
        return ph__fail(reterr, PH_EINVAL, "set is NULL");
    r = check(url, sql, reterr);
    if (r < 0)
        return r;
    source = ph__source_new("query on", ph__url_shown(url, shown), reterr);
    if (!source)
        return PH_ENOMEM;
    source->ask = ask;
    source->url = ph__strdup(url);
    source->sql = ph__strdup(sql);
    r = source->url && source->sql ? ph__set_reserve_reader(set, reterr) : ph__fail_memory(reterr);
    if (r < 0) {
        ph__source_free(source);
        return r;
    }
    ph__source_add(set, source);
    return 0;
}
