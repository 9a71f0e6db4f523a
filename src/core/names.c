#include "core/names.h"

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
