/* reset.c - the same beginning for every permutation. */
#include "reset.h"

#include <unistd.h>

#define TIMEOUT_MS 15000 /* shorter than the engine's patience: a hang is an error of the call */
#define DAY (INT64_C(86400) * T_SECOND)

static void actor_open(struct iso_engine *engine, struct iso_actor *actor, size_t number)
{
    const struct iso_spec *spec = engine->spec;
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    char name[48], schema[48], prefix[48];

    snprintf(name, sizeof(name), "%s%zu", engine->watch.prefix, number);
    snprintf(schema, sizeof(schema), "%s", t_schema());
    snprintf(prefix, sizeof(prefix), "bare%d_", engine->round);
    if (spec->bare)
        snprintf(schema, sizeof(schema), "bare%d_%d", (int)getpid(), engine->round);
    opts.schema = schema;
    opts.table_prefix = spec->bare && !t_is_pg() ? prefix : NULL;
    opts.timeout_ms = TIMEOUT_MS;
    iso_actor_open(actor, name, &engine->world, &opts);
}

void iso_actors_open(struct iso_engine *engine)
{
    if (!engine->spec->bare)
        ph_close(t_open(NULL)); /* deploys the schema */
    actor_open(engine, &engine->setup, 0);
    if (engine->spec->bare && !t_is_pg()) /* so that waiting is for the write lock alone */
        t_sql(engine->setup.conn, "PRAGMA journal_mode = WAL");
    for (size_t i = 0; i < engine->spec->session_count; i++)
        actor_open(engine, &engine->workers[i].actor, i + 1);
}

void iso_actors_close(struct iso_engine *engine)
{
    if (!engine->setup.store)
        return;
    iso_actor_close(&engine->setup);
    for (size_t i = 0; i < engine->spec->session_count; i++)
        iso_actor_close(&engine->workers[i].actor);
}

static void messages_remove(struct iso_engine *engine)
{
    t_begin(engine->setup.conn);
    t_sql(engine->setup.conn,
          "DELETE FROM {t}message; DELETE FROM {t}pending; DELETE FROM {t}lease;"
          "DELETE FROM {t}done; DELETE FROM {t}dead; DELETE FROM {t}attempt_log;"
          "DELETE FROM {t}dedupe; DELETE FROM {t}join_wait; DELETE FROM {t}join_member;"
          "DELETE FROM {t}join_head; DELETE FROM {t}job; DELETE FROM {t}job_run;"
          "DELETE FROM {t}stream; DELETE FROM {t}instance; DELETE FROM {t}receptor;"
          "DELETE FROM {t}checkpoint");
    t_commit(engine->setup.conn);
}

void iso_reset(struct iso_engine *engine)
{
    engine->events = 0;
    engine->world.name_count = 0;
    engine->setup.lease_count = 0;
    snprintf(engine->world.ns, sizeof(engine->world.ns), "round %d", engine->round);
    if (engine->spec->bare) {
        iso_actors_close(engine);
        iso_actors_open(engine);
        return;
    }
    messages_remove(engine);
    t_clock_set(engine->setup.store, T_EPOCH + engine->round * DAY);
}
