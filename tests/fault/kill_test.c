/* kill_test.c - a process is killed in the middle of its work, again and again.
 * What it was told is stored is stored, and every message is in one place. */
#include "harness.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Enqueues, claims and settles for ever; writes the id of each message that the
 * library said was stored to fd. */
static void __attribute__((noreturn)) live(int fd, unsigned seed)
{
    ph_store *store = t_open(NULL);
    ph_owner owner = ph_owner_new();

    for (;;) {
        ph_enqueued enqueued = t_enqueue(store, "topic", "payload");
        ph_batch *batch;

        if (write(fd, enqueued.work_id.b, 16) != 16)
            _exit(1);
        batch = t_claim(store, owner, 1 + (int)(rand_r(&seed) % 5));
        for (size_t i = 0; i < ph_batch_count(batch); i++) {
            ph_settlement item = { ph_lease_ref_of(ph_batch_at(batch, i)),
                                   (ph_settle_verb)(1 + rand_r(&seed) % 4), "why", 0 };

            OK(ph_outbox_settle(store, PH_OWN_TX, owner, &item, 1, 0, NULL, &t_err));
        }
        ph_batch_free(batch);
    }
}

static void kill_after(int ms, unsigned seed, ph_work_id *ret_ids, size_t *count, size_t max)
{
    struct timespec rest = { ms / 1000, ms % 1000 * 1000000L };
    int ends[2], status;
    pid_t pid;

    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        live(ends[1], seed);
    close(ends[1]);
    nanosleep(&rest, NULL);
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status));
    while (*count < max && read(ends[0], ret_ids[*count].b, 16) == 16)
        (*count)++;
    close(ends[0]);
}

TEST(a_killed_process_loses_nothing)
{
    size_t max = 20000, count = 0;
    ph_work_id *ids = calloc(max, sizeof(*ids));
    struct t_conn *conn;
    ph_store *store;
    unsigned seed = (unsigned)time(NULL);
    int rounds = t_soak() ? 100 : 8;

    CHECK(ids != NULL);
    printf("seed %u\n", seed);
    ph_close(t_open(NULL));
    for (int i = 0; i < rounds; i++)
        kill_after(100 + (int)(rand_r(&seed) % 150), seed + (unsigned)i, ids, &count, max);
    CHECK(count > 0);

    store = t_open(NULL);
    conn = t_connect();
    t_check_places(conn);
    for (size_t i = 0; i < count; i++) {
        ph_message_info *info = NULL;

        OK(ph_outbox_find(store, PH_OWN_TX, ids[i], 0, &info, &t_err));
        ph_message_info_free(info);
    }
    REQ("OBX-001 OBX-097", count > 0);

    /* What was leased comes back. */
    t_clock_set(store, t_clock(store) + 3600 * T_SECOND);
    OK(ph_outbox_reap_expired(store, PH_OWN_TX, 0, NULL, &t_err));
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}lease"), 0);
    t_check_places(conn);
    free(ids);
}
