/* timer.c - messages for later that can be cancelled. */
#include "core/call.h"
#include "core/error.h"
#include "core/log.h"
#include "core/message.h"
#include "core/options.h"
#include "util/time_text.h"

static int timer_load(const ph_timer *from, struct ph__message *to, ph_error *err)
{
    ph_timer timer = PH_TIMER_INIT;
    ph_message message = PH_MESSAGE_INIT;
    int r;

    if (!from)
        return ph__fail(err, PH_EINVAL, "timer is NULL");
    r = ph__options_load(&timer, sizeof(timer), from, "ph_timer", err);
    if (r < 0)
        return r;
    message.topic = timer.topic;
    message.payload = timer.payload;
    message.payload_length = timer.payload_length;
    message.ns = timer.ns;
    message.correlation_id = timer.correlation_id;
    message.headers = timer.headers;
    message.due_at = timer.due_at;
    r = ph__message_load(to, &message, -1, err);
    if (r == 0 && timer.due_at == 0)
        return ph__fail(err, PH_EINVAL, "due_at is not set; a timer needs one");
    if (r == 0 && timer.due_at < PH_TIMER_MIN)
        return ph__cure(
            err,
            ph__fail(err, PH_EINVAL, "due_at is before the year 2000; its unit is probably wrong"),
            PH_CURE_TIME_UNIT);
    return r;
}

static void log_timer(const ph_store *store, const char *what, ph_work_id id, const char *topic,
                      int64_t due_at)
{
    char text[PH_ID_TEXT_SIZE], due[PH__TIME_TEXT_SIZE];
    ph_log_field fields[] = { { "work_id", ph_id_text(id.b, text) },
                              { "topic", topic },
                              { "due_at", due_at ? ph__time_text(due_at, due) : NULL } };

    if (ph__log_wants(store, PH_LOG_INFO))
        ph__log(store, PH_LOG_INFO, "timer", what, fields, 3);
}

int ph_timer_schedule(ph_store *store, ph_tx tx, const ph_timer *timer, int timeout_ms,
                      ph_work_id *ret_timer, ph_error *reterr)
{
    struct ph__message message;
    ph_enqueued made;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0)
        r = timer_load(timer, &message, call.err);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->enqueue(&call, PH_TIMERS, &message, 1, &made);
    if (r < 0)
        return r;
    log_timer(store, "scheduled", made.work_id, message.topic, message.due_at);
    if (ret_timer)
        *ret_timer = made.work_id;
    return 0;
}

int ph_timer_cancel(ph_store *store, ph_tx tx, ph_work_id timer, int timeout_ms,
                    bool *ret_cancelled, ph_error *reterr)
{
    bool cancelled = false;
    PH__CALL(call);
    int r = ph__call_begin(&call, store, tx, timeout_ms, reterr);

    if (r == 0 && ph_id_is_zero(timer.b))
        r = ph__cure(call.err, ph__fail(call.err, PH_EINVAL, "timer id is empty"),
                     PH_CURE_TIMER_ID);
    r = ph__call_connect(&call, r);
    if (r == 0)
        r = store->backend->timer_cancel(&call, timer, &cancelled);
    if (r < 0)
        return r;
    log_timer(store, cancelled ? "cancelled" : "not cancelled: too late, or unknown", timer, NULL,
              0);
    if (ret_cancelled)
        *ret_cancelled = cancelled;
    return 0;
}
