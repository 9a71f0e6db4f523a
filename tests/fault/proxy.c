#include "proxy.h"

#include "harness.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LINES_MAX 16
#define CROWD 4 /* more than fit into a listener's queue of 0 */

struct proxy { /* shared with the process */
    _Atomic int mode;
    _Atomic int turns, turned; /* how often the mode was set, and how many of these are known */
    _Atomic int calls;
    int port;
};

struct line {
    int client, server; /* 0: none */
};

/* Of the process. */
static struct line lines[LINES_MAX];
static const char *server_address;
static struct sockaddr_in address; /* where we listen */
static int listener = -1, crowd[CROWD];
static bool crowded;

static void hang_up(struct line *line)
{
    close(line->client);
    close(line->server);
    *line = (struct line){ 0 };
}

static int call_server(void)
{
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    struct sockaddr_in far = { .sin_family = AF_INET };
    const char *colon = strrchr(server_address, ':');
    char host[100];
    int fd = socket(*server_address == '/' ? AF_UNIX : AF_INET, SOCK_STREAM, 0), r;

    if (*server_address == '/') {
        snprintf(local.sun_path, sizeof(local.sun_path), "%s", server_address);
        r = connect(fd, (struct sockaddr *)&local, sizeof(local));
    } else {
        snprintf(host, sizeof(host), "%.*s", (int)(colon - server_address), server_address);
        inet_pton(AF_INET, host, &far.sin_addr);
        far.sin_port = htons((uint16_t)atoi(colon + 1));
        r = connect(fd, (struct sockaddr *)&far, sizeof(far));
    }
    if (r == 0)
        return fd;
    close(fd);
    return -1;
}

static void take_call(struct proxy *proxy)
{
    int client = accept(listener, NULL, NULL), server = client < 0 ? -1 : call_server();

    if (server < 0) {
        close(client);
        return;
    }
    atomic_fetch_add(&proxy->calls, 1);
    for (int i = 0; i < LINES_MAX; i++) {
        if (!lines[i].client) {
            lines[i] = (struct line){ client, server };
            return;
        }
    }
    _exit(1);
}

static bool copy(int from, int to)
{
    char bytes[65536];
    ssize_t got = read(from, bytes, sizeof(bytes)), sent = 0;

    while (sent < got) {
        ssize_t step = write(to, bytes + sent, (size_t)(got - sent));

        if (step <= 0)
            return false;
        sent += step;
    }
    return got > 0;
}

/* Is what comes next a simple query that begins with COMMIT? */
static bool is_commit(int client)
{
    char bytes[11] = { 0 };

    return recv(client, bytes, sizeof(bytes), MSG_PEEK) == sizeof(bytes) && bytes[0] == 'Q' &&
           memcmp(bytes + 5, "COMMIT", 6) == 0;
}

/* False: the line is dead. */
static bool from_client(struct proxy *proxy, struct line *line)
{
    int expected = PROXY_CUT_QUESTION;

    if (atomic_compare_exchange_strong(&proxy->mode, &expected, PROXY_PASS))
        return false;
    expected = PROXY_STRAND_COMMIT;
    if (is_commit(line->client) &&
        atomic_compare_exchange_strong(&proxy->mode, &expected, PROXY_PASS)) {
        line->server = dup(line->server); /* stays open until the proxy ends */
        return false;
    }
    return copy(line->client, line->server);
}

static bool from_server(struct proxy *proxy, struct line *line)
{
    int expected = PROXY_CUT_ANSWER;

    if (atomic_compare_exchange_strong(&proxy->mode, &expected, PROXY_PASS))
        return false;
    return copy(line->server, line->client);
}

/* ---------------------------------------------------------------- the listener */

static void listen_with(int backlog)
{
    int on = 1;

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listener, backlog) < 0)
        _exit(1);
}

static void stop_listening(void)
{
    if (listener >= 0)
        close(listener);
    listener = -1;
    for (int i = 0; crowded && i < CROWD; i++)
        close(crowd[i]);
    crowded = false;
}

/* The kernel drops what comes to a listener whose queue is full. */
static void fill_queue(void)
{
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        connect(crowd[i], (struct sockaddr *)&address, sizeof(address));
    }
    crowded = true;
}

