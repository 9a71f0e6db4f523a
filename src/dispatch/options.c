/* options.c - the options of a dispatcher, checked, and their defaults. */
#include "dispatch/poll/poll.h"

#include "core/claim.h"
#include "core/error.h"
#include "core/message.h"

#define DEFAULT_THREADS 4
#define DEFAULT_POLL_MS 500
#define DEFAULT_DEFER_MS 60000
#define DEFAULT_RETENTION_MS 60000
#define DEFAULT_KEPT 1000
#define THREADS_MAX 1024
#define CONNECTIONS_MAX 2
#define IN_FLIGHT_MAX 1000000

void ph__opts_fill(ph_dispatcher_opts *opts, int batches)
{
    if (!opts->ns)
        opts->ns = "";
    if (!opts->threads)
        opts->threads = DEFAULT_THREADS;
    if (!opts->batch_size)
        opts->batch_size = PH__BATCH_SIZE;
    if (!opts->prefetch)
        opts->prefetch =
            batches <= PH_BATCH_MAX / opts->batch_size ? batches * opts->batch_size : PH_BATCH_MAX;
    if (!opts->lease_s)
        opts->lease_s = PH_LEASE_S;
    if (!opts->defer_ms)
        opts->defer_ms = DEFAULT_DEFER_MS;
    if (!opts->retention_ms)
        opts->retention_ms = DEFAULT_RETENTION_MS;
    if (!opts->in_flight_max)
        opts->in_flight_max =
            (opts->prefetch > 0 ? opts->prefetch : 0) + opts->threads +
            (opts->batch_size > DEFAULT_KEPT / 2 ? 2 * opts->batch_size : DEFAULT_KEPT);
}

int ph__opts_check(ph_dispatcher_opts *opts, ph_error *err)
{
    const struct {
        const char *name;
        int64_t value, from, to;
    } ranges[] = {
        { "threads", opts->threads, 1, THREADS_MAX },
        { "batch_size", opts->batch_size, 1, PH_BATCH_MAX },
        { "prefetch", opts->prefetch, -1, PH_BATCH_MAX },
        { "in_flight_max", opts->in_flight_max, 1, IN_FLIGHT_MAX },
        { "lease_s", opts->lease_s, 1, PH_LEASE_MAX_S },
        { "defer_ms", opts->defer_ms, 1, INT32_MAX },
        { "message_limit", opts->message_limit, 0, INT64_MAX },
        { "retention_ms", opts->retention_ms, -1, INT32_MAX },
        { "connections", opts->connections ? opts->connections : 1, 1, CONNECTIONS_MAX },
    };
    int third_ms, r = ph__name_check(opts->ns, "namespace", true, err);

    for (size_t i = 0; r == 0 && i < sizeof(ranges) / sizeof(*ranges); i++) {
        if (ranges[i].value < ranges[i].from || ranges[i].value > ranges[i].to)
            r = ph__fail(err, PH_EINVAL, "%s is %lld; give %lld to %lld, or 0 for the default",
                         ranges[i].name, (long long)ranges[i].value, (long long)ranges[i].from,
                         (long long)ranges[i].to);
    }
    if (r == 0 && opts->doorbell != PH_DOORBELL_AUTO && opts->doorbell != PH_DOORBELL_OFF)
        r = ph__fail(err, PH_EINVAL,
                     "doorbell %d is not a ph_doorbell; give PH_DOORBELL_AUTO or PH_DOORBELL_OFF",
                     (int)opts->doorbell);
    if (r == 0 && opts->selection != PH_SELECT_ROUND_ROBIN &&
        opts->selection != PH_SELECT_DRAIN_FIRST)
        r = ph__fail(err, PH_EINVAL,
                     "selection %d is not a ph_selection; give PH_SELECT_ROUND_ROBIN or "
                     "PH_SELECT_DRAIN_FIRST, or a function as select",
                     (int)opts->selection);
    if (r < 0)
        return r;
    third_ms = opts->lease_s * 1000 / 3;
    if (opts->poll_ms < 0 || opts->poll_ms > third_ms)
        return ph__fail(err, PH_EINVAL,
                        "poll_ms is %d; with a lease of %d s at most %d is allowed (a third of the "
                        "lease): poll more often or lease for longer",
                        opts->poll_ms, opts->lease_s, third_ms);
    if (!opts->poll_ms)
        opts->poll_ms = DEFAULT_POLL_MS < third_ms ? DEFAULT_POLL_MS : third_ms;
    return ph__instance_options(opts, err);
}
