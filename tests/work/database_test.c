/* database_test.c - a command that runs posthorn reaches the database of its message; or cannot. */
#include "command.h"

#include <posthorn/inspect.h>
#include <stdlib.h>

/* How many messages of the topic are there? */
static size_t count_of(ph_store *store, const char *topic)
{
    ph_message_list_opts opts = PH_MESSAGE_LIST_OPTS_INIT;
    ph_messages *list = NULL;
    size_t count;

    opts.topic = topic;
    OK(ph_outbox_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
    count = ph_messages_count(list);
    ph_messages_free(list);
    return count;
}

TEST(posthorn_in_a_command_reaches_the_database_of_its_message)
{
    struct stage stage;

    stage_open(&stage);
    stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--quiet", "--exec", "sh", "-c",
                   "cd / && exec " POSTHORN_COMMAND " enqueue inner payload"),
              0);
    CHECK_INT(count_of(stage.store, "inner"), 1);
    CHECK(!file_exists("posthorn.db"));
}

/* Programs close what they do not know before they start others. */
TEST(the_database_is_reached_without_any_descriptor)
{
    struct stage stage;

    stage_open(&stage);
    stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--quiet", "--exec", "sh", "-c",
                   "for i in 3 4 5 6 7 8 9; do eval \"exec $i>&-\"; done; exec " POSTHORN_COMMAND
                   " enqueue inner payload </dev/null"),
              0);
    CHECK_INT(count_of(stage.store, "inner"), 1);
}

TEST(variables_of_libpq_reach_posthorn_but_not_its_command)
{
    struct stage stage;

    if (!t_is_pg())
        t_not_here("libpq is of PostgreSQL");
    stage_open(&stage);
    stage_put(&stage, "x");
    setenv("PGPASSWORD", "SECRET", 1);
    CHECK_INT(WORK("t", "--once", "--quiet", "--exec", "env"), 0);
    CHECK(strstr(command_out(), "\nPOSTHORN_DB=from:/proc/") != NULL);
    CHECK(strstr(command_out(), "SECRET") == NULL);
    stage_put(&stage, "x");
    CHECK_INT(
        WORK("t", "--once", "--quiet", "--exec", "sh", "-c",
             "tr '\\0' '\\n' <\"${POSTHORN_DB#from:}\"; stat -L -c %a \"${POSTHORN_DB#from:}\""),
        0);
    CHECK(strstr(command_out(), "\nPGPASSWORD=SECRET\n") != NULL);
    CHECK(strstr(command_out(), "\n400\n") != NULL);
}

TEST(env_may_name_another_database)
{
    struct stage stage;

    stage_open(&stage);
    stage_put(&stage, "x");
    setenv("POSTHORN_DB", "sqlite:other.db", 1);
    CHECK_INT(WORK("t", "--once", "--quiet", "--env", "POSTHORN_DB", "--exec", "env"), 0);
    CHECK(strstr(command_out(), "POSTHORN_DB=sqlite:other.db\n") != NULL);
    CHECK(strstr(command_out(), "from:") == NULL);
}

/* As root all of it can be read, as another user some of it cannot: there is nothing either way. */
TEST(without_a_database_a_command_finds_none_at_its_parent_either)
{
    static const char look[] =
        "env; cat /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n'; echo looked";
    struct stage stage;

    stage_open(&stage);
    setenv("POSTHORN_DB", t_url(), 1);
    setenv("DATABASE_URL", "postgresql://u:SECRET@h/d", 1);
    setenv("PGPASSWORD", "SECRET", 1);
    setenv("PLAIN", "shown", 1);
    stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--quiet", "--exec", "sh", "-c", look), 0);
    CHECK(strstr(command_out(), "SECRET") != NULL);
    stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--once", "--quiet", "--no-db", "--exec", "sh", "-c", look), 0);
    CHECK(strstr(command_out(), "looked\n") != NULL);
    CHECK(strstr(command_out(), "POSTHORN_TOPIC=t\n") != NULL);
    CHECK(strstr(command_out(), "POSTHORN_DB") == NULL);
    CHECK(strstr(command_out(), "SECRET") == NULL);
    CHECK(strstr(command_out(), t_url()) == NULL);
}

TEST(without_a_database_the_parent_still_serves_after_it_was_hidden)
{
    struct stage stage;

    stage_open(&stage);
    for (int i = 0; i < 3; i++)
        stage_put(&stage, "x");
    CHECK_INT(WORK("t", "--drain", "--quiet", "--no-db", "--exec", "cat"), 0);
    CHECK_STR(command_out(), "xxx");
    CHECK_INT(WORK("t", "--once", "--no-db", "--env", "DATABASE_URL", "--exec", "true"), 2);
    CHECK(strstr(command_err(), "--no-db and --env DATABASE_URL cannot be used together") != NULL);
}
