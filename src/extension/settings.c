/* settings.c - the settings of a queue, from JSON. */
#include "core/error.h"
#include "extension/message.h"

#include <string.h>

#define SECONDS_MAX (INT64_C(100) * 366 * 86400)
#define GRACE_MAX_MS 3600000
#define BACKOFF_MAX_MS (INT64_C(366) * 86400 * 1000)

enum kind { NUMBER, NUMBER_64, LIFETIME, GRACE, BACKOFF, DEAD_HEAD, YES_OR_NO, TOPIC };

static const struct setting {
    const char *name;
    enum kind kind;
    size_t offset; /* of the member of ph_queue_settings */
    int64_t most;
} all_settings[] = {
    { "max_attempts", NUMBER, offsetof(ph_queue_settings, max_attempts), PH_ATTEMPTS_MAX },
    { "backoff", BACKOFF, offsetof(ph_queue_settings, backoff), 0 },
    { "backoff_base_ms", NUMBER_64, offsetof(ph_queue_settings, backoff_base_ms), BACKOFF_MAX_MS },
    { "backoff_max_ms", NUMBER_64, offsetof(ph_queue_settings, backoff_max_ms), BACKOFF_MAX_MS },
    { "retention_s", LIFETIME, offsetof(ph_queue_settings, retention_s), SECONDS_MAX },
    { "dead_retention_s", LIFETIME, offsetof(ph_queue_settings, dead_retention_s), SECONDS_MAX },
    { "dedupe_retention_s", LIFETIME, offsetof(ph_queue_settings, dedupe_retention_s),
      SECONDS_MAX },
    { "max_payload_bytes", NUMBER_64, offsetof(ph_queue_settings, max_payload_bytes),
      PH_PAYLOAD_MAX },
    { "max_lease_s", NUMBER, offsetof(ph_queue_settings, max_lease_s), PH_LEASE_MAX_S },
    { "delete_on_ack", YES_OR_NO, offsetof(ph_queue_settings, delete_on_ack), 0 },
    { "join_wait_topic", TOPIC, offsetof(ph_queue_settings, join_wait_topic), 0 },
    { "dead_head", DEAD_HEAD, offsetof(ph_queue_settings, dead_head), 0 },
    { "affinity_grace_ms", GRACE, offsetof(ph_queue_settings, affinity_grace_ms), GRACE_MAX_MS },
};
#define SETTING_COUNT (sizeof(all_settings) / sizeof(*all_settings))

static int set_number(struct ph__ext_call *call, const struct setting *setting, const json_t *value,
                      ph_queue_settings *settings)
{
    void *member = (char *)settings + setting->offset;
    bool may_be_none = setting->kind == LIFETIME || setting->kind == GRACE;
    int64_t number = -1; /* PH_FOREVER, PH_NO_GRACE */
    int r = 0, small;

    if (!may_be_none || json_number_value(value) != -1)
        r = ph__ext_whole(call, setting->name, value, 1, setting->most, &number);
    if (r == PH_EINVAL && may_be_none) {
        ph_error why = call->err;

        r = ph__fail(&call->err, r, "%s, or -1 for %s", why.message,
                     setting->kind == GRACE ? "none" : "ever");
    }
    small = (int)number;
    if (r == 0 && (setting->kind == NUMBER || setting->kind == GRACE))
        memcpy(member, &small, sizeof(small));
    else if (r == 0)
        memcpy(member, &number, sizeof(number));
    return r;
}

static int set(struct ph__ext_call *call, const struct setting *setting, const json_t *value,
               ph_queue_settings *settings)
{
    const char *word = json_string_value(value);

    if (json_is_null(value))
        return 0;
    switch (setting->kind) {
    case BACKOFF:
        if (word && strcmp(word, "exponential") == 0)
            settings->backoff = PH_BACKOFF_EXPONENTIAL;
        else if (word && strcmp(word, "equal-jitter") == 0)
            settings->backoff = PH_BACKOFF_EQUAL_JITTER;
        else
            return ph__fail(&call->err, PH_EINVAL,
                            "backoff: give \"exponential\" or \"equal-jitter\"");
        return 0;
    case DEAD_HEAD:
        if (word && strcmp(word, "skip") == 0)
            settings->dead_head = PH_DEAD_HEAD_SKIP;
        else if (word && strcmp(word, "block") == 0)
            settings->dead_head = PH_DEAD_HEAD_BLOCK;
        else
            return ph__fail(&call->err, PH_EINVAL, "dead_head: give \"skip\" or \"block\"");
        return 0;
    case YES_OR_NO:
        if (!json_is_boolean(value))
            return ph__fail(&call->err, PH_EINVAL, "%s is not true or false", setting->name);
        settings->delete_on_ack = json_is_true(value) ? 1 : -1;
        return 0;
    case TOPIC:
        if (!word)
            return ph__fail(&call->err, PH_EINVAL, "%s is not a JSON string", setting->name);
        settings->join_wait_topic = word; /* lives as long as the call */
        return 0;
    default:
        return set_number(call, setting, value, settings);
    }
}

int ph__ext_settings_load(struct ph__ext_call *call, const json_t *object,
                          ph_queue_settings *settings)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t i = 0;
        int r;

        while (i < SETTING_COUNT && strcmp(all_settings[i].name, name) != 0)
            i++;
        r = i < SETTING_COUNT ? set(call, &all_settings[i], value, settings)
                              : ph__fail(&call->err, PH_EINVAL, "there is no setting \"%s\"", name);
        if (r < 0)
            return r;
    }
    return 0;
}
