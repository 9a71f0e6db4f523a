/* many.c - one dispatcher and many databases: how the rate grows with them, what idle ones cost, and
 * what it costs to have fewer connections than databases. */
#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SCALE_MAX BENCH_SERVERS_MAX /* databases that all have messages */
#define FEW 3                       /* connections for SCALE_MAX databases */
#define BUSY_TIMES 4                /* as many messages where only one database has any */
#define THREADS 4
#define BATCH 100
#define SERVE_LIMIT_S 120 /* until every database was reached; more is an error */
#define SETTLE_S 5        /* after that, at most, until the pauses between looks have grown */

/* What is measured, and where. */
struct many {
    struct bench bench;
    const struct bench_floor *floor;
    int made; /* databases beside the given one */
};

/* Databases under one dispatcher. */
struct scene {
    struct many *many;
    bool on_servers; /* each on a server of its own */
    int count;
    int connections;
    ph_selection selection;
};

/* ------------------------------------------------------------------- databases */

static const char *url_of(const struct scene *scene, int index, char *room, size_t size)
{
    if (scene->on_servers)
        return scene->many->bench.servers[index];
    scene->many->floor->beside(scene->many->bench.url, index, room, size);
    return room;
}

/* All of them empty, since every case empties what it has filled. Making one takes a server a while,
 * so they are kept. */
static void make_databases(const struct scene *scene)
{
    struct many *many = scene->many;

    while (many->made < scene->count && !scene->on_servers)
        many->floor->beside_make(many->bench.url, many->made++);
}

static void remove_databases(struct many *many)
{
    while (many->made > 0)
        many->floor->beside_remove(many->bench.url, --many->made);
}

/* The schema anew, and messages. */
static void refill(const struct scene *scene, int index, long messages)
{
    char room[5000];
    const char *url = url_of(scene, index, room, sizeof(room));

    scene->many->floor->reset_ours(url);
    if (messages > 0)
        bench_fill(url, messages, 0);
}

/* So many idle databases, or fewer with a smaller crowd than a million. */
static int crowd_of(const struct many *many, int idle)
{
    long count = many->bench.crowd * idle / 1000000;

    return count > idle ? idle : count < 2 ? 2 : (int)count;
}

/* -------------------------------------------------------------- the dispatcher */

struct service {
    ph_set *set;
    ph_dispatcher *dispatcher;
};

static ph_verdict nothing(void *context, ph_work *work)
{
    (void)context;
    (void)work;
    return PH_VERDICT_DONE;
}

static ph_set *make_set(const struct scene *scene)
{
    ph_store_opts stores = PH_STORE_OPTS_INIT;
    ph_set_opts opts = PH_SET_OPTS_INIT;
    ph_set *set = NULL;
    ph_error err;

    stores.schema = "posthorn_bench";
    opts.stores = &stores;
    opts.connections = scene->connections;
    bench_must(ph_set_new(&opts, &set, &err), &err, "set");
    for (int i = 0; i < scene->count; i++) {
        ph_database database = PH_DATABASE_INIT;
        char id[16], room[5000];

        snprintf(id, sizeof(id), "%03d", i);
        database.id = id;
        database.url = url_of(scene, i, room, sizeof(room));
        bench_must(ph_set_add(set, &database, &err), &err, "set");
    }
    return set;
}

static struct service start(const struct scene *scene)
{
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    struct service service = { make_set(scene), NULL };
    ph_handler handler = PH_HANDLER_INIT;
    ph_error err;

    opts.threads = THREADS;
    opts.batch_size = BATCH;
    opts.selection = scene->selection;
    handler.handle = nothing;
    bench_must(ph_dispatcher_new_set(service.set, &opts, &service.dispatcher, &err), &err,
               "dispatcher");
    bench_must(ph_dispatcher_handle(service.dispatcher, &handler, &err), &err, "handler");
    bench_must(ph_dispatcher_start(service.dispatcher, &err), &err, "start");
    return service;
}

