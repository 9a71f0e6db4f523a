#include "common.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

ph_message a_message(const char *topic, const char *payload)
{
    ph_message m = PH_MESSAGE_INIT;

    m.topic = topic;
    m.payload = payload;
    return m;
}

int try_put(ph_store *store, ph_tx tx, const ph_message *message)
{
    return ph_enqueue(store, tx, message, 0, NULL, &t_err);
}

ph_enqueued put(ph_store *store, const ph_message *message)
{
    ph_enqueued e = { 0 };

    OK(ph_enqueue(store, PH_OWN_TX, message, 0, &e, &t_err));
    return e;
}

void put_many(ph_store *store, const char *topic, size_t n, ph_enqueued *ret_enqueued)
{
    ph_message *messages = calloc(n, sizeof(*messages));
    char(*texts)[24] = calloc(n, sizeof(*texts));

    for (size_t i = 0; i < n; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%zu", i);
        messages[i] = a_message(topic, texts[i]);
    }
    OK(ph_enqueue_many(store, PH_OWN_TX, messages, n, 0, ret_enqueued, &t_err));
    free(messages);
    free(texts);
}

static void copy_history(struct seen *s, const ph_message_info *info)
{
    s->history_count = info->history_count;
    for (size_t i = 0; i < info->history_count; i++) {
        size_t used = strlen(s->kinds);

        snprintf(s->kinds + used, sizeof(s->kinds) - used, "%s%s", i ? "," : "",
                 info->history[i].kind);
    }
}

struct seen see(ph_store *store, ph_work_id id)
{
    return see_by(ph_outbox_find, store, id);
}

struct seen see_by(find_function *find, ph_store *store, ph_work_id id)
{
    struct seen s = { 0 };
    ph_message_info *info = NULL;
    int r = find(store, PH_OWN_TX, id, 0, &info, &t_err);

    if (r == PH_ENOTFOUND)
        return s;
    OK(r);
    s.there = true;
    s.status = info->state;
    s.attempts = info->message->attempts;
    s.retry_count = info->message->retry_count;
    s.max_attempts = info->max_attempts;
    s.fence = info->message->fence;
    s.created_at = info->message->created_at;
    s.due_at = info->message->due_at;
    s.requested_due_at = info->requested_due_at;
    s.expires_at = info->expires_at;
    s.locked_until = info->locked_until;
    s.processed_at = info->processed_at;
    s.updated_at = info->updated_at;
    s.next_attempt_at = info->next_attempt_at;
    s.owner = info->owner;
    s.retried_as = info->retried_as;
    s.message_id = info->message->message_id;
    s.has_error = info->message->last_error != NULL;
    snprintf(s.last_error, sizeof(s.last_error), "%s",
             s.has_error ? info->message->last_error : "");
    snprintf(s.dead_reason, sizeof(s.dead_reason), "%s",
             info->dead_reason ? info->dead_reason : "");
    copy_history(&s, info);
    ph_message_info_free(info);
    return s;
}

ph_batch *claim_with(ph_store *store, ph_owner owner, const ph_claim_opts *opts)
{
    ph_batch *batch = NULL;

    OK(ph_outbox_claim(store, PH_OWN_TX, owner, opts, 0, &batch, &t_err));
    return batch;
}

size_t take(ph_store *store, ph_owner owner, int n, ph_lease_ref *ret_refs)
{
    ph_batch *batch = t_claim(store, owner, n);
    size_t count = ph_batch_count(batch);

    for (size_t i = 0; i < count; i++)
        ret_refs[i] = ph_lease_ref_of(ph_batch_at(batch, i));
    ph_batch_free(batch);
    return count;
}

ph_lease_ref take_one(ph_store *store, ph_owner owner)
{
    ph_lease_ref ref = { 0 };

    CHECK_INT(take(store, owner, 1, &ref), 1);
    return ref;
}

size_t claimable(ph_store *store, int n)
{
    ph_batch *batch = t_claim(store, ph_owner_new(), n);
    size_t count = ph_batch_count(batch);

    ph_batch_free(batch);
    return count;
}

const char *payloads(const ph_batch *batch)
{
    static char text[4096];

    text[0] = '\0';
    for (size_t i = 0; i < ph_batch_count(batch); i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
                 ph_batch_at(batch, i)->payload);
    }
    return text;
}

const char *claimed_payloads(ph_store *store, ph_owner owner, int n)
{
    ph_batch *batch = t_claim(store, owner, n);
    const char *text = payloads(batch);

    ph_batch_free(batch);
    return text;
}

ph_outcome settle(ph_store *store, ph_owner owner, ph_lease_ref ref, ph_settle_verb verb,
                  const char *error, int64_t delay_ms)
{
    ph_settlement item = { .lease = ref, .verb = verb, .error = error, .delay_ms = delay_ms };
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;

    OK(ph_outbox_settle(store, PH_OWN_TX, owner, &item, 1, 0, &outcome, &t_err));
    return outcome;
}

ph_outcome ack(ph_store *store, ph_owner owner, ph_lease_ref ref)
{
    return settle(store, owner, ref, PH_ACK, NULL, 0);
}

ph_outcome renew(ph_store *store, ph_owner owner, ph_lease_ref ref, int lease_s)
{
    ph_outcome outcome = PH_OUTCOME_UNKNOWN;

    OK(ph_outbox_renew(store, PH_OWN_TX, owner, &ref, 1, lease_s, 0, &outcome, &t_err));
    return outcome;
}

int64_t reap(ph_store *store)
{
    int64_t count = -1;

    OK(ph_outbox_reap_expired(store, PH_OWN_TX, 0, &count, &t_err));
    return count;
}

void set_queue(ph_store *store, const ph_queue_settings *settings)
{
    OK(ph_outbox_queue_set(store, PH_OWN_TX, NULL, settings, 0, &t_err));
}

void set_max_attempts(ph_store *store, int max_attempts)
{
    ph_queue_settings settings = PH_QUEUE_SETTINGS_INIT;

    settings.max_attempts = max_attempts;
    set_queue(store, &settings);
}

bool same_id(const uint8_t a[16], const uint8_t b[16])
{
    return memcmp(a, b, 16) == 0;
}

/* Still reachable at the end, so that the leak checker is content. */
struct kept {
    struct kept *next;
    char text[];
};
static struct kept *all_kept;

char *repeated(const char *character, size_t count)
{
    size_t length = strlen(character);
    struct kept *kept = malloc(sizeof(*kept) + length * count + 1);

    kept->next = all_kept;
    all_kept = kept;
    for (size_t i = 0; i < count; i++)
        memcpy(kept->text + i * length, character, length);
    kept->text[length * count] = '\0';
    return kept->text;
}

void in_processes(int count, void (*body)(int index, void *argument), void *argument)
{
    pid_t children[64];

    CHECK(count <= 64);
    fflush(NULL);
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            body(i, argument);
            fflush(NULL);
            _exit(0);
        }
    }
    for (int i = 0; i < count; i++) {
        int status = -1;

        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK_INT(status, 0);
    }
}

void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}
