/* say.c - the dispatcher's log lines and reports of joins, through the stores' callbacks, one at a
 * time. */
#include "dispatch/dispatch.h"

#include <stdio.h>

#define ERROR_SHOWN_MAX 1000

void ph__log_serially(void *context, const ph_log_event *event)
{
    ph_dispatcher *dispatcher = context;

    pthread_mutex_lock(&dispatcher->logging.lock);
    if (!dispatcher->logging.silent)
        dispatcher->logging.log(dispatcher->logging.log_context, event);
    pthread_mutex_unlock(&dispatcher->logging.lock);
}

void ph__join_serially(void *context, const ph_join_end *join)
{
    ph_dispatcher *dispatcher = context;

    pthread_mutex_lock(&dispatcher->logging.lock);
    if (!dispatcher->logging.silent)
        dispatcher->logging.join_ended(dispatcher->logging.join_context, join);
    pthread_mutex_unlock(&dispatcher->logging.lock);
}

void ph__say(const struct ph__db *db, ph_log_level level, const char *what,
             const struct ph_work *work, const char *key, const char *value)
{
    char message_id[PH_ID_TEXT_SIZE], work_id[PH_ID_TEXT_SIZE], attempts[16];
    ph_log_field fields[6];
    size_t count = 0;

    if (!ph__log_source_wants(&db->log, level))
        return;
    if (work) {
        const ph_delivery *d = work->delivery;

        snprintf(attempts, sizeof(attempts), "%d", d->attempts);
        fields[count++] = (ph_log_field){ "topic", d->topic };
        fields[count++] = (ph_log_field){ "message_id", ph_id_text(d->message_id.b, message_id) };
        fields[count++] = (ph_log_field){ "work_id", ph_id_text(d->work_id.b, work_id) };
        fields[count++] = (ph_log_field){ "attempts", attempts };
        fields[count++] = (ph_log_field){ "correlation_id", d->correlation_id };
    }
    if (key)
        fields[count++] = (ph_log_field){ key, value };
    ph__log_from(&db->log, level, work ? "handle" : "dispatcher", what, fields, count);
}

void ph__say_verdict(const struct ph_work *work, ph_verdict verdict, ph_outcome outcome)
{
    const struct ph__db *db = work->batch->db;
    ph_dispatcher *dispatcher = db->dispatcher;
    char shown[ERROR_SHOWN_MAX + 1] = "none given";

    if (outcome == PH_OUTCOME_STALE) {
        ph__say(db, PH_LOG_WARN, "the lease was lost; the handler's transaction is undone", work,
                NULL, NULL);
        return;
    }
    if (verdict != PH_VERDICT_RETRY && verdict != PH_VERDICT_FAIL)
        return;
    if (!ph__log_source_wants(&db->log, PH_LOG_ERROR))
        return;
    ph__lock(dispatcher); /* the handler may still be setting it, elsewhere */
    if (work->decision.error)
        snprintf(shown, sizeof(shown), "%s", work->decision.error);
    ph__unlock(dispatcher);
    ph__say(db, PH_LOG_ERROR,
            verdict == PH_VERDICT_FAIL ? "handler failed for good" : "handler failed", work,
            "error", shown);
}
