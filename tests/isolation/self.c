/* self.c - tests of the tester: it counts right, and it can say no. */
#include "harness.h"
#include "permute.h"
#include "runner.h"

#include <stdlib.h>

static struct iso_spec *spec_of(const char *text)
{
    char path[400];
    FILE *file;

    snprintf(path, sizeof(path), "%s/self.spec", t_dir());
    file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    return iso_spec_load(path);
}

static int permutations(const char *text)
{
    struct iso_spec *spec = spec_of(text);
    struct iso_permuter permuter = { 0 };
    struct iso_order order;
    int count = 0;

    while (iso_permute_next(&permuter, spec, &order))
        count++;
    iso_spec_free(spec);
    return count;
}

TEST(interleavings_are_all_there)
{
    CHECK_INT(permutations("proves X\nsession a { step a1 {} step a2 {} }\n"
                           "session b { step b1 {} step b2 {} }\n"
                           "permutation all\ncheck { count ready=0 }\n"),
              6);
    CHECK_INT(permutations("proves X\nsession a { step a1 {} step a2 {} }\n"
                           "session b { step b1 {} step b2 {} }\n"
                           "session c { step c1 {} step c2 {} }\n"
                           "permutation all\ncheck { count ready=0 }\n"),
              90);
    CHECK_INT(permutations("proves X\nsession a { step a1 {} }\nsession b { step b1 {} }\n"
                           "permutation b1 a1 # the other way round\ncheck { count ready=0 }\n"),
              1);
}

TEST(words_and_blocks_are_read)
{
    struct iso_spec *spec = spec_of("# nothing\nproves OBX-017 OBX-101\nmay conflict busy\nrace 3\n"
                                    "setup { enqueue m1 m2 key=k; claim a 2 lease=5 }\n"
                                    "session a {\n  step one { begin; ack a m1 } # why\n"
                                    "  step two{commit}\n}\n"
                                    "permutation all\nreach one m1:acked on sqlite\n"
                                    "check { message m1 done; when one m1:acked { rows lease 0 };\n"
                                    "  when one < two { rows done 1..2; rows dead 0 } }\n");

    CHECK_INT(spec->proves.count, 2);
    CHECK_INT(spec->may.count, 2);
    CHECK_INT(spec->race, 3);
    CHECK_INT(spec->setup_count, 2);
    CHECK_STR(spec->setup[0].words[3], "key=k");
    CHECK_INT(spec->setup[1].line, 5);
    CHECK_INT(spec->step_count, 2);
    CHECK_INT(spec->steps[0].line, 7);
    CHECK_INT(spec->steps[0].command_count, 2);
    CHECK_STR(spec->steps[1].commands[0].words[0], "commit");
    CHECK_INT(spec->reaches[0].count, 4);
    CHECK_INT(spec->check_count, 4);
    CHECK_INT(spec->checks[0].when.count, 0);
    CHECK_STR(spec->checks[1].when.words[1], "one");
    CHECK_INT(spec->checks[3].when.count, 4);
    CHECK_STR(spec->checks[3].what.words[1], "dead");
    iso_spec_free(spec);
}

/* The spec is wrong on purpose; the run must find out, and where. */
static void must_fail(const char *text, int line, const char *why)
{
    struct iso_spec *spec = spec_of(text);
    struct iso_verdict verdict = iso_run(spec);

    printf("line %d: %s\n", verdict.line, verdict.why);
    CHECK_INT(verdict.line, line);
    CHECK(strstr(verdict.why, why));
    iso_spec_free(spec);
}

TEST(a_wrong_end_is_found)
{
    must_fail("proves X\nsetup { enqueue m }\nsession a { step one { claim a 1 } }\n"
              "permutation one\ncheck { message m ready }\n",
              5, "m is in_progress");
    must_fail("proves X\nsetup { enqueue m }\nsession a { step one { claim a 1 } }\n"
              "permutation one\ncheck {\n when one m:claimed { total m:claimed 0 } }\n",
              6, "1 times");
    must_fail("proves X\nsetup { enqueue m }\nsession a { step one { claim a 1 } }\n"
              "permutation one\nreach one claimed=0\ncheck { rows message 1 }\n",
              5, "in no permutation");
}

TEST(an_error_that_is_not_allowed_is_found)
{
    must_fail("proves X\nsession a { step one { claim a 99999 } }\npermutation one\n"
              "check { rows message 0 }\n",
              1, "batch_size is 99999");
    must_fail("proves X\nsession a { step one { begin; enqueue m } }\npermutation one\n"
              "check { rows message 0 }\n",
              1, "open");
}
