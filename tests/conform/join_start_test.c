/* join_start_test.c - a join begins: what is stored, and what is refused. */
#include "joins.h"

static int try_start(ph_store *store, int count, const ph_join_opts *opts)
{
    ph_join_id join = { { 7 } };
    int r = ph_join_start(store, PH_OWN_TX, count, opts, 0, &join, &t_err);

    if (r < 0)
        CHECK(join.b[0] == 7); /* left alone */
    return r;
}

static int try_key(ph_store *store, const char *key)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;

    opts.grouping_key = key;
    return try_start(store, 1, &opts);
}

static int try_metadata(ph_store *store, const char *metadata)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;

    opts.metadata = metadata;
    return try_start(store, 1, &opts);
}

static int try_deadline(ph_store *store, int64_t deadline)
{
    ph_join_opts opts = PH_JOIN_OPTS_INIT;

    opts.deadline = deadline;
    return try_start(store, 1, &opts);
}

TEST(a_join_is_stored_as_pending_with_both_counters_at_zero)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_info *info;
    ph_join_id join;

    t_clock_set(store, T_EPOCH);
    opts.grouping_key = "customer 7";
    opts.metadata = "{\"type\": \"etl\"}";
    OK(ph_join_start(store, PH_OWN_TX, 3, &opts, 0, &join, &t_err));
    REQ_STR("JOIN-001 OBX-082", standing(store, join), "0+0/3 pending");
    info = find_join(store, join);
    REQ("JOIN-006 OBX-081", info != NULL && same_id(info->id.b, join.b));
    REQ_INT("JOIN-001", info->state, PH_JOIN_PENDING);
    REQ_INT("OBX-080", info->expected_steps, 3);
    REQ_STR("OBX-080", info->grouping_key, "customer 7");
    REQ_STR("OBX-080", info->metadata, "{\"type\": \"etl\"}");
    REQ_INT("JOIN-005", info->created_at, T_EPOCH);
    REQ_INT("JOIN-005", info->updated_at, T_EPOCH);
    CHECK_INT(info->attached_steps, 0);
    CHECK_INT(info->open_waits, 0);
    CHECK_INT(info->deadline, 0);
    CHECK_INT(info->finished_at, 0);
    CHECK_INT(info->member_count, 0);
    ph_join_info_free(info);
    REQ_STR("JOIN-001", join_view(conn, join, "status"), "pending");
    REQ_STR("JOIN-006", join_view(conn, join, "expected_steps"), "3");
    t_disconnect(conn);
}

TEST(the_clock_of_a_join_is_the_databases)
{
    ph_store *store = t_open(NULL);
    int64_t before = t_clock(store);
    ph_join_id join = start_join(store, 1);
    ph_join_info *info = find_join(store, join);

    REQ("JOIN-005", info->created_at >= before && info->created_at <= t_clock(store));
    REQ_INT("JOIN-005", info->updated_at, info->created_at);
    ph_join_info_free(info);
}

TEST(every_join_has_an_id_of_its_own)
{
    ph_store *store = t_open(NULL), *other = t_open(NULL);
    ph_join_id ids[40];

    for (int i = 0; i < 40; i++)
        ids[i] = start_join(i % 3 ? store : other, 1);
    for (int i = 0; i < 40; i++) {
        for (int j = 0; j < i; j++)
            REQ("OBX-081", !same_id(ids[i].b, ids[j].b));
    }
}

TEST(a_join_without_options_has_neither_key_nor_metadata)
{
    ph_store *store = t_open(NULL);
    ph_join_id join;
    ph_join_info *info;

    OK(ph_join_start(store, PH_OWN_TX, 1, NULL, 0, &join, &t_err));
    info = find_join(store, join);
    CHECK_STR(info->grouping_key, NULL);
    CHECK_STR(info->metadata, NULL);
    ph_join_info_free(info);
}

