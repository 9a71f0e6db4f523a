/* work_env.c - the environment of a command: the message, PATH, what --env names, and nothing
 * else. */
#include "message.h"
#include "work.h"

#include "util/time_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "POSTHORN_"

/* One text per variable; NULL: it is not set. */
struct values {
    char work_id[PH_ID_TEXT_SIZE], message_id[PH_ID_TEXT_SIZE], tenant_id[PH_ID_TEXT_SIZE];
    char created_at[PH__TIME_TEXT_SIZE], due_at[PH__TIME_TEXT_SIZE];
    char attempts[16], retry_count[16], fence[24], seq[24];
    char db[48];
    const char *texts[24];
};

static const char *const names[] = {
    "WORK_ID",    "MESSAGE_ID",     "TOPIC",       "NAMESPACE", "ATTEMPTS",  "FENCE",
    "CREATED_AT", "DUE_AT",         "RETRY_COUNT", "PRIORITY",  "TENANT_ID", "HEADERS",
    "DEDUPE_KEY", "CORRELATION_ID", "LAST_ERROR",  "STREAM",    "SEQ",       "SOURCE",
    "SOURCE_ID",  "STORE",          "DB",
};
#define NAMES (sizeof(names) / sizeof(*names))
#define DESCRIBING (NAMES - 1) /* the last does not describe a message, and --env may name it */

bool work_env_is_ours(const char *name)
{
    for (size_t i = 0; i < DESCRIBING; i++)
        if (strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
            strcmp(name + strlen(PREFIX), names[i]) == 0)
            return true;
    return false;
}

/* In the order of names. */
static void fill(struct values *v, const ph_delivery *m, const char *store, int db_fd)
{
    size_t n = 0;

    snprintf(v->attempts, sizeof(v->attempts), "%d", m->attempts);
    snprintf(v->retry_count, sizeof(v->retry_count), "%d", m->retry_count);
    snprintf(v->fence, sizeof(v->fence), "%lld", (long long)m->fence);
    snprintf(v->seq, sizeof(v->seq), "%lld", (long long)m->seq);
    v->texts[n++] = ph_id_text(m->work_id.b, v->work_id);
    v->texts[n++] = ph_id_text(m->message_id.b, v->message_id);
    v->texts[n++] = m->topic;
    v->texts[n++] = m->ns;
    v->texts[n++] = v->attempts;
    v->texts[n++] = v->fence;
    v->texts[n++] = ph__time_text(m->created_at, v->created_at);
    v->texts[n++] = ph__time_text(m->due_at, v->due_at);
    v->texts[n++] = v->retry_count;
    v->texts[n++] = ph_priority_text(m->priority);
    v->texts[n++] = m->tenant_id ? ph_id_text(m->tenant_id->b, v->tenant_id) : NULL;
    v->texts[n++] = m->headers;
    v->texts[n++] = m->dedupe_key;
    v->texts[n++] = m->correlation_id;
    v->texts[n++] = m->last_error;
    v->texts[n++] = m->stream;
    v->texts[n++] = m->stream ? v->seq : NULL;
    v->texts[n++] = m->source;
    v->texts[n++] = m->source_id;
    v->texts[n++] = store;
    snprintf(v->db, sizeof(v->db), "from:/proc/%ld/fd/%d", (long)getpid(), db_fd);
    v->texts[n++] = db_fd >= 0 ? v->db : NULL;
}

char **work_env(const struct work *work, const ph_delivery *message, const char *store, int db_fd)
{
    struct values values = { 0 };
    size_t size = (NAMES + work->passed_count + 1) * sizeof(char *), count = 0;
    char **env, *to;

    fill(&values, message, store, db_fd);
    for (size_t i = 0; i < NAMES; i++)
        if (values.texts[i])
            size += strlen(PREFIX) + strlen(names[i]) + strlen(values.texts[i]) + 2;
    env = malloc(size);
    if (!env)
        return NULL;
    to = (char *)(env + NAMES + work->passed_count + 1);
    for (size_t i = 0; i < NAMES; i++)
        if (values.texts[i]) {
            env[count++] = to;
            to = stpcpy(stpcpy(to, PREFIX), names[i]);
            *to++ = '=';
            to = stpcpy(to, values.texts[i]) + 1;
        }
    for (size_t i = 0; i < work->passed_count; i++)
        env[count++] = work->passed[i];
    env[count] = NULL;
    return env;
}
