/* cron_test.c - cron expressions in SQL: job_set refuses what the library refuses, and nothing else. */
#include "common.h"

#include "schedule/cron.h"

static const char *const written[] = {
    "* * * * *",
    "*/5 * * * *",
    "0 0 1 1 *",
    "0 0 1 jan *",
    "0 0 * * SUN",
    "0 0 * * 7",
    "0 0 * * 7/2",
    "0 0 * * 5-7",
    "0 0 * * mon-fri",
    "0 0 * * mon-5",
    "0 0 * * fri-mon",
    "0 0 30 2 *",
    "0 0 30 2 1",
    "0 0 30 2 */2",
    "0 0 29 2 *",
    "0 0 31 4,6,9,11 *",
    "0 0 31 4-6 *",
    "0 0 31 4/2 *",
    "0 0 31 */2 *",
    "0 0 31,30 2 *",
    "0 0 */31 2 *",
    "5/10 * * * *",
    "5-10/2 * * * *",
    "5-4 * * * *",
    "60 * * * *",
    "59 24 * * *",
    "0 0 0 * *",
    "0 0 32 * *",
    "0 0 1 0 *",
    "0 0 1 13 *",
    "0 0 * * 8",
    "* * * * * *",
    "*/30 * * * * *",
    "60 * * * * *",
    "* * * *",
    "* * * * * * *",
    "",
    "   ",
    " * * * * * ",
    "*\t* *  * *",
    "*\n* * * *",
    "@daily",
    "@DAILY",
    " @daily",
    "@reboot",
    "@",
    "1,2,3 * * * *",
    "1,,3 * * * *",
    ",1 * * * *",
    "1, * * * *",
    "*/0 * * * *",
    "*/-1 * * * *",
    "*/a * * * *",
    "1/ * * * *",
    "1- * * * *",
    "-1 * * * *",
    "** * * * *",
    "*5 * * * *",
    "00005 * * * *",
    "0005 * * * *",
    "? * * * *",
    "0 0 L * *",
    "0 0 1W * *",
    "0 0 * * 5#2",
    "0 0 1 janu *",
    "0 0 1 ja *",
    "jan * * * *",
    "0 0 1 jan-mar/2 *",
    "0 0 1 JAN,Feb *",
    "0 0 * * sun-sat",
    "0 0 * * sat-sun",
    "0-59 0-23 1-31 1-12 0-7",
    "0 0 * * 0-7/7",
    "1-5/99 * * * *",
    "*/9999 * * * *",
    "*/10000 * * * *",
    "0 0 1 * *,mon",
    "0 0 30 2 *,mon",
    "0 0 1.5 * *",
    "+1 * * * *",
};

static void compare(struct t_conn *conn, const char *text)
{
    struct ph__cron cron;
    bool good = ph__cron_parse(text, &cron, &t_err) == 0;
    const char *sql =
        say("SELECT {t}cron_problem(E'%s') IS NULL", strchr(text, '\n')   ? "*\\n* * * *"
                                                     : strchr(text, '\t') ? "*\\t* *  * *"
                                                                          : text);

    if (strcmp(t_value(conn, sql), good ? "t" : "f") != 0)
        printf("\"%s\" is %s here: %s\n", text, good ? "good" : "bad", t_err.message);
    CHECK_STR(t_value(conn, sql), good ? "t" : "f");
}

TEST(a_cron_expression_is_good_in_sql_if_it_is_good_in_the_library)
{
    struct t_conn *conn;

    ph_close(t_open(NULL));
    conn = a_connection(NULL);
    for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++)
        compare(conn, written[i]);
}

/* Of pieces that are often right. */
TEST(random_expressions_are_judged_alike)
{
    static const char *const pieces[] = { "*",   "0",   "5",   "30",   "31", "59", "60",
                                          "1-5", "7",   "12",  "/2",   ",3", "-4", "2",
                                          "29",  "feb", "sun", "*/15", "/0", "x" };
    struct t_conn *conn;
    unsigned state = 20261118;

    ph_close(t_open(NULL));
    conn = a_connection(NULL);
    for (int i = 0; i < 1500; i++) {
        char text[200] = "";
        int fields;

        state = state * 1103515245u + 12345u;
        fields = 5 + (int)(state >> 16) % 2;
        for (int f = 0; f < fields; f++) {
            do {
                state = state * 1103515245u + 12345u;
                strcat(text, pieces[(state >> 16) % (sizeof(pieces) / sizeof(*pieces))]);
            } while ((state >> 8) % 4 == 0 && strlen(text) < 150);
            strcat(text, f + 1 < fields ? " " : "");
        }
        compare(conn, text);
    }
}