TEST(steps_outside_their_range_are_refused)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    REQ_INT("JOIN-002", try_start(store, 0, NULL), PH_EINVAL);
    CHECK_STR(t_err.message, "expected_steps is 0; give 1 to 1000000");
    REQ_INT("JOIN-002", try_start(store, -1, NULL), PH_EINVAL);
    CHECK_INT(try_start(store, PH_JOIN_STEPS_MAX + 1, NULL), PH_EINVAL);
    CHECK_INT(try_start(store, INT32_MIN, NULL), PH_EINVAL);
    CHECK_INT(try_start(store, INT32_MAX, NULL), PH_EINVAL);
    REQ_INT("JOIN-002", t_number(conn, "SELECT count(*) FROM {t}joins"), 0);
    OK(try_start(store, PH_JOIN_STEPS_MAX, NULL));
    OK(try_start(store, 1, NULL));
    CHECK_INT(t_number(conn, "SELECT max(expected_steps) FROM {t}joins"), PH_JOIN_STEPS_MAX);
    t_disconnect(conn);
}

TEST(an_empty_grouping_key_is_stored_as_none)
{
    ph_store *store = t_open(NULL);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_info *info;
    ph_join_id join;

    opts.grouping_key = "";
    OK(ph_join_start(store, PH_OWN_TX, 1, &opts, 0, &join, &t_err));
    info = find_join(store, join);
    REQ_STR("JOIN-003", info->grouping_key, NULL);
    ph_join_info_free(info);
}

TEST(empty_metadata_stays_empty)
{
    ph_store *store = t_open(NULL);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_info *info;
    ph_join_id join;

    opts.metadata = "";
    OK(ph_join_start(store, PH_OWN_TX, 1, &opts, 0, &join, &t_err));
    info = find_join(store, join);
    CHECK_STR(info->metadata, "");
    ph_join_info_free(info);
}

TEST(grouping_keys_at_their_edges)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    OK(try_key(store, repeated("k", PH_NAME_MAX)));
    REQ_INT("JOIN-004", try_key(store, repeated("k", PH_NAME_MAX + 1)), PH_EINVAL);
    CHECK(strstr(t_err.message, "grouping_key") != NULL);
    OK(try_key(store, repeated("\xf0\x9f\x93\xaf", PH_NAME_MAX))); /* code points, not bytes */
    REQ_INT("JOIN-004", try_key(store, repeated("\xf0\x9f\x93\xaf", PH_NAME_MAX + 1)), PH_EINVAL);
    CHECK_INT(try_key(store, "\xff"), PH_EINVAL);
    CHECK_INT(try_key(store, "\xed\xa0\x80"), PH_EINVAL); /* half a surrogate pair */
    CHECK_INT(try_key(store, "\xc0\xaf"), PH_EINVAL);     /* overlong */
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}joins"), 2);
    OK(try_key(store, "it's; DROP TABLE x -- %s \\ \n"));
    t_disconnect(conn);
}