static void hang_up_all(void)
{
    for (int i = 0; i < LINES_MAX; i++) {
        if (lines[i].client)
            hang_up(&lines[i]);
    }
}

/* The listener as the mode wants it. */
static void arrange(int mode)
{
    if (mode == PROXY_DROP && !crowded) {
        stop_listening();
        listen_with(0);
        fill_queue();
    } else if (mode == PROXY_REFUSE) {
        stop_listening();
        hang_up_all();
    } else if (mode != PROXY_DROP && (crowded || listener < 0)) {
        stop_listening();
        listen_with(16);
    }
}

/* --------------------------------------------------------------------- the process */

static void pass_on(struct proxy *proxy)
{
    struct pollfd fds[1 + 2 * LINES_MAX] = { { .fd = listener, .events = POLLIN } };

    for (int i = 0; i < LINES_MAX; i++) {
        fds[1 + 2 * i].fd = lines[i].client ? lines[i].client : -1;
        fds[2 + 2 * i].fd = lines[i].client ? lines[i].server : -1;
        fds[1 + 2 * i].events = fds[2 + 2 * i].events = POLLIN;
    }
    poll(fds, 1 + 2 * LINES_MAX, 5);
    if (atomic_load(&proxy->turns) != atomic_load(&proxy->turned))
        return; /* what has come is for the new mode */
    for (int i = 0; i < LINES_MAX; i++) {
        bool alive = true;

        if (fds[1 + 2 * i].revents)
            alive = from_client(proxy, &lines[i]);
        if (alive && fds[2 + 2 * i].revents)
            alive = from_server(proxy, &lines[i]);
        if (!alive)
            hang_up(&lines[i]);
    }
    if (fds[0].revents)
        take_call(proxy);
}

static void serve(struct proxy *proxy)
{
    for (;;) {
        int turns = atomic_load(&proxy->turns), mode = atomic_load(&proxy->mode);
        int cut = PROXY_CUT_NOW;

        arrange(mode);
        if (atomic_compare_exchange_strong(&proxy->mode, &cut, PROXY_PASS))
            hang_up_all();
        atomic_store(&proxy->turned, turns);
        if (mode == PROXY_STALL || mode == PROXY_DROP || mode == PROXY_REFUSE)
            poll(NULL, 0, 5);
        else
            pass_on(proxy);
    }
}

struct proxy *proxy_new(const char *at, int port, const char *server)
{
    socklen_t size = sizeof(address);
    int kept = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    struct proxy *proxy =
        mmap(NULL, sizeof(*proxy), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = getpid(), pid;

    CHECK(proxy != MAP_FAILED && kept >= 0);
    address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    CHECK(inet_pton(AF_INET, at ? at : "127.0.0.1", &address.sin_addr) == 1);
    /* This one never listens: it keeps the port while the proxy refuses calls. */
    CHECK(setsockopt(kept, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
          bind(kept, (struct sockaddr *)&address, size) == 0 &&
          getsockname(kept, (struct sockaddr *)&address, &size) == 0);
    proxy->port = ntohs(address.sin_port);
    server_address = server;
    atomic_store(&proxy->turns, 1);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        if (getppid() == parent)
            serve(proxy);
        _exit(0);
    }
    while (atomic_load(&proxy->turned) == 0)
        t_nap_ms(1);
    return proxy;
}

int proxy_port(const struct proxy *proxy)
{
    return proxy->port;
}

int proxy_calls(const struct proxy *proxy)
{
    return atomic_load(&proxy->calls);
}

void proxy_turn(struct proxy *proxy, enum proxy_mode mode)
{
    int turn;

    atomic_store(&proxy->mode, mode);
    turn = atomic_fetch_add(&proxy->turns, 1) + 1;
    while (atomic_load(&proxy->turned) - turn < 0)
        t_nap_ms(1);
}

static struct proxy *the_one;

int proxy_start(const char *socket_path)
{
    the_one = proxy_new(NULL, 0, socket_path);
    return proxy_port(the_one);
}

void proxy_set(enum proxy_mode mode)
{
    proxy_turn(the_one, mode);
}
