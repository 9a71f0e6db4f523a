/* scale_test.c - thousands of messages, several dispatchers, and nobody crashes: each message is
 * handled once. */
#include "rig.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MESSAGES 3000
#define PROCESSES 3

/* Shared by the processes: how often each message was handled. */
struct census {
    _Atomic int calls[MESSAGES];
    _Atomic int done;
};

static ph_verdict count(void *context, ph_work *work)
{
    struct census *census = context;

    census->calls[atoi(ph_work_delivery(work)->payload)]++;
    census->done++;
    return PH_VERDICT_DONE;
}

static void fill(void)
{
    ph_store *store = t_open(NULL);

    put_many(store, "t", MESSAGES, NULL);
    ph_close(store);
}

static void check_each_once(struct census *census)
{
    struct t_conn *conn = t_connect();

    for (int i = 0; i < MESSAGES; i++)
        CHECK_INT(census->calls[i], 1);
    REQ_INT("OBX-118", census->done, MESSAGES);
    REQ_INT("OBX-118", t_number(conn, "SELECT count(*) FROM {t}outbox WHERE status_code = 2"),
            MESSAGES);
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}outbox WHERE attempts <> 1"), 0);
    t_check_places(conn);
    t_disconnect(conn);
}

static void help(int index, void *argument)
{
    struct rig rig;

    rig_open(&rig);
    rig.opts.threads = 2 + index;
    rig.opts.batch_size = 100;
    rig_run(&rig, NULL, count, argument);
    rig_drain(&rig);
    rig_end(&rig);
}

TEST(several_processes_handle_thousands_of_messages_once_each)
{
    struct census *census = shared_memory(sizeof(*census));

    if (UNDER_TSAN)
        t_not_here("one dispatcher per process races with nobody");
    fill();
    in_processes(PROCESSES, help, census);
    check_each_once(census);
}

TEST(one_dispatcher_handles_thousands_of_messages_once_each)
{
    struct census *census = shared_memory(sizeof(*census));

    fill();
    help(6, census);
    check_each_once(census);
}

TEST(several_dispatchers_in_one_process_share_the_work)
{
    struct census *census = shared_memory(sizeof(*census));
    struct rig rigs[PROCESSES];

    fill();
    for (int i = 0; i < PROCESSES; i++) {
        rig_open(&rigs[i]);
        rigs[i].opts.batch_size = 50;
        rig_run(&rigs[i], NULL, count, census);
    }
    for (int i = 0; i < PROCESSES; i++)
        rig_drain(&rigs[i]);
    for (int i = 0; i < PROCESSES; i++)
        rig_end(&rigs[i]);
    check_each_once(census);
}

/* Results come in while messages are enqueued, and the dispatcher goes to sleep in between. */
TEST(a_stream_of_messages_is_handled_as_it_comes)
{
    struct census *census = shared_memory(sizeof(*census));
    ph_message message = a_message("t", "");
    struct rig rig;

    rig_open(&rig);
    rig_run(&rig, NULL, count, census);
    for (int i = 0; i < 300; i++) {
        char payload[16];

        snprintf(payload, sizeof(payload), "%d", i);
        message.payload = payload;
        put(rig.side, &message);
        if (i % 50 == 0)
            AWAIT(census->done == i + 1);
    }
    rig_drain(&rig);
    CHECK_INT(census->done, 300);
    for (int i = 0; i < 300; i++)
        CHECK_INT(census->calls[i], 1);
    rig_end(&rig);
}
