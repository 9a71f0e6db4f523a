/* common.c - what every benchmark needs: time, processes, medians, the report. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void bench_must(int r, const ph_error *err, const char *what)
{
    if (r < 0)
        bench_die(what, err->message);
}

void bench_die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

double bench_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double bench_in_parallel(int count, void (*work)(const void *context, int index),
                         const void *context)
{
    double start = bench_now();
    int status;

    for (int i = 0; i < count; i++) {
        pid_t pid = fork();

        if (pid < 0)
            bench_die("fork", "failed");
        if (pid == 0) {
            work(context, i);
            _exit(0);
        }
    }
    for (int i = 0; i < count; i++) {
        if (wait(&status) < 0 || status != 0)
            bench_die("worker", "failed");
    }
    return bench_now() - start;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), by_value);
    return values[count / 2];
}

/* As many digits as the number deserves. */
static const char *shown(char *room, size_t size, const char *unit, double middle, double least,
                         double most)
{
    int digits = middle < 10 ? 3 : middle < 1000 ? 1 : 0;

    snprintf(room, size, "%.*f%s (%.*f–%.*f)", digits, middle, unit, digits, least, digits, most);
    return room;
}

void bench_report(const struct bench *bench, const char *name, const char *unit, double *ours,
                  double *base)
{
    int last = bench->rounds - 1;
    double mine = bench_median(ours, bench->rounds), other = bench_median(base, bench->rounds);
    double ratio = other > 0 ? mine / other : 0;
    char room[2][80];

    if (bench->json)
        printf("{\"case\":\"%s\",\"unit\":\"%s\",\"ours\":%.4f,\"ours_min\":%.4f,"
               "\"ours_max\":%.4f,\"base\":%.4f,\"base_min\":%.4f,\"base_max\":%.4f,"
               "\"ratio\":%.4f}\n",
               name, unit, mine, ours[0], ours[last], other, base[0], base[last], ratio);
    else
        printf("%-44s %26s  %26s  %5.2f\n", name,
               shown(room[0], sizeof(room[0]), unit, mine, ours[0], ours[last]),
               shown(room[1], sizeof(room[1]), unit, other, base[0], base[last]), ratio);
    fflush(stdout);
}

bool bench_wanted(const struct bench *bench, const char *name)
{
    bool wanted = (!bench->only || strstr(name, bench->only)) &&
                  (!bench->exactly || strcmp(name, bench->exactly) == 0);

    if (wanted && bench->list)
        puts(name);
    return wanted && !bench->list;
}

void bench_compare(const struct bench *bench, const char *name, const char *unit,
                   double (*measure)(const void *context, bool ours), const void *context)
{
    double ours[BENCH_ROUNDS_MAX], base[BENCH_ROUNDS_MAX];

    if (!bench_wanted(bench, name))
        return;
    for (int i = 0; i < bench->rounds; i++) {
        bool ours_first = i % 2; /* who comes second finds a machine that has just worked */

        (ours_first ? ours : base)[i] = measure(context, ours_first);
        (ours_first ? base : ours)[i] = measure(context, !ours_first);
    }
    bench_report(bench, name, unit, ours, base);
}
