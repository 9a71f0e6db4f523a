/* report.c - a fan-in that bears failures: five sections of a report are made in parallel, and the
 * report is assembled from those that could be made.
 *
 * The wait does not mind failed steps (fail_if_any_step_failed is not set), so
 * report.assemble comes when all five have ended. The join still says how each
 * ended: the assembler asks it, by the id in the message's headers.
 *
 * usage: report URL */
#include "workflow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS 5
#define BROKEN_SECTION 4

struct report {
    const char *url;
    int completed, failed; /* as the assembler saw them */
};

static ph_verdict on_start(void *context, ph_work *work)
{
    ph_message sections[SECTIONS];
    char payloads[SECTIONS][16];
    ph_wait wait = PH_WAIT_INIT;
    ph_store *store = ph_work_store(work);
    ph_tx tx = ph_work_tx(work);
    ph_join_id join;
    ph_error err;

    (void)context;
    if (ph_join_start(store, tx, SECTIONS, NULL, 0, &join, &err) < 0)
        return workflow_retry(work, &err);
    for (int i = 0; i < SECTIONS; i++) {
        snprintf(payloads[i], sizeof(payloads[i]), "%d", i + 1);
        sections[i] = (ph_message)PH_MESSAGE_INIT;
        sections[i].topic = "report.section";
        sections[i].payload = payloads[i];
        sections[i].join_id = &join;
    }
    wait.on_complete_topic = "report.assemble";
    wait.on_complete_payload = ph_work_delivery(work)->payload;
    if (ph_enqueue_many(store, tx, sections, SECTIONS, 0, NULL, &err) < 0 ||
        ph_join_wait(store, tx, join, &wait, 0, NULL, &err) < 0)
        return workflow_retry(work, &err);
    return PH_VERDICT_DONE;
}

static ph_verdict on_section(void *context, ph_work *work)
{
    int section = atoi(ph_work_delivery(work)->payload);

    (void)context;
    if (section == BROKEN_SECTION) {
        ph_work_error(work, "there are no figures for this section");
        return PH_VERDICT_FAIL;
    }
    printf("section %d is written\n", section);
    return PH_VERDICT_DONE;
}

/* The id stands in the headers: {"join_id": "…", "join_status": "failed"}. */
static bool find_join(const ph_delivery *message, ph_join_id *ret_join)
{
    const char *at = message->headers ? strstr(message->headers, "\"join_id\"") : NULL;
    char id[PH_ID_TEXT_SIZE];

    return at && sscanf(at, "\"join_id\" : \"%36[0-9a-f-]\"", id) == 1 &&
           ph_id_parse(id, ret_join->b) == 0;
}

static ph_verdict on_assemble(void *context, ph_work *work)
{
    struct report *report = context;
    ph_join_info *info = NULL;
    ph_store *store = NULL; /* the dispatcher's own is busy: a look needs one of its own */
    ph_join_id join;
    ph_error err;
    int r;

    if (!find_join(ph_work_delivery(work), &join)) {
        ph_work_error(work, "the headers name no join");
        return PH_VERDICT_FAIL;
    }
    r = ph_open(report->url, NULL, &store, &err);
    if (r == 0)
        r = ph_join_find(store, PH_OWN_TX, join, 0, 0, &info, &err);
    ph_close(store);
    if (r < 0)
        return workflow_retry(work, &err);
    for (size_t i = 0; i < info->member_count; i++)
        printf("section %zu: %s\n", i + 1,
               info->members[i].state == 1 ? "included" : "left out, it failed");
    report->completed = info->completed_steps;
    report->failed = info->failed_steps;
    ph_join_info_free(info);
    return PH_VERDICT_DONE;
}

int main(int argc, char **argv)
{
    struct report report = { .url = argc == 2 ? argv[1] : NULL };
    const ph_handler handlers[] = {
        workflow_handler("report.start", on_start, NULL, true),
        workflow_handler("report.section", on_section, NULL, false),
        workflow_handler("report.assemble", on_assemble, &report, false),
        workflow_handler(NULL, NULL, NULL, false),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s URL\n", argv[0]);
        return 2;
    }
    if (workflow_run(argv[1], "report.start", "RPT-456", handlers) != 0)
        return 1;
    return report.completed != SECTIONS - 1 || report.failed != 1;
}
