/* many.c - one dispatcher and many databases: how the rate grows with them, what idle ones cost, and
 * what it costs to have fewer connections than databases. */
#include "floor.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SCALE_MAX 8 /* databases that all have messages */
#define IDLE_BESIDE 50
#define IDLE_TENANTS 200
#define FEW 3        /* connections for SCALE_MAX databases */
#define BUSY_TIMES 4 /* as many messages where only one database has any */
#define THREADS 4
#define BATCH 100
#define SERVE_LIMIT_S 120 /* until every database was reached; more is an error */
#define SETTLE_S 5        /* after that, until the pauses between looks have grown */

/* What is measured, and where. */
struct many {
    struct bench bench;
    const struct bench_floor *floor;
    const char *servers[SCALE_MAX]; /* other servers, a database in each */
    int server_count;
    int made; /* databases beside the given one */
    int seconds;
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
        return scene->many->servers[index];
    scene->many->floor->beside(scene->many->bench.url, index, room, size);
    return room;
}

/* All of them empty. Making one takes a server longer than emptying it, so they are kept. */
static void make_databases(const struct scene *scene)
{
    struct many *many = scene->many;

    for (int i = 0; i < scene->count && !scene->on_servers; i++) {
        char room[5000];

        if (i < many->made)
            many->floor->reset_ours(url_of(scene, i, room, sizeof(room)));
        else
            many->floor->beside_make(many->bench.url, many->made++);
    }
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
    pause_s(SETTLE_S);
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
        printf("{\"case\":\"%s\",\"databases\":%d,\"rate\":%.0f,\"rate_of_one\":%.0f,"
               "\"of_linear\":%.3f,\"processes_rate\":%.0f,\"processes_of_linear\":%.3f,"
               "\"cores\":%ld}\n",
               name, count, rate, one, rate / linear, apart, apart / linear,
               sysconf(_SC_NPROCESSORS_ONLN));
    else
        printf("%-44s %9.0f/s  %9.0f/s  %5.2f  (%d process%s: %.2f)\n", name, rate, linear,
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

static void report_plain(struct many *many, const char *name, double rate, double base)
{
    if (many->bench.json)
        printf("{\"case\":\"%s\",\"rate\":%.0f,\"base\":%.0f,\"ratio\":%.3f}\n", name, rate, base,
               rate / base);
    else
        printf("%-44s %9.0f/s  %9.0f/s  %5.2f\n", name, rate, base, rate / base);
    fflush(stdout);
}

/* Beside all of them: round-robin with as many connections as databases. */
static void few_connections(struct many *many)
{
    static const struct {
        const char *name;
        int connections;
        ph_selection selection;
    } cases[] = {
        { "8 busy, 8 connections, drain-first", SCALE_MAX, PH_SELECT_DRAIN_FIRST },
        { "8 busy, 3 connections, round-robin", FEW, PH_SELECT_ROUND_ROBIN },
        { "8 busy, 3 connections, drain-first", FEW, PH_SELECT_DRAIN_FIRST },
    };
    enum { CASES = sizeof(cases) / sizeof(*cases) };
    struct scene plenty = { .many = many, .count = SCALE_MAX, .connections = SCALE_MAX };
    double rates[CASES][BENCH_ROUNDS_MAX], base[BENCH_ROUNDS_MAX];
    bool any = false;

    for (int c = 0; c < CASES; c++)
        any |= bench_wanted(&many->bench, cases[c].name);
    if (!any)
        return;
    make_databases(&plenty);
    for (int i = 0; i < many->bench.rounds; i++) {
        base[i] = drain_rate(&plenty, false);
        for (int c = 0; c < CASES; c++) {
            struct scene scene = plenty;

            scene.connections = cases[c].connections;
            scene.selection = cases[c].selection;
            rates[c][i] = bench_wanted(&many->bench, cases[c].name) ? drain_rate(&scene, false) : 0;
        }
    }
    for (int c = 0; c < CASES; c++) {
        if (bench_wanted(&many->bench, cases[c].name))
            report_plain(many, cases[c].name, bench_median(rates[c], many->bench.rounds),
                         bench_median(base, many->bench.rounds));
    }
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
static void busy_beside_idle(struct many *many)
{
    static const char *const names[] = {
        "busy beside 50 idle, 8 connections",
        "busy beside 50 idle, a connection each",
    };
    static const int connections[] = { PH_SET_CONNECTIONS, 1 + IDLE_BESIDE };

    for (size_t c = 0; c < sizeof(names) / sizeof(*names); c++) {
        struct scene crowd = { .many = many, .count = 1 + IDLE_BESIDE };
        struct scene alone;
        double with[BENCH_ROUNDS_MAX], without[BENCH_ROUNDS_MAX];

        if (!bench_wanted(&many->bench, names[c]))
            continue;
        crowd.connections = connections[c];
        alone = crowd;
        alone.count = 1;
        make_databases(&crowd);
        for (int i = 0; i < many->bench.rounds; i++) {
            without[i] = busy_rate(&alone);
            with[i] = busy_rate(&crowd);
        }
        bench_report(&many->bench, names[c], bench_median(with, many->bench.rounds),
                     bench_median(without, many->bench.rounds), 0.9);
    }
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
    pause_s(many->seconds);
    cpu = (cpu_s() - cpu) / (bench_now() - begin) * 100;
    bench_must(ph_dispatcher_stats_get(service.dispatcher, &after, &err), &err, "stats");
    looks = (double)(after.empty_claims - before.empty_claims) / (bench_now() - begin);
    end(&service);
    if (many->bench.json)
        printf("{\"case\":\"%d idle tenants, %d connections\",\"cpu_percent\":%.3f,"
               "\"looks_per_s\":%.1f,\"aim_percent\":5}\n",
               scene->count, scene->connections, cpu, looks);
    else
        printf("%d idle tenants, %3d connections %13s %.2f %% of a core, %.0f looks/s  (aim < 5)\n",
               scene->count, scene->connections, "", cpu, looks);
    fflush(stdout);
}

static void idle(struct many *many)
{
    static const int connections[] = { PH_SET_CONNECTIONS, IDLE_TENANTS };
    struct scene scene = { .many = many, .count = IDLE_TENANTS };
    char name[80];

    for (size_t c = 0; c < sizeof(connections) / sizeof(*connections); c++) {
        snprintf(name, sizeof(name), "%d idle tenants, %d connections", IDLE_TENANTS,
                 connections[c]);
        if (!bench_wanted(&many->bench, name))
            continue;
        scene.connections = connections[c];
        make_databases(&scene);
        bench_in_parallel(1, idle_work, &scene);
    }
}

/* ------------------------------------------------------------------------ main */

static void usage(void)
{
    puts("usage: bench_many --db URL [--server URL]... [--messages N] [--seconds N] [--rounds N]\n"
         "                  [--only TEXT] [--json]\n"
         "\n"
         "Measures one dispatcher for many databases.\n"
         "  --db URL       sqlite:FILE: makes files in the folder FILE-many;\n"
         "                 postgresql://…: makes databases posthorn_bench_N on that server\n"
         "  --server URL   a database on another server (its schema posthorn_bench is dropped!);\n"
         "                 eight of them are measured as servers, fewer are not\n"
         "  --messages N   per database and run (default 20000)\n"
         "  --seconds N    how long idle tenants are watched (default 30)\n"
         "  --rounds N     the median of so many counts (default 3, at most 15)\n"
         "  --only TEXT    only the cases whose name holds TEXT\n"
         "  --json         one line of JSON per case");
}

/* False: the command line is wrong; *ret_help: it asks for help. */
static bool parse(struct many *many, int argc, char **argv, bool *ret_help)
{
    static const struct option options[] = {
        { "db", 1, NULL, 'd' },      { "server", 1, NULL, 'S' }, { "messages", 1, NULL, 'm' },
        { "seconds", 1, NULL, 's' }, { "rounds", 1, NULL, 'r' }, { "only", 1, NULL, 'o' },
        { "json", 0, NULL, 'j' },    { "help", 0, NULL, 'h' },   { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 's')
            many->seconds = atoi(optarg);
        else if (option == 'S' && many->server_count < SCALE_MAX)
            many->servers[many->server_count++] = optarg;
        else if (option == 'h')
            *ret_help = true;
        else if (!bench_option(&many->bench, option))
            return false;
    }
    return *ret_help || (bench_is_fit(&many->bench) && many->seconds >= 1);
}

int main(int argc, char **argv)
{
    struct many many = { .bench = { NULL, 20000, 1, BATCH, 3, false, NULL }, .seconds = 30 };
    bool help = false, fit = parse(&many, argc, argv, &help), sqlite;

    if (!fit || help) {
        usage();
        return fit ? 0 : 2;
    }
    sqlite = strncmp(many.bench.url, "sqlite:", 7) == 0;
    many.floor = sqlite ? &bench_floor_sqlite : &bench_floor_pg;
    if (!many.bench.json)
        printf("%ld cores here, for the dispatcher, its handlers and the databases together\n"
               "%-44s %11s  %11s  %5s\n",
               sysconf(_SC_NPROCESSORS_ONLN), "case", "ours", "beside it", "ratio");
    fflush(stdout); /* or processes that are forked print it, too */
    scale_out(&many, sqlite ? "files" : "databases of a server", false);
    if (many.server_count == SCALE_MAX)
        scale_out(&many, "servers", true);
    few_connections(&many);
    busy_beside_idle(&many);
    if (sqlite)
        idle(&many);
    remove_databases(&many);
    return 0;
}
