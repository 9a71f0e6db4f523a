/* notice_test.c - the comparison itself: it notices a message in two places, in none, and so on. */
#include "run.h"

static struct run run;

/* Changes something behind the library's back, in a transaction that is rolled back. */
static void is_noticed(const char *change)
{
    t_begin(run.raw);
    t_sql(run.raw, change);
    if (view_matches(&run))
        printf("not noticed: %s\n", change);
    CHECK(*run.difference);
    t_rollback(run.raw);
    run.difference[0] = '\0';
    CHECK(view_matches(&run));
}

TEST(the_comparison_notices_what_is_wrong)
{
    run.store = t_open(NULL);
    run.raw = t_connect();
    view_prepare(run.raw);
    view_clear(run.raw);
    m_init(&run.model, T_EPOCH);
    t_clock_set(run.store, T_EPOCH);
    while (run.model.message_count < 5)
        CHECK(step_enqueue(&run));
    CHECK(view_matches(&run));
    is_noticed("INSERT INTO {t}dead (id, queue, reason, died_at) "
               "SELECT id, queue, 1, created_at FROM {t}message LIMIT 1");
    is_noticed("DELETE FROM {t}pending WHERE id = (SELECT id FROM {t}pending LIMIT 1)");
    is_noticed("DELETE FROM {t}message WHERE id = (SELECT id FROM {t}message LIMIT 1)");
    is_noticed("UPDATE {t}pending SET attempts = attempts + 1");
    is_noticed("UPDATE {t}message SET topic = 'another'");
    view_end();
}
