/* oracle_test.c - when cron expressions fire, compared with an independent implementation on random
 * triples of expression, zone and instant, half of them near a change of the clocks. Where the two
 * differ a rule must say why; there are three. */
#include "differences.h"
#include "harness.h"

#include <inttypes.h>
#include <stdlib.h>

#define TRIPLES 24000
#define SOAK_TRIPLES 1000000

struct triple {
    char *expression, *zone;
    int64_t after_s, theirs_s; /* INT64_MAX: never */
};

struct both {
    struct ph__cron cron;
    struct ph__zone *zone;
    int64_t ours_s; /* INT64_MAX: never */
    int64_t theirs_s;
};

/* A day field that is a star with a step counts as a star by Vixie's rule, so that both day fields
 * must match; the other implementation takes it for a restriction, so that either will do. */
static bool differs_by_star_with_step(const char *expression)
{
    const char *fields[6];
    int count = 0;

    for (expression += strspn(expression, " "); *expression && count < 6; count++) {
        fields[count] = expression;
        expression += strcspn(expression, " ");
        expression += strspn(expression, " ");
    }
    return count >= 5 &&
           (strncmp(fields[count - 3], "*/", 2) == 0 || strncmp(fields[count - 1], "*/", 2) == 0);
}

/* Few zones, many triples. */
static struct ph__zone *zone_of(const char *name)
{
    static struct {
        char name[64];
        struct ph__zone *zone;
    } cache[32];
    int i = 0;

    for (; cache[i].zone; i++) {
        if (strcmp(cache[i].name, name) == 0)
            return cache[i].zone;
    }
    CHECK(i < 31);
    snprintf(cache[i].name, sizeof(cache[i].name), "%s", name);
    OK(ph__zone_load(name, &cache[i].zone, &t_err));
    return cache[i].zone;
}

static void read_triple(char *line, struct triple *ret)
{
    char *rest = NULL, *next;

    line[strcspn(line, "\n")] = '\0';
    ret->expression = strtok_r(line, "\t", &rest);
    ret->zone = strtok_r(NULL, "\t", &rest);
    next = strtok_r(NULL, "\t", &rest);
    CHECK(next != NULL);
    ret->after_s = strtoll(next, NULL, 10);
    next = strtok_r(NULL, "\t", &rest);
    CHECK(next != NULL);
    ret->theirs_s = strcmp(next, "none") == 0 ? INT64_MAX : strtoll(next, NULL, 10);
}

static int64_t our_next(const struct triple *triple, struct both *both)
{
    int64_t time;

    if (ph__cron_parse(triple->expression, &both->cron, &t_err) < 0) {
        CHECK(strstr(t_err.message, "never") != NULL);
        return INT64_MAX;
    }
    return ph__fire_next(&both->cron, both->zone, triple->after_s * 1000000, &time) ? time / 1000000
                                                                                    : INT64_MAX;
}

/* 0: equal; 1 … 3: the rule that explains it. */
static int compare(const struct triple *triple)
{
    struct both both = { .zone = zone_of(triple->zone), .theirs_s = triple->theirs_s };

    both.ours_s = our_next(triple, &both);
    if (both.ours_s == both.theirs_s)
        return 0;
    if (differs_by_star_with_step(triple->expression))
        return 1;
    if (both.ours_s < both.theirs_s && differs_by_gap(&both.cron, both.zone, both.ours_s))
        return 2;
    if (both.theirs_s < both.ours_s && differs_by_repetition(&both.cron, both.zone, both.theirs_s))
        return 3;
    printf("\"%s\" in %s after %" PRId64 ": ours %" PRId64 ", theirs %" PRId64 "\n",
           triple->expression, triple->zone, triple->after_s, both.ours_s, both.theirs_s);
    FAIL("a difference that no rule explains");
    return -1;
}

TEST(cron_fires_as_an_independent_implementation_says)
{
    int wanted = t_soak() ? SOAK_TRIPLES : TRIPLES, count = 0, by_rule[4] = { 0 };
    char command[600], line[1000];
    FILE *oracle;

    if (!getenv("PH_TEST_NPM"))
        t_skip("needs npm's package croner, which ./test installs");
    t_limit(t_soak() ? 1800 : 120);
    snprintf(command, sizeof(command), "exec node '%s/oracle.mjs' %d %d", SOURCE_DIR,
             t_soak() ? 2 : 1, wanted);
    oracle = popen(command, "r");
    CHECK(oracle != NULL);
    for (; fgets(line, sizeof(line), oracle); count++) {
        struct triple triple;

        read_triple(line, &triple);
        by_rule[compare(&triple)]++;
    }
    CHECK_INT(pclose(oracle), 0);
    CHECK_INT(count, wanted);
    printf("%d triples: %d equal, %d by stars with steps, %d by gaps, %d by repeated hours\n",
           count, by_rule[0], by_rule[1], by_rule[2], by_rule[3]);
    CHECK(by_rule[0] > count * 9 / 10);
}
