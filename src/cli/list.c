/* list.c - lists of messages: of one database, or the newest of many. */
#include "message.h"

#include <string.h>

/* A page, and what a set of databases needs in addition. */
struct page {
    const struct cli_door *door; /* NULL: all of them */
    const ph_message_list_opts *opts;
    json_t *messages; /* the first of all stores, in order */
    json_t *stores;   /* a line each */
    size_t found;     /* in all stores, as far as they were counted */
    bool more;
};

struct found {
    const char *store;
    int64_t count;
    bool more;
};

const struct cli_field cli_list_store_fields[] = {
    CLI_FIELD(struct found, "store", store, TEXT, NULL, "its id; null: the total"),
    CLI_FIELD(struct found, "found", count, NUMBER, NULL,
              "messages that match, counted up to --limit in each store"),
    CLI_FIELD(struct found, "more", more, BOOL, NULL, "there may be more than that"),
    CLI_TOTAL_FIELDS,
    CLI_ERROR_FIELD,
    { 0 },
};

void cli_list_opts(struct cli *cli, ph_message_list_opts *opts)
{
    opts->ns = cli_text(cli, "namespace");
    opts->topic = cli_text(cli, "topic");
    opts->limit = (int)cli_number(cli, "limit");
    opts->oldest_first = cli_given(cli, "oldest-first");
    opts->with_payload = cli_given(cli, "payload");
    cli_id(cli, "after", opts->after.b);
}

void cli_list_more(struct cli *cli, const char *last)
{
    cli_note(cli, "there may be more: --after %s", last);
}

const char *cli_columns_for(struct cli *cli, const char *columns, const struct cli_door *door)
{
    static const char topic[] = "topic";
    const char *rest = strstr(columns, topic) + strlen(topic);

    return door == cli_inbox
               ? cli_printf(cli, "%.*s source source_id%s", (int)(rest - columns), columns, rest)
               : columns;
}

static const char *noun_of(const struct page *page)
{
    return page->opts->state == PH_LIST_DEAD ? "dead letter" : page->door->noun;
}

/* The one database there is. */
static void print_page(struct cli *cli, const struct page *page, const json_t *messages)
{
    size_t count = json_array_size(messages), i;
    json_t *message;

    json_array_foreach(messages, i, message) cli_row_json(cli, json_incref(message));
    if (count == 0)
        cli_note(cli, "no %ss", noun_of(page));
    if (count == (size_t)page->opts->limit)
        cli_list_more(cli, json_string_value(
                               json_object_get(json_array_get(messages, count - 1), "work_id")));
}

/* ------------------------------------------------------------- several lists in order */

/* by: the order of the lists, work_id in one store and created_at in several. */
static bool comes_before(const json_t *a, const json_t *b, const char *by, bool oldest_first)
{
    int order = strcmp(json_string_value(json_object_get(a, by)),
                       json_string_value(json_object_get(b, by)));

    return oldest_first ? order < 0 : order > 0;
}

/* Merges the first messages of two lists, up to the limit; each keeps its own order. */
static json_t *merged(const json_t *a, const json_t *b, const char *by,
                      const ph_message_list_opts *opts)
{
    json_t *both = cli_need(json_array());
    size_t i = 0, j = 0;

    while (json_array_size(both) < (size_t)opts->limit) {
        json_t *x = json_array_get(a, i), *y = json_array_get(b, j);

        if (!x && !y)
            break;
        if (!x || (y && comes_before(y, x, by, opts->oldest_first))) {
            json_array_append(both, y);
            j++;
        } else {
            json_array_append(both, x);
            i++;
        }
    }
    return both;
}

/* Adds the total. There may be more in stores that have failed. */
static void add_total(struct cli *cli, struct page *page)
{
    const struct found all = { NULL, (int64_t)page->found, page->more };
    json_t *row = cli_object(cli_list_store_fields, &all);

    if (cli_json_total(cli, row))
        cli_set(row, "more", json_true());
    json_array_append_new(page->stores, row);
}

static void add_page(struct cli *cli, struct page *page, const json_t *messages)
{
    size_t count = json_array_size(messages), i;
    const struct found here = { cli->place, (int64_t)count, count == (size_t)page->opts->limit };
    json_t *all, *message;

    json_array_foreach(messages, i, message) cli_set(message, "store", cli_json_text(cli->place));
    all = merged(page->messages, messages, "created_at", page->opts);
    json_decref(page->messages);
    page->messages = all;
    page->found += count;
    page->more |= here.more;
    cli_array_add(page->stores, cli_list_store_fields, &here);
}

static void add_failed(struct cli *cli, void *context)
{
    json_array_append_new(((struct page *)context)->stores, cli_json_failed(cli));
}

