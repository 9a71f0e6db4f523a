/* log_test.c - the one who reads the log must be able to say no. */
#include "fleet.h"

#include <stdlib.h>
#include <unistd.h>

#define A 101
#define B 102

/* Writes a log as the text says, word by word: "b1A": message 1 begins in A; d: it is done there,
 * f: failed, r: to be retried; "kA": A is killed. count: how many were committed. */
static const char *problem_of(const char *text, int count)
{
    struct fleet *fleet = shared_memory(sizeof(*fleet));
    FILE *file;

    fleet->plan.kills = true;
    fleet->plan.lease_s = 60;
    fleet->in_stream[0][1] = count;
    snprintf(fleet->log, sizeof(fleet->log), "%s/log", t_dir());
    file = fopen(fleet->log, "w");
    CHECK(file != NULL);
    for (; *text; text += strcspn(text, " "), text += strspn(text, " ")) {
        const char *kinds = "?bdfr?k", *process = text + (*text == 'k' ? 1 : 2);
        struct record record = { .kind = (int32_t)(strchr(kinds, *text) - kinds),
                                 .pid = *process == 'A' ? A : B,
                                 .stream = 1,
                                 .seq = text[1] - '0',
                                 .number = text[1] - '1' };

        CHECK_INT(fwrite(&record, sizeof(record), 1, file), 1);
    }
    CHECK(fclose(file) == 0);
    return log_problem(fleet);
}

TEST(a_log_that_is_as_it_should_be_is_believed)
{
    CHECK_STR(problem_of("b1A d1A b2A d2A b3B f3B", 3), NULL);
    CHECK_STR(problem_of("b1A r1A b1B r1B b1A d1A b2A d2A", 2), NULL);
    CHECK_STR(problem_of("b1A kA b1B d1B b2B d2B", 2), NULL);
    CHECK_STR(problem_of("b1A d1A kA b1B d1B b2B d2B", 2), NULL);
    /* what was done in A was not stored yet */
    CHECK_STR(problem_of("b1A d1A b2A d2A b3A kA b2B d2B b3B d3B", 3), NULL);
}

TEST(whatever_is_wrong_with_a_log_is_found)
{
    CHECK_STR(problem_of("b1A d1A b3A d3A b2A d2A", 3), "a stream has a gap");
    CHECK_STR(problem_of("b1A d1A b2A d2A b1A d1A", 2), "a message that was settled comes again");
    CHECK_STR(problem_of("b1A d1A b2B d2B kA b1B d1B", 2), "a stream goes back");
    CHECK_STR(problem_of("b1A d1A b2A d2A kA b2B d2B b1B d1B", 2), "a stream goes back");
    CHECK_STR(problem_of("b1A d1A b2A d2A b3A kA b2B b3B d2B d3B", 3),
              "a message comes before the one in front of it is settled");
    CHECK_STR(problem_of("b1A b1B d1A d1B", 1), "a message is in two handlers at once");
    CHECK_STR(problem_of("b1A d1A b1B d1B", 1), "a message that was settled comes again");
    CHECK_STR(problem_of("b1A r1A b2A d2A b1A d1A", 2),
              "a message comes before the one in front of it is settled");
    CHECK_STR(problem_of("b1A kA b2B d2B", 2),
              "a message comes before the one in front of it is settled");
    CHECK_STR(problem_of("b1A d1A b2A d2A", 3), "a message is missing");
    CHECK_STR(problem_of("b1A d1A b2A r2A", 2), "a message is missing");
    CHECK_STR(problem_of("b1A d1A kA b1B r1B", 1), "a message is missing");
    CHECK_STR(problem_of("b1A kA b1B d1B b1B d1B", 1), "a message that was settled comes again");
}
