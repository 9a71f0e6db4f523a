/* health.c - how a database is doing, and what follows from it. */
#include "harness.h"
#include "in_memory.h"

/* ------------------------------------------------------------------------------- shares */

static bool few_used_up(int pollers, int failing)
{
    return ph__share_is_used_up(
        PH__SHARE_FEW, &(struct ph__pollers_use){ pollers, failing, 0, .others_well = true });
}

static bool most_used_up(int pollers, int failing, int slow)
{
    return ph__share_is_used_up(
        PH__SHARE_MOST, &(struct ph__pollers_use){ pollers, failing, slow, .others_well = true });
}

TEST(failing_databases_have_a_quarter_of_the_pollers)
{
    static const int shares[][2] = { { 2, 1 }, { 4, 1 }, { 7, 1 }, { 8, 2 }, { 16, 4 } };

    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        CHECK(!few_used_up(shares[i][0], shares[i][1] - 1));
        CHECK(few_used_up(shares[i][0], shares[i][1]));
    }
}

TEST(slow_databases_have_all_but_a_quarter_of_the_pollers)
{
    static const int shares[][2] = { { 2, 1 }, { 4, 3 }, { 8, 6 }, { 16, 12 } };

    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        CHECK(!most_used_up(shares[i][0], 0, shares[i][1] - 1));
        CHECK(most_used_up(shares[i][0], 0, shares[i][1]));
        CHECK(most_used_up(shares[i][0], 1, shares[i][1] - 1));
    }
}

TEST(slow_databases_have_all_pollers_if_no_other_needs_them)
{
    struct ph__pollers_use use = { 4, 1, 3, .others_well = false };

    CHECK(!ph__share_is_used_up(PH__SHARE_MOST, &use));
    use.others_well = true;
    CHECK(ph__share_is_used_up(PH__SHARE_MOST, &use));
}

/* Or nobody would ever come. */
TEST(the_only_poller_goes_everywhere)
{
    CHECK(!few_used_up(1, 0));
    CHECK(!few_used_up(1, 1));
    CHECK(!most_used_up(1, 0, 0));
    CHECK(!most_used_up(1, 1, 1));
}

TEST(well_databases_have_every_poller)
{
    struct ph__pollers_use use = { 0, 16, 16, .others_well = true };

    for (use.pollers = 1; use.pollers <= PH__POLLERS_MAX; use.pollers++)
        CHECK(!ph__share_is_used_up(PH__SHARE_ALL, &use));
}

/* ----------------------------------------------------------------------------- meanings */

TEST(every_state_of_health_has_a_meaning)
{
    for (int state = PH__NEW; state <= PH__REFUSED; state++) {
        const struct ph__health_meaning *meaning = ph__health_meaning((enum ph__health)state);
        bool is_well = state == PH__NEW || state == PH__WELL;
        bool has_failed = state == PH__FAILING || state == PH__REFUSED;

        CHECK((meaning->share == PH__SHARE_ALL) == is_well);
        CHECK(meaning->holds_room == is_well);
        CHECK((meaning->first_us > 0) == has_failed);
        CHECK(meaning->longest_us >= meaning->first_us);
        CHECK(meaning->longest_set_us >= meaning->longest_us);
    }
    CHECK_INT(ph__health_meaning(PH__SLOW)->share, PH__SHARE_MOST);
}

/* ------------------------------------------------------------------------------- pauses */

TEST(pauses_grow_up_to_the_longest_and_begin_anew)
{
    static const struct {
        enum ph__health health;
        bool in_set;
        int64_t first_us, longest_us;
    } cases[] = {
        { PH__FAILING, false, 50 * M_MS, 5 * M_SECOND },
        { PH__FAILING, true, 50 * M_MS, 15 * M_SECOND },
        { PH__REFUSED, false, 500 * M_MS, 30 * M_SECOND },
        { PH__REFUSED, true, 500 * M_MS, 30 * M_SECOND },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t step_us = 0, want_us = cases[i].first_us;

        for (int tries = 0; tries < 20; tries++) {
            step_us = ph__retry_step_us(cases[i].health, step_us, cases[i].in_set);
            CHECK_INT(step_us, want_us);
            want_us = ph__earlier(2 * want_us, cases[i].longest_us);
        }
        CHECK_INT(step_us, cases[i].longest_us);
        CHECK_INT(ph__retry_step_us(cases[i].health, 0, cases[i].in_set), cases[i].first_us);
    }
}

TEST(a_short_pause_becomes_the_first_of_its_kind)
{
    CHECK_INT(ph__retry_step_us(PH__REFUSED, 50 * M_MS, true), 500 * M_MS);
    CHECK_INT(ph__retry_step_us(PH__FAILING, 30 * M_SECOND, true), 15 * M_SECOND);
}

/* ----------------------------------------------------------------- failures and successes */

