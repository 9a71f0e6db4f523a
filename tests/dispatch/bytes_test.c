/* bytes_test.c - a queue of large messages: emptied, and not into memory all at once. */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#define SIZE ((size_t)22 * 1024 * 1024) /* of two in a batch, for which a third is too much */

static void put_large(struct rig *rig, int count)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;
    char *payload = malloc(SIZE + 1);
    ph_message message = a_message("t", payload);

    memset(payload, 'x', SIZE);
    payload[SIZE] = 0;
    settings.max_payload_bytes = PH_PAYLOAD_MAX;
    set_queue(rig->side, &settings);
    for (int i = 0; i < count; i++)
        put(rig->side, &message);
    free(payload);
}

/* Memory: 64 MiB may wait, so a third batch is not claimed before a thread has taken one of them. */
TEST(large_messages_are_claimed_ahead_but_not_all)
{
    static struct gate gate = GATE_INIT;
    static struct part part = { .verdict = PH_VERDICT_DONE, .gate = &gate };
    struct rig rig;

    if (UNDER_TSAN)
        t_not_here("megabytes, looked at byte by byte");
    rig_open(&rig);
    put_large(&rig, 7);
    rig.opts.threads = 1;
    rig_run(&rig, NULL, play, &part);
    gate_await(&gate, 1);
    AWAIT(rig_stats(&rig).claimed >= 4);
    for (double end = t_now_s() + 2; t_now_s() < end; nap()) /* more would come now */
        ;
    CHECK_INT(rig_stats(&rig).claimed, 4);
    gate_open(&gate);
    rig_drain(&rig);
    CHECK_INT(part.calls, 7);
    rig_end(&rig);
}
