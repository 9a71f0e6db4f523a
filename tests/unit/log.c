/* log.c - lines of log, and arguments that are refused before any database is asked. */
#include "harness.h"

#include "core/log.h"
#include "util/alloc.h"

static char seen[1000];
static int lines;

static void keep(void *context, const ph_log_event *event)
{
    CHECK(context == seen);
    CHECK_STR(event->event, "claim");
    CHECK_STR(event->store, "shop\n1");
    CHECK_INT(event->field_count, 1);
    CHECK_STR(event->fields[0].key, "topic");
    snprintf(seen, sizeof(seen), "%s", event->text);
    lines++;
}

static ph_store store_with(ph_log_level level)
{
    static char id[] = "shop\n1";

    return (ph_store){ .id = id, .opts = { .log = keep, .log_context = seen, .log_level = level } };
}

static const ph_log_field fields[] = { { "topic", "a\nb" }, { "correlation_id", NULL } };

TEST(a_line_has_event_store_and_fields_and_stays_one_line)
{
    ph_store store = store_with(PH_LOG_INFO);

    ph__log(&store, PH_LOG_INFO, "claim", "leased", fields, 2);
    CHECK_STR(seen, "claim: leased store=shop\\n1 topic=a\\nb");
}

TEST(levels_above_the_wanted_one_are_silent)
{
    ph_store store = store_with(PH_LOG_WARN);

    ph__log(&store, PH_LOG_INFO, "claim", "leased", fields, 2);
    CHECK_INT(lines, 0);
    ph__log(&store, PH_LOG_WARN, "claim", "leased", fields, 2);
    ph__log(&store, PH_LOG_ERROR, "claim", "leased", fields, 2);
    CHECK_INT(lines, 2);
    store.opts.log = NULL;
    ph__log(&store, PH_LOG_ERROR, "claim", "leased", fields, 2);
    CHECK_INT(lines, 2);
}

TEST(without_memory_a_line_shrinks_to_its_event)
{
    ph_store store = store_with(PH_LOG_INFO);

    ph__alloc_fail_after = 0;
    ph__log(&store, PH_LOG_INFO, "claim", "leased", fields, 2);
    ph__alloc_fail_after = -1;
    CHECK_STR(seen, "claim");
}