static void end(struct service *service)
{
    ph_error err;

    bench_must(ph_dispatcher_stop(service->dispatcher, 10000, &err), &err, "stop");
    ph_dispatcher_free(service->dispatcher);
    ph_set_free(service->set);
}

static void pause_s(double seconds)
{
    struct timespec rest = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

    nanosleep(&rest, NULL);
}

static int served(ph_dispatcher *dispatcher)
{
    ph_served_stores *list = NULL;
    int count = 0;
    ph_error err;

    bench_must(ph_served_store_list(dispatcher, NULL, &list, &err), &err, "stores");
    for (size_t i = 0; i < ph_served_stores_count(list); i++)
        count += ph_served_stores_at(list, i)->serving == PH_SERVING_SERVED;
    ph_served_stores_free(list);
    return count;
}

/* Waits until all were reached and have come to rest. */
static void settle(const struct scene *scene, struct service *service)
{
    double begin = bench_now();

    while (served(service->dispatcher) < scene->count) {
        if (bench_now() - begin > SERVE_LIMIT_S)
            bench_die("start", "not every database was reached");
        pause_s(0.05);
    }
    pause_s(scene->many->bench.seconds < SETTLE_S ? scene->many->bench.seconds : SETTLE_S);
}

/* ------------------------------------------------------------------- scale-out */

static void drain_set(const void *context, int index)
{
    struct service service = start(context);
    ph_error err;

    (void)index;
    bench_must(ph_dispatcher_drain(service.dispatcher, 0, &err), &err, "drain");
    end(&service);
}

/* One of several processes, each with a dispatcher for one database. */
static void drain_one(const void *context, int index)
{
    struct scene scene = *(const struct scene *)context;
    ph_dispatcher_opts opts = PH_DISPATCHER_OPTS_INIT;
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher = NULL;
    char room[5000];
    ph_store *store = bench_open(url_of(&scene, index, room, sizeof(room)));
    ph_error err;

    opts.threads = THREADS;
    opts.batch_size = BATCH;
    handler.handle = nothing;
    bench_must(ph_dispatcher_new(store, &opts, &dispatcher, &err), &err, "dispatcher");
    bench_must(ph_dispatcher_handle(dispatcher, &handler, &err), &err, "handler");
    bench_must(ph_dispatcher_start(dispatcher, &err), &err, "start");
    bench_must(ph_dispatcher_drain(dispatcher, 0, &err), &err, "drain");
    bench_must(ph_dispatcher_stop(dispatcher, 10000, &err), &err, "stop");
    ph_dispatcher_free(dispatcher);
    ph_close(store);
}

/* Messages per second of all databases together, from the start of a process to its end. */
static double drain_rate(const struct scene *scene, bool apart)
{
    double took;

    for (int i = 0; i < scene->count; i++)
        refill(scene, i, scene->many->bench.messages);
    took = apart ? bench_in_parallel(scene->count, drain_one, scene)
                 : bench_in_parallel(1, drain_set, scene);
    return (double)scene->many->bench.messages * scene->count / took;
}

static void report_scale(struct many *many, const char *name, int count, double rate, double apart,
                         double one)
{
    double linear = one * count;

    if (many->bench.json)
        printf("{\"case\":\"%s\",\"unit\":\"/s\",\"ours\":%.4f,\"base\":%.4f,\"ratio\":%.4f,"
               "\"processes_ratio\":%.3f,\"cores\":%ld}\n",
               name, rate, linear, rate / linear, apart / linear, sysconf(_SC_NPROCESSORS_ONLN));
    else
        printf("%-44s %24.0f/s  %24.0f/s  %5.2f  (%d process%s: %.2f)\n", name, rate, linear,
               rate / linear, count, count > 1 ? "es" : "", apart / linear);
    fflush(stdout);
}

