/* database.c - what makes a database acceptable. */
#include "core/error.h"
#include "core/message.h"
#include "core/options.h"
#include "set/inner.h"

/* Opened as it would be for use, but never connected: so the same rules hold. */
static int open_it(const ph_set *set, struct ph__checked *checked, ph_error *err)
{
    ph_store_opts opts = set->stores;

    opts.store_id = checked->database.id;
    if (checked->database.schema)
        opts.schema = checked->database.schema;
    if (checked->database.table_prefix)
        opts.table_prefix = checked->database.table_prefix;
    return ph_open_lazy(checked->database.url, &opts, &checked->store, err);
}

int ph__check_begin(const ph_set *set, const ph_database *database, struct ph__checked *ret_checked,
                    ph_error *err)
{
    struct ph__checked checked = { .database = PH_DATABASE_INIT };
    int r;

    *ret_checked = checked;
    if (!database)
        return ph__fail(err, PH_EINVAL, "database is NULL");
    r = ph__options_load(&checked.database, sizeof(checked.database), database, "ph_database", err);
    if (r < 0)
        return r;
    *ret_checked = checked;
    r = ph__name_check(checked.database.id, "id", false, err);
    if (r < 0)
        return ph__cure_in_message(err, r, PH_CURE_RENAME);
    if (!checked.database.url)
        r = ph__fail(err, PH_EINVAL, "url is NULL; it is required");
    if (r == 0)
        r = open_it(set, &checked, err);
    if (r < 0)
        return r;
    checked.key = checked.database.key ? checked.database.key : checked.database.id;
    r = ph__name_check(checked.key, "key", false, err);
    if (r < 0) {
        ph__check_end(&checked);
        ret_checked->key = checked.key;
        return ph__cure_in_message(err, r, PH_CURE_RENAME);
    }
    checked.place = (struct ph__place){ checked.database.id, checked.database.url,
                                        checked.store->schema, checked.store->prefix };
    *ret_checked = checked;
    return 0;
}

void ph__check_end(struct ph__checked *checked)
{
    ph_close(checked->store);
}