/* "eu: 3 messages", of each store and in total. Failures have been reported already. */
static void tell_stores(struct cli *cli, const struct page *page)
{
    const json_t *line;
    size_t i;

    json_array_foreach(page->stores, i, line)
    {
        const char *name = json_string_value(json_object_get(line, "store"));
        json_int_t found = json_integer_value(json_object_get(line, "found"));
        bool more = json_is_true(json_object_get(line, "more"));

        if (!json_object_get(line, "error"))
            cli_note(cli, "%s: %lld %s%s%s", name ? cli_shown(cli, name) : "(all)",
                     (long long)found, noun_of(page), found == 1 ? "" : "s",
                     more ? " or more" : "");
    }
    if (page->found > json_array_size(page->messages) || page->more)
        cli_note(cli, "there may be more; continue in one store with --store and --after");
}

static void print_set(struct cli *cli, struct page *page)
{
    json_t *message;
    size_t i;

    add_total(cli, page);
    if (cli->format == CLI_JSON) {
        cli_layout_set(cli, CLI_CARD);
        message = cli_need(json_object());
        cli_set(message, "messages", json_incref(page->messages));
        cli_set(message, "stores", json_incref(page->stores));
        cli_row_json(cli, message);
        return;
    }
    json_array_foreach(page->messages, i, message) cli_row_json(cli, json_incref(message));
    cli_flush(cli);
    tell_stores(cli, page);
}

/* --------------------------------------------------------------------------------- both */

/* Adds what one call reads behind a door, and moves opts behind it. *ret_end: there is no more. */
static int read_on(struct cli *cli, const struct cli_door *door, ph_message_list_opts *opts,
                   int64_t now, json_t *here, bool *ret_end)
{
    ph_messages *list = NULL;
    size_t count;

    if (door->list(cli->store, PH_OWN_TX, opts, cli->timeout_ms, &list, &cli->err) < 0)
        return cli_fail_store(cli);
    count = ph_messages_count(list);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(here, cli_json_message(door, ph_messages_at(list, i), now, false));
    if (count > 0)
        opts->after = ph_messages_at(list, count - 1)->message->work_id;
    opts->limit -= (int)count;
    ph_messages_free(list);
    *ret_end = count == 0 || opts->limit == 0;
    return CLI_OK;
}

/* Merges the messages of one door into those of others. Large results take several calls. */
static int gather(struct cli *cli, struct page *page, const struct cli_door *door, int64_t now,
                  json_t **messages)
{
    json_t *here = cli_need(json_array()), *all;
    ph_message_list_opts opts = *page->opts;
    bool end = false;

    while (!end) {
        int code = read_on(cli, door, &opts, now, here, &end);

        if (code != CLI_OK) {
            json_decref(here);
            return code;
        }
        end |= !opts.with_payload && door->door != PH_JOB_RUNS;
    }
    all = merged(*messages, here, "work_id", page->opts);
    json_decref(*messages);
    json_decref(here);
    *messages = all;
    return CLI_OK;
}

static int one(struct cli *cli, void *context)
{
    struct page *page = context;
    json_t *messages = cli_need(json_array());
    int64_t now = 0;
    int code = CLI_OK;

    if (ph_clock(cli->store, PH_OWN_TX, cli->timeout_ms, &now, &cli->err) < 0)
        code = cli_fail_store(cli);
    for (size_t i = 0; i < CLI_DOOR_COUNT && code == CLI_OK; i++) {
        if (!page->door || page->door == &cli_doors[i])
            code = gather(cli, page, &cli_doors[i], now, &messages);
    }
    if (code == CLI_OK && cli_is_set(cli))
        add_page(cli, page, messages);
    else if (code == CLI_OK)
        print_page(cli, page, messages);
    if (code == CLI_OK && json_array_size(messages) == 0)
        code = CLI_NOT_FOUND;
    json_decref(messages);
    return code;
}

int cli_list_messages(struct cli *cli, const struct cli_door *door, ph_message_list_opts *opts,
                      const char *columns)
{
    struct page page = { .door = door, .opts = opts };
    struct cli_each each = { .one = one, .failed = add_failed, .context = &page };
    int code;

    cli_list_opts(cli, opts);
    if (cli_given(cli, "after") && cli_is_set(cli))
        return cli_usage(cli, "--after continues in one database; pick it with --store");
    cli_columns_set(cli, cli_columns_for(cli, columns, door));
    page.messages = cli_need(json_array());
    page.stores = cli_need(json_array());
    code = cli_each(cli, &each);
    if (json_array_size(page.stores) > 0)
        print_set(cli, &page);
    json_decref(page.messages);
    json_decref(page.stores);
    return code;
}
