#include "store/sqlite/job_row.h"

/* The columns of job_get. */
/* clang-format off */
enum { NAME, NAMESPACE, TOPIC, PAYLOAD, CRON, TIMEZONE, MISFIRE, MISFIRE_LIMIT, OVERLAP, PAUSED,
       PROBLEM, NEXT_AT, LAST_AT, LAST_RUN, SKIPPED, CREATED_AT, UPDATED_AT, GENERATION };
/* clang-format on */

static int load_texts(const struct ph__query *query, struct ph__arena *arena, ph_job_info *info)
{
    const struct {
        int column;
        const char **to;
    } texts[] = {
        { NAME, &info->name },       { NAMESPACE, &info->ns }, { TOPIC, &info->topic },
        { PAYLOAD, &info->payload }, { CRON, &info->cron },    { TIMEZONE, &info->timezone },
        { PROBLEM, &info->problem },
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(*texts); i++)
        r = ph__column_text(query, texts[i].column, arena, texts[i].to, NULL);
    return r;
}

int ph__job_load(const struct ph__query *query, struct ph__arena *arena,
                 struct ph__job_row *ret_job)
{
    ph_job_info *info = &ret_job->info;

    *ret_job = (struct ph__job_row){ .generation = ph__column_int(query, GENERATION),
                                     .next_at = ph__column_int(query, NEXT_AT) };
    info->misfire = (ph_misfire)ph__column_int(query, MISFIRE);
    info->misfire_limit = (int)ph__column_int(query, MISFIRE_LIMIT);
    info->overlap = (ph_overlap)ph__column_int(query, OVERLAP);
    info->paused = ph__column_int(query, PAUSED) != 0;
    if (!info->paused && ret_job->next_at != PH__JOB_NEVER)
        info->next_at = ret_job->next_at;
    info->last_at = ph__column_int(query, LAST_AT);
    (void)ph__column_id(query, LAST_RUN, info->last_run.b);
    info->skipped = ph__column_int(query, SKIPPED);
    info->created_at = ph__column_int(query, CREATED_AT);
    info->updated_at = ph__column_int(query, UPDATED_AT);
    return load_texts(query, arena, info);
}

int ph__job_get(struct ph__sqlite_tx *tx, const char *name, struct ph__arena *arena,
                struct ph__job_row *ret_job)
{
    struct ph__query query = ph__query(tx, PH__SQL_job_get);
    int r;

    ph__query_text(&query, name);
    r = ph__query_row(&query);
    if (r <= 0)
        return r;
    r = ph__job_load(&query, arena, ret_job);
    ph__query_end(&query);
    return r < 0 ? r : 1;
}