/* All sizes of a round one after the other, so that what changes on the machine changes for all. */
static void scale_out(struct many *many, const char *kind, bool on_servers)
{
    static const int counts[] = { 1, 2, 4, SCALE_MAX };
    enum { SIZES = sizeof(counts) / sizeof(*counts) };
    double rates[SIZES][BENCH_ROUNDS_MAX], apart[SIZES][BENCH_ROUNDS_MAX], one = 0;
    struct scene all = { .many = many, .on_servers = on_servers, .count = SCALE_MAX };
    char name[80];

    snprintf(name, sizeof(name), "scale-out, %s", kind);
    if (!bench_wanted(&many->bench, name))
        return;
    make_databases(&all);
    for (int round = 0; round < many->bench.rounds; round++) {
        for (int i = 0; i < SIZES; i++) {
            struct scene scene = all;

            scene.count = scene.connections = counts[i];
            rates[i][round] = drain_rate(&scene, false);
            apart[i][round] = drain_rate(&scene, true);
        }
    }
    for (int i = 0; i < SIZES; i++) {
        double rate = bench_median(rates[i], many->bench.rounds);

        one = i == 0 ? rate : one;
        snprintf(name, sizeof(name), "scale-out, %s × %d", kind, counts[i]);
        report_scale(many, name, counts[i], rate, bench_median(apart[i], many->bench.rounds), one);
    }
}

/* ------------------------------------------------------------- few connections */

struct few {
    struct scene plenty;
    int connections;
    ph_selection selection;
};

/* Beside it: round-robin with as many connections as databases. */
static double few_rate(const void *context, bool few)
{
    const struct few *task = context;
    struct scene scene = task->plenty;

    make_databases(&scene);
    if (few) {
        scene.connections = task->connections;
        scene.selection = task->selection;
    }
    return drain_rate(&scene, false);
}

static void few_connections(struct many *many)
{
    struct few task = { { .many = many, .count = SCALE_MAX, .connections = SCALE_MAX },
                        SCALE_MAX,
                        PH_SELECT_DRAIN_FIRST };

    bench_compare(&many->bench, "8 busy, 8 connections, drain-first", BENCH_RATE, few_rate, &task);
    task.connections = FEW;
    bench_compare(&many->bench, "8 busy, 3 connections, drain-first", BENCH_RATE, few_rate, &task);
    task.selection = PH_SELECT_ROUND_ROBIN;
    bench_compare(&many->bench, "8 busy, 3 connections, round-robin", BENCH_RATE, few_rate, &task);
}

/* ------------------------------------------------------- one busy, others idle */

static int64_t done(ph_dispatcher *dispatcher)
{
    ph_dispatcher_stats stats = PH_DISPATCHER_STATS_INIT;
    ph_error err;

    bench_must(ph_dispatcher_stats_get(dispatcher, &stats, &err), &err, "stats");
    return stats.done;
}

/* The queue fills while it is paused; measured is from its release until all is settled. Only the
 * first database has messages. */
static double busy_rate(const struct scene *scene)
{
    long messages = scene->many->bench.messages * BUSY_TIMES;
    char room[5000];
    const char *url = url_of(scene, 0, room, sizeof(room));
    struct service service;
    ph_store *store;
    double begin;
    ph_error err;

    refill(scene, 0, 0);
    store = bench_open(url);
    bench_must(ph_outbox_queue_pause(store, PH_OWN_TX, NULL, 0, &err), &err, "pause");
    bench_fill(url, messages, 0);
    service = start(scene);
    settle(scene, &service);
    begin = bench_now();
    bench_must(ph_outbox_queue_resume(store, PH_OWN_TX, NULL, 0, &err), &err, "resume");
    bench_must(ph_dispatcher_wake(service.dispatcher, "000", &err), &err, "wake");
    while (done(service.dispatcher) < messages)
        pause_s(0.001);
    begin = bench_now() - begin;
    end(&service);
    ph_close(store);
    return (double)messages / begin;
}

