/* options.c - the command line that all programs of the benchmark share. */
#include "floor.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(const char *program, const char *about, const struct bench *bench)
{
    printf(
        "usage: %s --db URL [OPTION…]\n"
        "       %s --list [--db URL]\n"
        "\n"
        "%s\n"
        "  --db URL       sqlite:FILE or postgresql://… (the schema posthorn_bench is dropped!)\n"
        "  --messages N   per run, at least 1000 (default %ld)\n"
        "  --crowd N      how many more stand beside, where a case has any (default %ld)\n"
        "  --seconds N    of what is watched for a time (default %d, at most 3600)\n"
        "  --server URL   a database on another server, for bench_many, which needs eight (its\n"
        "                 schema posthorn_bench is dropped!)\n"
        "  --rounds N     the median of so many counts (default %d, at most %d)\n"
        "  --only TEXT    only the cases whose name holds TEXT\n"
        "  --case NAME    only the case of this name\n"
        "  --json         one line of JSON per case\n"
        "  --list         only name the cases, and run none\n",
        program, program, about, bench->messages, bench->crowd, bench->seconds, bench->rounds,
        BENCH_ROUNDS_MAX);
}

static bool take(struct bench *bench, int option)
{
    switch (option) {
    case 'd':
        bench->url = optarg;
        return true;
    case 'm':
        bench->messages = atol(optarg);
        return bench->messages >= 1000;
    case 'w':
        bench->crowd = atol(optarg);
        return bench->crowd >= 0;
    case 's':
        bench->seconds = atoi(optarg);
        return bench->seconds >= 1 && bench->seconds <= 3600;
    case 'S':
        if (bench->server_count == BENCH_SERVERS_MAX)
            return false;
        bench->servers[bench->server_count++] = optarg;
        return true;
    case 'r':
        bench->rounds = atoi(optarg);
        return bench->rounds >= 1 && bench->rounds <= BENCH_ROUNDS_MAX;
    case 'o':
        bench->only = optarg;
        return true;
    case 'c':
        bench->exactly = optarg;
        return true;
    case 'j':
        bench->json = true;
        return true;
    case 'l':
        bench->list = true;
        return true;
    default:
        return false;
    }
}

const struct bench_floor *bench_begin(struct bench *bench, int argc, char **argv, const char *about)
{
    static const struct option options[] = {
        { "db", 1, NULL, 'd' },      { "messages", 1, NULL, 'm' }, { "crowd", 1, NULL, 'w' },
        { "seconds", 1, NULL, 's' }, { "server", 1, NULL, 'S' },   { "rounds", 1, NULL, 'r' },
        { "only", 1, NULL, 'o' },    { "case", 1, NULL, 'c' },     { "json", 0, NULL, 'j' },
        { "list", 0, NULL, 'l' },    { "help", 0, NULL, 'h' },     { NULL, 0, NULL, 0 },
    };
    struct bench defaults = *bench;
    int option;
    bool fit = true;

    while (fit && (option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            usage(argv[0], about, &defaults);
            exit(0);
        }
        fit = take(bench, option);
    }
    if (!fit || optind < argc || !(bench->url || bench->list)) {
        usage(argv[0], about, &defaults);
        exit(2);
    }
    if (!bench->json && !bench->list) {
        printf("%-44s %26s  %26s  %5s\n", "case", "ours (least–most)", "beside it", "ratio");
        fflush(stdout); /* or processes that are forked print it, too */
    }
    return bench->url && strncmp(bench->url, "sqlite:", 7) == 0 ? &bench_floor_sqlite
                                                                : &bench_floor_pg;
}
