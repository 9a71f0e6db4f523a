/* error.c - errors: filling, cutting, texts. */
#include "harness.h"

#include "core/error.h"
#include "core/names.h"
#include "util/text.h"

TEST(filling_and_clearing)
{
    ph_error err;

    memset(&err, 0x5a, sizeof(err));
    CHECK_INT(ph__fail(&err, PH_EBUSY, "number %d", 5), PH_EBUSY);
    CHECK_INT(err.code, PH_EBUSY);
    CHECK_INT(err.native, 0);
    CHECK_INT(err.flags, 0);
    CHECK_STR(err.sqlstate, "");
    CHECK_STR(err.message, "number 5");
    CHECK_INT(ph__fail_flags(&err, PH_EBUSY, PH_RETRY), PH_EBUSY);
    CHECK_INT(err.flags, PH_RETRY);
    CHECK_INT(ph__ok(&err), 0);
    CHECK_INT(err.code, 0);
    CHECK_STR(err.message, "");
}

TEST(no_error_wanted)
{
    CHECK_INT(ph__ok(NULL), 0);
    CHECK_INT(ph__fail(NULL, PH_EINVAL, "x"), PH_EINVAL);
    CHECK_INT(ph__fail_flags(NULL, PH_EINVAL, PH_RETRY), PH_EINVAL);
    CHECK_INT(ph__fail_memory(NULL), PH_ENOMEM);
}

TEST(memory_may_be_there_later)
{
    CHECK_INT(ph__fail_memory(&t_err), PH_ENOMEM);
    CHECK_INT(t_err.flags, PH_RETRY);
}

/* Whatever byte the end falls on, the text stays valid UTF-8. */
TEST(long_texts_are_cut_at_a_code_point)
{
    static const char *const pieces[] = { "x", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x93\xaf" };

    for (size_t p = 0; p < 4; p++) {
        for (size_t before = 0; before < 8; before++) {
            char text[1200] = "";

            memset(text, 'a', before);
            for (size_t at = before; at < 1000; at += strlen(pieces[p]))
                memcpy(text + at, pieces[p], strlen(pieces[p]) + 1);
            ph__fail(&t_err, PH_EINVAL, "%s", text);
            CHECK(strlen(t_err.message) >= sizeof(t_err.message) - 5);
            CHECK(ph__text_valid(t_err.message, strlen(t_err.message), NULL));
        }
    }
}

TEST(texts_that_fit_are_whole)
{
    char text[sizeof(t_err.message)];

    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 2] = '\0';
    ph__fail(&t_err, PH_EINVAL, "%s", text);
    CHECK_STR(t_err.message, text);
}

TEST(layout_is_frozen)
{
    CHECK_INT(sizeof(ph_error), 268);
    CHECK_INT(offsetof(ph_error, flags), 8);
    CHECK_INT(offsetof(ph_error, sqlstate), 12);
    CHECK_INT(offsetof(ph_error, message), 18);
}

TEST(every_status_and_outcome_has_a_text)
{
    CHECK_STR(ph_status_text(PH_OK), "success");
    CHECK_STR(ph_status_text(PH_EBUSY), "the database is locked");
    for (int status = 0; status >= PH_EEVICTED; status--)
        CHECK(strcmp(ph_status_text(status), "no such status") != 0);
    CHECK_STR(ph_status_text(PH_EEVICTED - 1), "no such status");
    CHECK_STR(ph_status_text(1), "no such status");

    CHECK_STR(ph_outcome_text(PH_OUTCOME_UNKNOWN), "unknown");
    CHECK_STR(ph_outcome_text(PH_OUTCOME_STALE), "stale");
    CHECK_STR(ph_outcome_text(PH_OUTCOME_ACKED), "acked");
    CHECK_STR(ph_outcome_text(PH_OUTCOME_ABANDONED), "abandoned");
    CHECK_STR(ph_outcome_text(PH_OUTCOME_FAILED), "failed");
    CHECK_STR(ph_outcome_text(PH_OUTCOME_DEAD), "dead");
    CHECK_STR(ph_outcome_text(PH_OUTCOME_RELEASED), "released");
    CHECK_STR(ph_outcome_text(PH_OUTCOME_RENEWED), "renewed");
    CHECK_STR(ph_outcome_text((ph_outcome)99), "no such outcome");
}

TEST(stored_numbers_have_names)
{
    CHECK_STR(ph__attempt_kind_text(PH__ABANDONED), "abandoned");
    CHECK_STR(ph__attempt_kind_text(PH__EXPIRED), "expired");
    CHECK_STR(ph__attempt_kind_text(0), "unknown");
    CHECK_STR(ph__attempt_kind_text(6), "unknown");
    CHECK_STR(ph__attempt_kind_text(-1), "unknown");
    CHECK_STR(ph__dead_reason_text(PH__DEAD_FAILED), "failed");
    CHECK_STR(ph__dead_reason_text(PH__DEAD_EXPIRED), "expired");
    CHECK_STR(ph__dead_reason_text(0), "unknown");
    CHECK_STR(ph__dead_reason_text(5), "unknown");
}
