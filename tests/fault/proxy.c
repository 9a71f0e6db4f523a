#include "proxy.h"

#include "harness.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LINES_MAX 16

struct line {
    int client, server; /* 0: none */
};

static _Atomic int *mode; /* shared with the process */
static struct line lines[LINES_MAX];
static const char *server_path;

static void hang_up(struct line *line)
{
    close(line->client);
    close(line->server);
    *line = (struct line){ 0 };
}

static void take_call(int listener)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int client = accept(listener, NULL, NULL);
    int server = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", server_path);
    if (client < 0 || server < 0 ||
        connect(server, (struct sockaddr *)&address, sizeof(address)) < 0) {
        close(client);
        close(server);
        return;
    }
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
static bool from_client(struct line *line)
{
    int expected = PROXY_CUT_QUESTION;

    if (atomic_compare_exchange_strong(mode, &expected, PROXY_PASS))
        return false;
    expected = PROXY_STRAND_COMMIT;
    if (is_commit(line->client) && atomic_compare_exchange_strong(mode, &expected, PROXY_PASS)) {
        line->server = dup(line->server); /* stays open until the proxy ends */
        return false;
    }
    return copy(line->client, line->server);
}

static bool from_server(struct line *line)
{
    int expected = PROXY_CUT_ANSWER;

    if (atomic_compare_exchange_strong(mode, &expected, PROXY_PASS))
        return false;
    return copy(line->server, line->client);
}

static void serve(int listener)
{
    for (;;) {
        struct pollfd fds[1 + 2 * LINES_MAX] = { { .fd = listener, .events = POLLIN } };
        int expected = PROXY_CUT_NOW;

        for (int i = 0; i < LINES_MAX; i++) {
            fds[1 + 2 * i].fd = lines[i].client ? lines[i].client : -1;
            fds[2 + 2 * i].fd = lines[i].client ? lines[i].server : -1;
            fds[1 + 2 * i].events = fds[2 + 2 * i].events = POLLIN;
        }
        if (atomic_load(mode) == PROXY_STALL) {
            poll(NULL, 0, 5);
            continue;
        }
        poll(fds, 1 + 2 * LINES_MAX, 20);
        if (atomic_compare_exchange_strong(mode, &expected, PROXY_PASS)) {
            for (int i = 0; i < LINES_MAX; i++) {
                if (lines[i].client)
                    hang_up(&lines[i]);
            }
            continue;
        }
        for (int i = 0; i < LINES_MAX; i++) {
            bool alive = true;

            if (fds[1 + 2 * i].revents)
                alive = from_client(&lines[i]);
            if (alive && fds[2 + 2 * i].revents)
                alive = from_server(&lines[i]);
            if (!alive)
                hang_up(&lines[i]);
        }
        if (fds[0].revents)
            take_call(listener);
    }
}

int proxy_start(const char *socket_path)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pid_t parent = getpid(), pid;

    mode = mmap(NULL, sizeof(*mode), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(mode != MAP_FAILED && listener >= 0);
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 16) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    server_path = socket_path;
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        if (getppid() == parent)
            serve(listener);
        _exit(0);
    }
    close(listener);
    return ntohs(address.sin_port);
}

void proxy_set(enum proxy_mode to)
{
    atomic_store(mode, to);
}
