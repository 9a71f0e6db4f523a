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

bool bench_option(struct bench *bench, int option)
{
    switch (option) {
    case 'd':
        bench->url = optarg;
        return true;
    case 'm':
        bench->messages = atol(optarg);
        return true;
    case 'r':
        bench->rounds = atoi(optarg);
        return true;
    case 'o':
        bench->only = optarg;
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

bool bench_is_fit(const struct bench *bench)
{
    return (bench->url || bench->list) && bench->messages >= 1000 && bench->rounds >= 1 &&
           bench->rounds <= BENCH_ROUNDS_MAX;
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

void bench_report(const struct bench *bench, const char *name, double rate, double base, double aim)
{
    if (bench->json)
        printf("{\"case\":\"%s\",\"rate\":%.0f,\"base\":%.0f,\"ratio\":%.3f,\"aim\":%.2f}\n", name,
               rate, base, rate / base, aim);
    else
        printf("%-44s %9.0f/s  %9.0f/s  %5.2f  (aim %.2f)\n", name, rate, base, rate / base, aim);
    fflush(stdout);
}

bool bench_wanted(const struct bench *bench, const char *name)
{
    bool wanted = !bench->only || strstr(name, bench->only);

    if (wanted && bench->list)
        puts(name);
    return wanted && !bench->list;
}
