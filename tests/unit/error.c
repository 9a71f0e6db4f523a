/* error.c - errors: filling, cutting, texts. */
#include "harness.h"

#include <limits.h>

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

TEST(a_cure_stands_behind_the_cause)
{
    char cause[PH_ERROR_MESSAGE_SIZE];

    ph__fail(&t_err, PH_ETOOOLD, "it is %s", "old");
    CHECK_INT(t_err.cure, PH_CURE_NONE);
    CHECK_STR(ph_error_cause(&t_err, cause), "it is old");
    CHECK_INT(ph__cure(&t_err, PH_ETOOOLD, PH_CURE_MIGRATE), PH_ETOOOLD);
    CHECK_STR(t_err.message, "it is old; call ph_migrate()");
    CHECK_STR(ph_error_cause(&t_err, cause), "it is old");
    CHECK_INT(t_err.cure, PH_CURE_MIGRATE);
    CHECK_INT(t_err.flags, 0);
    ph__fail_flags(&t_err, PH_ETOOOLD, PH_RETRY);
    CHECK_INT(t_err.cure, PH_CURE_MIGRATE);
    CHECK(t_err.flags & PH_RETRY);
    CHECK_INT(ph__cure(NULL, PH_ETOOOLD, PH_CURE_MIGRATE), PH_ETOOOLD);
    ph__fail(&t_err, PH_EINVAL, "the next error has none");
    CHECK_INT(t_err.cure, PH_CURE_NONE);
}

TEST(a_message_may_hold_its_cure_itself)
{
    char cause[PH_ERROR_MESSAGE_SIZE];

    ph__fail(&t_err, PH_EFULL, "full; free some");
    CHECK_INT(ph__cure_in_message(&t_err, PH_EFULL, PH_CURE_SPACE), PH_EFULL);
    CHECK_INT(t_err.cure, PH_CURE_SPACE);
    CHECK_STR(t_err.message, "full; free some");
    CHECK_STR(ph_error_cause(&t_err, cause), "full; free some");
    CHECK_INT(ph__cure_in_message(NULL, PH_EFULL, PH_CURE_SPACE), PH_EFULL);
}

TEST(what_is_put_before_a_message_leaves_the_rest_alone)
{
    char cause[PH_ERROR_MESSAGE_SIZE];

    ph__cure(&t_err, ph__fail(&t_err, PH_EINVAL, "bad"), PH_CURE_NEW_OWNER);
    t_err.native = 7;
    ph__fail_flags(&t_err, PH_EINVAL, PH_RETRY);
    CHECK_INT(ph__prefix(&t_err, PH_EINVAL, "line %d: ", 3), PH_EINVAL);
    CHECK_STR(t_err.message, "line 3: bad; make one with ph_owner_new()");
    CHECK_STR(ph_error_cause(&t_err, cause), "line 3: bad");
    CHECK_INT(t_err.cure, PH_CURE_NEW_OWNER);
    CHECK_INT(t_err.native, 7);
    CHECK(t_err.flags & PH_RETRY);
    CHECK_INT(ph__prefix(NULL, PH_EINVAL, "x"), PH_EINVAL);
    for (int i = 0; i < 60; i++) { /* until nothing else has room */
        ph__prefix(&t_err, PH_EINVAL, "\xe2\x82\xac%d: ", i);
        CHECK(ph__text_valid(t_err.message, strlen(t_err.message), NULL));
        CHECK_INT(t_err.cure, PH_CURE_NEW_OWNER);
        CHECK(strlen(ph_error_cause(&t_err, cause)) <= strlen(t_err.message));
    }
}

TEST(an_error_about_one_of_several_tells_which)
{
    char cause[PH_ERROR_MESSAGE_SIZE];

    ph__cure(&t_err, ph__fail(&t_err, PH_EINVAL, "bad"), PH_CURE_NEW_OWNER);
    CHECK_INT(ph_error_take_item(&t_err), -1);
    CHECK_INT(ph__item(&t_err, PH_EINVAL, 9999), PH_EINVAL);
    CHECK_STR(t_err.message, "message 9999: bad; make one with ph_owner_new()");
    CHECK_INT(t_err.item, 10000);
    CHECK_INT(ph_error_take_item(&t_err), 9999);
    CHECK_STR(t_err.message, "bad; make one with ph_owner_new()");
    CHECK_STR(ph_error_cause(&t_err, cause), "bad");
    CHECK_INT(ph_error_take_item(&t_err), -1);
    CHECK_STR(t_err.message, "bad; make one with ph_owner_new()");

    ph__item(&t_err, PH_EINVAL, 0);
    ph__prefix(&t_err, PH_EINVAL, "new messages: "); /* now it begins with something else */
    CHECK_INT(ph_error_take_item(&t_err), -1);
    CHECK_STR(t_err.message, "new messages: message 0: bad; make one with ph_owner_new()");

    CHECK_INT(ph__item(NULL, PH_EINVAL, 1), PH_EINVAL);
    CHECK_INT(ph_error_take_item(NULL), -1);
    memset(&t_err, 0xff, sizeof(t_err)); /* any bytes at all */
    CHECK_INT(ph_error_take_item(&t_err), 65534);
    memset(&t_err, 0, sizeof(t_err));
}

TEST(a_cure_can_be_taken_away)
{
    ph__cure(&t_err, ph__fail(&t_err, PH_EPERM, "denied"), PH_CURE_GRANT);
    ph__uncure(&t_err);
    CHECK_STR(t_err.message, "denied");
    CHECK_INT(t_err.cure, PH_CURE_NONE);
    ph__uncure(&t_err);
    CHECK_STR(t_err.message, "denied");
}

TEST(a_long_cause_leaves_room_for_the_cure)
{
    char text[1200], cause[PH_ERROR_MESSAGE_SIZE];

    for (size_t at = 0; at < 1196; at += 3)
        memcpy(text + at, "\xe2\x82\xac", 4);
    for (int cure = PH_CURE_MIGRATE; strcmp(ph_cure_word((ph_cure)cure), "none") != 0; cure++) {
        ph__cure(&t_err, ph__fail(&t_err, PH_EINVAL, "%s", text), (ph_cure)cure);
        CHECK(strstr(t_err.message, ph_cure_text((ph_cure)cure)) != NULL);
        CHECK(ph__text_valid(t_err.message, strlen(t_err.message), NULL));
        CHECK_INT(t_err.cure, cure);
        CHECK_INT(strlen(ph_error_cause(&t_err, cause)) + 2 + strlen(ph_cure_text((ph_cure)cure)),
                  strlen(t_err.message));
    }
}

TEST(every_cure_has_a_word_and_a_text)
{
    CHECK_STR(ph_cure_word(PH_CURE_NONE), "none");
    CHECK_STR(ph_cure_text(PH_CURE_NONE), "");
    CHECK_STR(ph_cure_word(PH_CURE_MIGRATE), "migrate");
    CHECK_STR(ph_cure_text(PH_CURE_MIGRATE), "call ph_migrate()");
    CHECK_STR(ph_cure_word((ph_cure)-1), "none");
    CHECK_STR(ph_cure_text((ph_cure)200), "");
    CHECK_STR(ph_cure_word((ph_cure)UCHAR_MAX), "none"); /* as a callback might leave it */
}

TEST(layout_is_frozen)
{
    CHECK_INT(sizeof(ph_error), 268);
    CHECK_INT(offsetof(ph_error, flags), 8);
    CHECK_INT(offsetof(ph_error, sqlstate), 12);
    CHECK_INT(offsetof(ph_error, message), 18);
    CHECK_INT(offsetof(ph_error, cure), 267);
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