static void fail(struct ph__db *db, int code)
{
    ph_error err = { .code = code };

    ph__unlock(db->dispatcher);
    ph__db_failed(db, &err);
    ph__lock(db->dispatcher);
}

static void succeed(struct ph__db *db)
{
    ph__unlock(db->dispatcher);
    ph__db_succeeded(db);
    ph__lock(db->dispatcher);
}

TEST(a_failing_database_is_tried_again_between_half_of_the_pause_and_all_of_it)
{
    struct ph__db *db = m_db(m_dispatcher());
    int64_t pause_us = 50 * M_MS;

    for (int tries = 0; tries < 5; tries++, pause_us *= 2) {
        fail(db, PH_ECONNECT);
        CHECK_INT(db->health.state, PH__FAILING);
        CHECK(db->health.retry_us >= m_now_us + pause_us / 2);
        CHECK(db->health.retry_us <= m_now_us + pause_us);
        m_now_us = db->health.retry_us;
    }
    CHECK_INT(db->health.outages, 1);
}

/* It was a renewal: it says nothing about the next try. */
TEST(a_failure_before_its_time_makes_no_pause_longer)
{
    struct ph__db *db = m_db(m_dispatcher());
    int64_t retry_us;

    fail(db, PH_ECONNECT);
    retry_us = db->health.retry_us;
    fail(db, PH_ECONNECT);
    CHECK_INT(db->health.retry_us, retry_us);
    CHECK_INT(db->health.step_us, 50 * M_MS);
}

TEST(after_a_success_pauses_begin_anew)
{
    struct ph__db *db = m_db(m_dispatcher());

    fail(db, PH_ECONNECT);
    m_now_us = db->health.retry_us;
    fail(db, PH_ECONNECT);
    CHECK_INT(db->health.step_us, 100 * M_MS);
    succeed(db);
    CHECK_INT(db->health.state, PH__WELL);
    CHECK_INT(db->health.retry_us, 0);
    fail(db, PH_ECONNECT);
    CHECK_INT(db->health.step_us, 50 * M_MS);
    CHECK_INT(db->health.outages, 2);
}

TEST(of_a_set_one_that_somebody_must_change_is_set_aside)
{
    static const int codes[] = { PH_EPERM, PH_EAUTH, PH_ENOSCHEMA, PH_ETOOOLD, PH_ETOONEW };
    struct ph__db *db = m_db_of_set(m_dispatcher());

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        succeed(db);
        fail(db, codes[i]);
        CHECK_INT(db->health.state, PH__REFUSED);
        CHECK_INT(db->health.step_us, 500 * M_MS);
    }
    db->entry = NULL; /* who has only one wants it back soon */
    succeed(db);
    fail(db, PH_EPERM);
    CHECK_INT(db->health.state, PH__FAILING);
}

TEST(another_kind_of_failure_has_pauses_of_its_own)
{
    struct ph__db *db = m_db_of_set(m_dispatcher());

    for (int tries = 0; tries < 4; tries++) {
        fail(db, PH_EPERM);
        m_now_us = db->health.retry_us;
    }
    CHECK_INT(db->health.step_us, 4 * M_SECOND);
    fail(db, PH_ECONNECT);
    CHECK_INT(db->health.step_us, 50 * M_MS);
}

TEST(who_took_long_to_fail_makes_others_of_its_server_doubtful)
{
    ph_dispatcher *dispatcher = m_dispatcher();
    struct ph__db *db = m_db_of_set(dispatcher), *same = m_db_of_set(dispatcher);
    struct ph__db *elsewhere = m_db_of_set(dispatcher);
    char here[] = "here", there[] = "there", here_too[] = "here";

    db->server = here;
    same->server = here_too;
    elsewhere->server = there;
    db->visit.began_us = m_now_us - PH__SLOW_US + 1;
    fail(db, PH_ECONNECT);
    CHECK_INT(same->health.state, PH__WELL);
    succeed(db);
    db->visit.began_us = m_now_us - PH__SLOW_US;
    fail(db, PH_ECONNECT);
    CHECK_INT(same->health.state, PH__DOUBTFUL);
    CHECK_INT(elsewhere->health.state, PH__WELL);
    CHECK_INT(db->health.state, PH__FAILING);
}

TEST(a_call_that_took_long_makes_a_database_of_a_set_slow_until_one_does_not)
{
    ph_dispatcher *dispatcher = m_dispatcher();
    struct ph__db *db = m_db_of_set(dispatcher), *alone = m_db(dispatcher);

    ph__db_took(db, PH__SLOW_US);
    CHECK_INT(db->health.state, PH__WELL);
    ph__db_took(db, PH__SLOW_US + 1);
    CHECK_INT(db->health.state, PH__SLOW);
    succeed(db);
    CHECK_INT(db->health.state, PH__SLOW);
    ph__db_took(db, 1);
    CHECK_INT(db->health.state, PH__WELL);
    ph__db_took(alone, PH__SLOW_US + 1);
    CHECK_INT(alone->health.state, PH__WELL);
}
