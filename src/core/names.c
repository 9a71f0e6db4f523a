#include "core/names.h"

const char *ph_door_text(ph_door door)
{
    static const char *const texts[] = { "outbox", "inbox", "timers", "job_runs" };
    const unsigned number = (unsigned)door;

    return number < sizeof(texts) / sizeof(*texts) ? texts[number] : "no such door";
}

const char *ph__attempt_kind_text(int kind)
{
    static const char *const texts[] = { "", "abandoned", "failed", "released", "lost", "expired" };

    return kind > 0 && kind < (int)(sizeof(texts) / sizeof(*texts)) ? texts[kind] : "unknown";
}

const char *ph__dead_reason_text(int reason)
{
    static const char *const texts[] = { "", "failed", "attempts", "lost", "expired" };

    return reason > 0 && reason < (int)(sizeof(texts) / sizeof(*texts)) ? texts[reason] : "unknown";
}

static const struct {
    ph_priority priority;
    const char *text;
} levels[] = {
    { PH_PRIORITY_URGENT, "urgent" },
    { PH_PRIORITY_NORMAL, "normal" },
    { PH_PRIORITY_LOW, "low" },
    { PH_PRIORITY_BULK, "bulk" },
};

int ph__level_of(ph_priority priority)
{
    for (size_t level = 0; level < sizeof(levels) / sizeof(*levels); level++) {
        if (levels[level].priority == priority)
            return (int)level;
    }
    return -1;
}

ph_priority ph__priority_of(int64_t level)
{
    const int64_t count = sizeof(levels) / sizeof(*levels);

    return level >= 0 && level < count ? levels[level].priority : PH_PRIORITY_NORMAL;
}

const char *ph_priority_text(ph_priority priority)
{
    int level = ph__level_of(priority);

    return level < 0 ? "no such priority" : levels[level].text;
}
