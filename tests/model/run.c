#include "run.h"

#include <stdarg.h>

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int roll(struct run *run, int below)
{
    return (int)(next_random(&run->random) % (unsigned)below);
}

bool chance(struct run *run, int percent)
{
    return roll(run, 100) < percent;
}

int64_t one_of(struct run *run, const int64_t *choices, size_t count)
{
    return choices[roll(run, (int)count)];
}

static void __attribute__((format(printf, 3, 0)))
append(char *to, size_t size, const char *format, va_list arguments)
{
    size_t length = strlen(to);

    vsnprintf(to + length, size - length, format, arguments);
}

void say(struct run *run, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    append(run->steps, sizeof(run->steps), format, arguments);
    va_end(arguments);
}

bool differ(struct run *run, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    append(run->difference, sizeof(run->difference), format, arguments);
    va_end(arguments);
    return false;
}

bool went_well(struct run *run, int status, const char *what)
{
    return status == 0 || differ(run, "%s: %d, %s", what, status, t_err.message);
}

bool same_int(struct run *run, const char *what, int message, int64_t got, int64_t want)
{
    return got == want || differ(run, "message %d: %s is %lld, should be %lld", message, what,
                                 (long long)got, (long long)want);
}

bool same_text(struct run *run, const char *what, int message, const char *got, const char *want)
{
    if (got == want || (got && want && strcmp(got, want) == 0))
        return true;
    return differ(run, "message %d: %s is %s%s%s, should be %s%s%s", message, what, got ? "\"" : "",
                  got ? got : "NULL", got ? "\"" : "", want ? "\"" : "", want ? want : "NULL",
                  want ? "\"" : "");
}

void set_clock(struct run *run, int64_t time)
{
    run->model.now = time;
    t_clock_set(run->store, time);
}

ph_tx tx_of(struct run *run)
{
    return run->in_tx ? t_tx(run->raw) : PH_OWN_TX;
}

ph_owner owner_of(int index)
{
    ph_owner owner = { { 0 } };

    if (index >= 0)
        memset(owner.b, 0xa1 + index, sizeof(owner.b));
    return owner;
}

int message_of(const struct model *model, const uint8_t id[16])
{
    for (int i = 0; i < model->message_count; i++) {
        if (model->messages[i].place != M_GONE && memcmp(model->messages[i].id.b, id, 16) == 0)
            return i;
    }
    return -1;
}

struct words words_of(const struct m_draft *draft)
{
    struct words words = { .key = draft->key < 0 ? NULL : m_keys[draft->key] };

    snprintf(words.payload, sizeof(words.payload), "payload %d", draft->number);
    if (draft->correlated)
        snprintf(words.correlation, sizeof(words.correlation), "correlation %d", draft->number);
    if (draft->headed)
        snprintf(words.headers, sizeof(words.headers), "{\"number\": %d}", draft->number);
    return words;
}

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

bool same_delivery(struct run *run, int index, const ph_delivery *got)
{
    const struct m_message *want = &run->model.messages[index];
    const struct m_draft *draft = &want->draft;
    struct words words = words_of(draft);

    if (memcmp(got->work_id.b, want->id.b, 16) != 0)
        return differ(run, "message %d: another work id", index);
    if (memcmp(got->message_id.b, want->message_id.b, 16) != 0)
        return differ(run, "message %d: another message id", index);
    if (!got->tenant_id != !draft->tenant ||
        (draft->tenant && memcmp(got->tenant_id->b, m_tenant.b, 16) != 0))
        return differ(run, "message %d: another tenant", index);
    return same_text(run, "payload", index, got->payload, words.payload) &&
           same_int(run, "payload_length", index, (int64_t)got->payload_length,
                    (int64_t)strlen(words.payload)) &&
           same_text(run, "topic", index, got->topic, m_topics[draft->topic]) &&
           same_text(run, "ns", index, got->ns, m_namespaces[draft->ns]) &&
           same_text(run, "stream", index, got->stream,
                     draft->stream < 0 ? NULL : m_streams[draft->stream]) &&
           same_int(run, "seq", index, got->seq, want->seq) &&
           same_int(run, "due_at", index, got->due_at,
                    draft->due_at ? draft->due_at : want->created_at) &&
           same_text(run, "dedupe_key", index, got->dedupe_key, words.key) &&
           same_text(run, "correlation_id", index, got->correlation_id,
                     or_null(words.correlation)) &&
           same_text(run, "headers", index, got->headers, or_null(words.headers)) &&
           same_int(run, "priority", index, got->priority, m_priorities[m_level(want)]) &&
           same_int(run, "fence", index, got->fence, want->fence) &&
           same_int(run, "attempts", index, got->attempts, m_attempts_shown(want)) &&
           same_int(run, "retry_count", index, got->retry_count, m_retry_count(want)) &&
           same_int(run, "created_at", index, got->created_at, want->created_at) &&
           same_text(run, "last_error", index, got->last_error, m_errors[m_last_error(want)]);
}