/* Beside it: the same database alone, with as many connections. */
static double busy_or_alone(const void *context, bool crowded)
{
    struct scene scene = *(const struct scene *)context;

    make_databases(&scene);
    scene.count = crowded ? scene.count : 1;
    return busy_rate(&scene);
}

static void busy_beside_idle(struct many *many)
{
    int idle = crowd_of(many, 50);
    struct scene scene = { .many = many, .count = 1 + idle, .connections = PH_SET_CONNECTIONS };
    char name[80];

    snprintf(name, sizeof(name), "busy beside %d idle, %d connections", idle, PH_SET_CONNECTIONS);
    bench_compare(&many->bench, name, BENCH_RATE, busy_or_alone, &scene);
    scene.connections = 1 + idle;
    snprintf(name, sizeof(name), "busy beside %d idle, a connection each", idle);
    bench_compare(&many->bench, name, BENCH_RATE, busy_or_alone, &scene);
}

/* ------------------------------------------------------------------------ idle */

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* In a process of its own, so that nothing else of ours is counted. */
static void idle_work(const void *context, int index)
{
    const struct scene *scene = context;
    struct many *many = scene->many;
    ph_dispatcher_stats before = PH_DISPATCHER_STATS_INIT, after = PH_DISPATCHER_STATS_INIT;
    struct service service = start(scene);
    double begin, cpu, looks;
    ph_error err;

    (void)index;
    settle(scene, &service);
    bench_must(ph_dispatcher_stats_get(service.dispatcher, &before, &err), &err, "stats");
    begin = bench_now();
    cpu = cpu_s();
    pause_s(many->bench.seconds);
    cpu = (cpu_s() - cpu) / (bench_now() - begin) * 100;
    bench_must(ph_dispatcher_stats_get(service.dispatcher, &after, &err), &err, "stats");
    looks = (double)(after.empty_claims - before.empty_claims) / (bench_now() - begin);
    end(&service);
    if (many->bench.json)
        printf("{\"case\":\"%d idle tenants, %d connections\",\"cpu_percent\":%.3f,"
               "\"looks_per_s\":%.1f}\n",
               scene->count, scene->connections, cpu, looks);
    else
        printf("%d idle tenants, %3d connections %13s %.2f %% of a core, %.0f looks/s\n",
               scene->count, scene->connections, "", cpu, looks);
    fflush(stdout);
}

static void idle(struct many *many)
{
    struct scene scene = { .many = many, .count = crowd_of(many, 200) };
    const int connections[] = { PH_SET_CONNECTIONS, scene.count };
    char name[80];

    for (size_t c = 0; c < sizeof(connections) / sizeof(*connections); c++) {
        snprintf(name, sizeof(name), "%d idle tenants, %d connections", scene.count,
                 connections[c]);
        if (!bench_wanted(&many->bench, name))
            continue;
        scene.connections = connections[c];
        make_databases(&scene);
        bench_in_parallel(1, idle_work, &scene);
    }
}

int main(int argc, char **argv)
{
    struct many many = {
        .bench = { .messages = 20000, .crowd = 1000000, .seconds = 30, .batch = BATCH, .rounds = 3 }
    };
    bool sqlite;

    many.floor = bench_begin(&many.bench, argc, argv,
                             "Measures one dispatcher for many databases: files in the folder "
                             "FILE-many, or databases\nposthorn_bench_N on the server; with eight "
                             "other servers, these as well.");
    sqlite = many.floor == &bench_floor_sqlite;
    scale_out(&many, sqlite ? "files" : "databases of a server", false);
    if (many.bench.server_count == SCALE_MAX)
        scale_out(&many, "servers", true);
    few_connections(&many);
    busy_beside_idle(&many);
    if (sqlite)
        idle(&many);
    remove_databases(&many);
    return 0;
}
