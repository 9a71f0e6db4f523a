/* stall_test.c - a database that would stall a call keeps nobody else waiting. */
#include "command.h"

#include <signal.h>

/* One function call that takes hours: no time limit is looked at inside it. */
#define SLOW "instr(hex(zeroblob(9000000)), hex(zeroblob(4000000)) || '1') = 0"

TEST(a_file_that_would_stall_keeps_no_other_waiting_and_the_worker_ends)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *other = NULL;
    struct stage stage;
    char url[600];
    pid_t pid;

    if (t_is_pg())
        t_not_here("SQLite only");
    snprintf(url, sizeof(url), "other=sqlite:%s/other.db", t_dir());
    opts.deploy_schema = true;
    OK(ph_open(strchr(url, '=') + 1, &opts, &other, &t_err));
    t_enqueue(other, "t", "1");
    stage_open(&stage);
    stage_put(&stage, "1");
    t_sql(stage.conn, "CREATE INDEX mine ON posthorn_lease (owner) WHERE " SLOW);
    pid = WORK_BEGIN("--db", url, "t", "--env", "PATH", "--exec", "touch", "done");
    AWAIT(file_exists("done"));
    AWAIT(strstr(command_err(), "the index \"mine\" on posthorn_lease is not Posthorn's") != NULL);
    kill(pid, SIGTERM);
    CHECK_INT(command_end(pid), 0);
    ph_close(other);
}
