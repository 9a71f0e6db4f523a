/* ring.c - what tools/count_calls runs: an idle dispatcher that listens, and another process that
 * rings it with one message at a time. Writes what was entered between the two moments, a call per
 * line: the number of the ring, that of the thread, and the address of the function, or "wake" where
 * the thread called others that wait on a condition, or "begin", once, where it is the handler's.
 *
 * Linked with --wrap for each function that is __wrap_… here. */
#include <posthorn/dispatcher.h>
#include <posthorn/posthorn.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define CALLS_MAX 100000
#define TOPIC "count.calls"
#define SETTLE_DOWN_MS 1500 /* until it has registered, listens, and its looks have become rare */
#define PAUSE_MS 300 /* between two rings: the last message is settled, and all are idle again */
#define WAIT_S 20

enum { IDLE, RINGING, HEARD, BEGUN };

static struct {
    void *function; /* NULL: others were called; &handled: the handler begins */
    int thread;
} calls[CALLS_MAX];
static atomic_size_t call_count;
static atomic_int state, threads;
static sem_t handled;

/* ------------------------------------------------------------------ recording */

int __real_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);
int __real_pthread_cond_signal(pthread_cond_t *condition);
int __real_pthread_cond_broadcast(pthread_cond_t *condition);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms);
int __wrap_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static void note(void *function)
{
    static _Thread_local int thread;
    size_t at;

    if (atomic_load(&state) != HEARD)
        return;
    if (thread == 0)
        thread = atomic_fetch_add(&threads, 1) + 1;
    at = atomic_fetch_add(&call_count, 1);
    if (at < CALLS_MAX) {
        calls[at].function = function;
        calls[at].thread = thread;
    }
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    int count = __real_epoll_wait(fd, events, max, timeout_ms), ringing = RINGING;

    if (count > 0)
        atomic_compare_exchange_strong(&state, &ringing, HEARD);
    return count;
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
    note(NULL);
    return __real_pthread_cond_signal(condition);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
    note(NULL);
    return __real_pthread_cond_broadcast(condition);
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    note(function);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}

static ph_verdict handle(void *context, ph_work *work)
{
    note(&handled);
    atomic_store(&state, BEGUN);
    (void)context;
    (void)work;
    sem_post(&handled);
    return PH_VERDICT_DONE;
}

/* --------------------------------------------------------------------- ringing */

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "count_calls: %s: %s\n", what, why);
    exit(1);
}

static void must(int r, const ph_error *err, const char *what)
{
    if (r < 0)
        fail(what, err->message);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static ph_store *open_store(const char *url)
{
    ph_store_opts opts = PH_STORE_OPTS_INIT;
    ph_store *store = NULL;
    ph_error err;

    opts.deploy_schema = true;
    must(ph_open(url, &opts, &store, &err), &err, "open");
    return store;
}

/* A message for each byte; the first byte only tells that the schema is there. */
static void produce(const char *url, int orders)
{
    ph_message message = PH_MESSAGE_INIT;
    ph_store *store = NULL;
    ph_error err;
    char order;

    message.topic = TOPIC;
    message.payload = "{}";
    while (read(orders, &order, 1) == 1) {
        if (store)
            must(ph_enqueue(store, PH_OWN_TX, &message, 0, NULL, &err), &err, "enqueue");
        else
            store = open_store(url);
    }
    ph_close(store);
}

/* Returns the end of the pipe where orders for the other process go in. */
static int start_producer(const char *url)
{
    int ends[2];
    pid_t pid;

    if (pipe(ends) < 0 || (pid = fork()) < 0)
        fail("producer", "cannot be started");
    if (pid == 0) {
        close(ends[1]);
        produce(url, ends[0]);
        _exit(0);
    }
    close(ends[0]);
    return ends[1];
}

static void order(int orders)
{
    if (write(orders, "", 1) != 1)
        fail("producer", "is gone");
}

static void print_calls(int number)
{
    size_t count = atomic_load(&call_count);

    if (count > CALLS_MAX)
        fail("calls", "too many to write down");
    for (size_t i = 0; i < count; i++) {
        printf("%d %d ", number, calls[i].thread);
        if (!calls[i].function)
            puts("wake");
        else if (calls[i].function != &handled)
            printf("%p\n", calls[i].function);
        else {
            puts("begin");
            return; /* what comes now has only been written down in passing */
        }
    }
}

static void ring(int orders, int number)
{
    struct timespec limit;

    atomic_store(&call_count, 0);
    atomic_store(&state, RINGING);
    order(orders);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += WAIT_S;
    if (sem_timedwait(&handled, &limit) < 0)
        fail("handler", "no message came");
    pause_ms(PAUSE_MS); /* by now also a call that was being written down is there */
    print_calls(number);
}

int main(int argc, char **argv)
{
    ph_handler handler = PH_HANDLER_INIT;
    ph_dispatcher *dispatcher = NULL;
    ph_store *store;
    ph_error err;
    int orders;

    if (argc != 3 || atoi(argv[2]) < 1) {
        fputs("usage: ring URL COUNT\n", stderr);
        return 2;
    }
    orders = start_producer(argv[1]); /* before anything is open here */
    sem_init(&handled, 0, 0);
    handler.topic = TOPIC;
    handler.handle = handle;
    store = open_store(argv[1]);
    must(ph_dispatcher_new(store, NULL, &dispatcher, &err), &err, "dispatcher");
    must(ph_dispatcher_handle(dispatcher, &handler, &err), &err, "handler");
    must(ph_dispatcher_start(dispatcher, &err), &err, "start");
    order(orders);
    pause_ms(SETTLE_DOWN_MS);
    for (int i = 1; i <= atoi(argv[2]); i++)
        ring(orders, i);
    close(orders);
    must(ph_dispatcher_stop(dispatcher, 10000, &err), &err, "stop");
    ph_dispatcher_free(dispatcher);
    ph_close(store);
    return 0;
}