TEST(grouping_keys_compare_byte_for_byte)
{
    static const char *const keys[] = { "a", "A", "a ", " a", "\xc3\xa9", "e\xcc\x81" };
    ph_store *store = t_open(NULL);

    for (int i = 0; i < 6; i++)
        OK(try_key(store, keys[i]));
    for (int i = 0; i < 6; i++) {
        ph_join_list_opts opts = PH_JOIN_LIST_OPTS_INIT;
        ph_joins *list = NULL;

        opts.grouping_key = keys[i];
        OK(ph_join_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
        REQ_INT("OBX-095", ph_joins_count(list), 1);
        REQ_STR("OBX-095", ph_joins_at(list, 0)->grouping_key, keys[i]);
        ph_joins_free(list);
    }
}

TEST(metadata_at_its_edges)
{
    ph_store *store = t_open(NULL);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_info *info;
    ph_join_id join;

    opts.metadata = repeated("m", PH_JOIN_METADATA_MAX);
    OK(ph_join_start(store, PH_OWN_TX, 1, &opts, 0, &join, &t_err));
    info = find_join(store, join);
    CHECK_INT(strlen(info->metadata), PH_JOIN_METADATA_MAX);
    ph_join_info_free(info);
    CHECK_INT(try_metadata(store, repeated("m", PH_JOIN_METADATA_MAX + 1)), PH_EINVAL);
    CHECK_STR(t_err.message, "metadata has 1048577 bytes; at most 1048576 are allowed");
    CHECK_INT(try_metadata(store, "\xfe"), PH_EINVAL);
    CHECK_STR(t_err.message, "metadata is not valid UTF-8");
    OK(try_metadata(store, "no JSON at all: \x01 \xf0\x9f\x93\xaf \" \\ '"));
}

TEST(a_deadline_must_lie_ahead)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    CHECK_INT(try_deadline(store, T_EPOCH - 1), PH_EINVAL);
    CHECK(strstr(t_err.message, "not ahead") != NULL);
    CHECK_INT(try_deadline(store, T_EPOCH), PH_EINVAL);
    CHECK_INT(try_deadline(store, 1), PH_EINVAL);
    CHECK_INT(try_deadline(store, -1), PH_EINVAL);
    CHECK_INT(try_deadline(store, PH_TIME_MIN), PH_EINVAL);
    CHECK_INT(try_deadline(store, PH_TIME_MIN - 1), PH_EINVAL);
    CHECK(strstr(t_err.message, "outside the years 1 to 9999") != NULL);
    CHECK_INT(try_deadline(store, PH_TIME_MAX + 1), PH_EINVAL); /* the year 10000 */
    CHECK_INT(try_deadline(store, INT64_MAX), PH_EINVAL);
    CHECK_INT(try_deadline(store, INT64_MIN), PH_EINVAL);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}joins"), 0);
    OK(try_deadline(store, T_EPOCH + 1));
    OK(try_deadline(store, PH_TIME_MAX));
    t_disconnect(conn);
}

TEST(a_deadline_is_kept_to_the_microsecond)
{
    ph_store *store = t_open(NULL);
    ph_join_info *info;

    t_clock_set(store, T_EPOCH);
    info = find_join(store, start_join_until(store, 1, T_EPOCH + 1234567));
    CHECK_INT(info->deadline, T_EPOCH + 1234567);
    ph_join_info_free(info);
    info = find_join(store, start_join_until(store, 1, PH_TIME_MAX));
    CHECK_INT(info->deadline, PH_TIME_MAX);
    ph_join_info_free(info);
}

TEST(start_says_what_is_missing)
{
    ph_store *store = t_open(NULL);
    ph_join_opts opts = PH_JOIN_OPTS_INIT;
    ph_join_id join;

    CHECK_INT(ph_join_start(NULL, PH_OWN_TX, 1, NULL, 0, &join, &t_err), PH_EINVAL);
    CHECK_INT(ph_join_start(store, PH_OWN_TX, 1, NULL, 0, NULL, &t_err), PH_EINVAL);
    CHECK_STR(t_err.message, "ret_join is NULL");
    CHECK_INT(ph_join_start(store, PH_OWN_TX, 1, NULL, -1, &join, &t_err), PH_EINVAL);
    opts.size = 0;
    CHECK_INT(try_start(store, 1, &opts), PH_EINVAL);
    OK(ph_join_start(store, PH_OWN_TX, 1, NULL, 0, &join, NULL)); /* without reterr */
}

TEST(statuses_have_names)
{
    CHECK_STR(ph_join_state_text(PH_JOIN_PENDING), "pending");
    CHECK_STR(ph_join_state_text(PH_JOIN_COMPLETED), "completed");
    CHECK_STR(ph_join_state_text(PH_JOIN_FAILED), "failed");
    CHECK_STR(ph_join_state_text(PH_JOIN_CANCELLED), "cancelled");
    CHECK(ph_join_state_text((ph_join_state)77) != NULL);
    CHECK(ph_join_state_text((ph_join_state)-1) != NULL);
}
