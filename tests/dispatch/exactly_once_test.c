/* exactly_once_test.c - processes are killed between a handler's write and its ack, and around the
 * commit. In the end there is one effect per message. */
#include "rig.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEATHS 100
#define MESSAGES 1000

/* When the process of this round dies. */
struct fate {
    int handlers; /* so many have written before */
    int after_us; /* 0: in the handler; otherwise so long after it has returned */
    _Atomic int written;
};

static void *die_soon(void *context)
{
    struct fate *fate = context;
    struct timespec rest = { 0, fate->after_us * 1000L };

    nanosleep(&rest, NULL);
    kill(getpid(), SIGKILL);
    return NULL;
}

static ph_verdict write_and_die(void *context, ph_work *work)
{
    struct fate *fate = context;
    pthread_t reaper;

    if (!effect_write(work))
        return PH_VERDICT_RETRY;
    if (fate && fate->written++ == fate->handlers) {
        if (fate->after_us == 0)
            kill(getpid(), SIGKILL);
        CHECK(pthread_create(&reaper, NULL, die_soon, fate) == 0);
        CHECK(pthread_detach(reaper) == 0);
    }
    return PH_VERDICT_DONE;
}

/* Takes over what the last process has left, and handles messages until its fate comes. */
static void live(struct fate *fate)
{
    struct rig rig;

    rig_open(&rig);
    t_clock_advance(rig.side, 31 * T_SECOND);
    rig.opts.threads = 2;
    rig.opts.batch_size = 4;
    rig.opts.prefetch = 4;
    rig_new(&rig);
    rig_handle_in_tx(&rig, "t", write_and_die, fate);
    rig_start(&rig);
    rig_drain(&rig);
    rig_end(&rig);
}

static void live_and_die(struct fate fate)
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        live(&fate);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void prepare(void)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();

    t_clock_set(store, T_EPOCH);
    settings.max_attempts = PH_ATTEMPTS_MAX; /* each death costs one */
    set_queue(store, &settings);
    effects_make(conn);
    put_many(store, "t", MESSAGES, NULL);
    ph_close(store);
    t_disconnect(conn);
}

TEST(a_hundred_deaths_between_write_and_ack_and_one_effect_per_message)
{
    unsigned seed = (unsigned)time(NULL);
    struct t_conn *conn;

    if (UNDER_TSAN)
        t_not_here("a hundred processes that are killed have no time to report a race");
    printf("seed %u\n", seed);
    prepare();
    for (int i = 0; i < DEATHS; i++)
        live_and_die((struct fate){ .handlers = (int)(rand_r(&seed) % 3),
                                    .after_us = i % 2 ? 1 + (int)(rand_r(&seed) % 3000) : 0 });
    live(NULL);
    conn = t_connect();
    REQ_INT("OBX-058", effects_distinct(conn), MESSAGES);
    REQ_INT("OBX-058", effects(conn), MESSAGES);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"), MESSAGES);
    CHECK(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status_code <> 2") == 0);
    t_disconnect(conn);
}
