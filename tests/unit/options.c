/* options.c - size-first structs from older and newer callers. */
#include "harness.h"

#include "core/options.h"

struct now {
    size_t size;
    int64_t first, second;
};
struct later {
    size_t size;
    int64_t first, second, third, fourth;
};

static int load(struct now *to, const void *from)
{
    return ph__options_load(to, sizeof(*to), from, "opts", &t_err);
}

TEST(null_leaves_the_defaults)
{
    struct now to = { sizeof(to), 7, 8 };

    CHECK_INT(load(&to, NULL), 0);
    CHECK_INT(to.first, 7);
    CHECK_INT(to.second, 8);
}

TEST(the_same_size_is_copied)
{
    struct now from = { sizeof(from), 1, 2 }, to = { sizeof(to), 7, 8 };

    CHECK_INT(load(&to, &from), 0);
    CHECK_INT(to.first, 1);
    CHECK_INT(to.second, 2);
}

TEST(an_older_caller_leaves_the_rest_at_default)
{
    struct now from = { offsetof(struct now, second), 1, 2 }, to = { sizeof(to), 7, 8 };

    CHECK_INT(load(&to, &from), 0);
    CHECK_INT(to.first, 1);
    CHECK_INT(to.second, 8);
}

TEST(a_newer_caller_may_leave_new_members_zero)
{
    struct later from = { sizeof(from), 1, 2, 0, 0 };
    struct now to = { sizeof(to), 7, 8 };

    CHECK_INT(load(&to, &from), 0);
    CHECK_INT(to.second, 2);
}

TEST(a_newer_caller_who_sets_a_new_member_is_refused)
{
    for (int which = 0; which < 2; which++) {
        struct later from = { sizeof(from), 1, 2, which == 0, which == 1 };
        struct now to = { sizeof(to), 7, 8 };

        CHECK_INT(load(&to, &from), PH_EINVAL);
        CHECK_STR(t_err.message, "opts: sets a member that this version of the library (" PH_VERSION
                                 ") does not know");
        CHECK_INT(to.first, 7);
    }
}

TEST(a_size_that_was_not_set_is_refused)
{
    static const size_t sizes[] = { 0, 1, sizeof(size_t) - 1, 4097, (size_t)-1 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct now from = { sizes[i], 1, 2 }, to = { sizeof(to), 7, 8 };

        CHECK_INT(load(&to, &from), PH_EINVAL);
        CHECK_STR(t_err.message,
                  "opts: the member size is not set; initialise the struct with its _INIT macro");
    }
}

TEST(results_are_cut_to_the_callers_size)
{
    struct now full = { sizeof(full), 1, 2 };
    struct now older = { offsetof(struct now, second), 7, 8 };
    struct later newer = { sizeof(newer), 7, 8, 9, 10 };

    ph__options_store(&older, &full, sizeof(full));
    CHECK_INT(older.size, offsetof(struct now, second));
    CHECK_INT(older.first, 1);
    CHECK_INT(older.second, 8);
    ph__options_store(&newer, &full, sizeof(full));
    CHECK_INT(newer.size, sizeof(newer));
    CHECK_INT(newer.second, 2);
    CHECK_INT(newer.third, 9);
}

TEST(init_macros_are_all_default)
{
    ph_store_opts store = PH_STORE_OPTS_INIT;
    ph_claim_opts claim = PH_CLAIM_OPTS_INIT;
    ph_message message = PH_MESSAGE_INIT;
    ph_queue_settings queue = PH_QUEUE_SETTINGS_INIT;
    ph_queue_counts counts = PH_QUEUE_COUNTS_INIT;
    ph_schema_status status = PH_SCHEMA_STATUS_INIT;

    CHECK_INT(store.size, sizeof(store));
    CHECK_INT(claim.size, sizeof(claim));
    CHECK_INT(message.size, sizeof(message));
    CHECK(message.payload_length == PH_TEXT_LENGTH);
    CHECK_INT(queue.size, sizeof(queue));
    CHECK_INT(counts.size, sizeof(counts));
    CHECK_INT(status.size, sizeof(status));
    CHECK(!store.deploy_schema && !store.log);
}

/* It would end within a member, and cut a pointer in two. */
TEST(a_size_that_no_struct_has_is_refused)
{
    struct now from = { sizeof(from), 1, 2 }, to = { sizeof(to), 7, 8 };

    for (size_t size = 0; size <= 2 * sizeof(from); size++) {
        from.size = size;
        if (size >= sizeof(size_t) && size % sizeof(size_t) == 0 && size <= sizeof(from))
            continue;
        if (size % sizeof(size_t) == 0 && size > sizeof(from))
            continue; /* a newer caller's */
        CHECK_INT(load(&to, &from), PH_EINVAL);
        CHECK_INT(to.first, 7);
    }
}
