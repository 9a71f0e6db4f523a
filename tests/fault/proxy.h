/* proxy.h - processes between the library and servers that cut the line when told to, and that can
 * be hosts that hang, drop what is sent to them, refuse, and come back. */
#ifndef FAULT_PROXY_H
#define FAULT_PROXY_H

enum proxy_mode {
    PROXY_PASS,          /* everything */
    PROXY_CUT_QUESTION,  /* the next bytes from the client do not reach the server */
    PROXY_CUT_ANSWER,    /* they do, and the server answers, but that does not reach the client */
    PROXY_CUT_NOW,       /* all lines at once */
    PROXY_STALL,         /* hangs: calls are taken, nothing is passed on, and nothing is said */
    PROXY_STRAND_COMMIT, /* the next COMMIT does not reach the server, which waits for it */
    PROXY_DROP,          /* as if packets were lost: calls are not even taken */
    PROXY_REFUSE         /* nobody is there: all lines are cut, and calls refused */
};
/* After a cut the mode is PROXY_PASS again, for the next connection; others stay until another is
 * set. */

struct proxy;

/* Starts one before a server: its socket (…/.s.PGSQL.PORT), or ADDRESS:PORT. It listens at the
 * address (NULL: 127.0.0.1) and TCP port (0: any), and goes down with the test. */
struct proxy *proxy_new(const char *address, int port, const char *server);
int proxy_port(const struct proxy *proxy);
/* How many calls it has taken; those that wait because it hangs are not counted. */
int proxy_calls(const struct proxy *proxy);
/* Returns when it is so. */
void proxy_turn(struct proxy *proxy, enum proxy_mode mode);

/* For tests with one: starts it and returns its port; sets its mode. */
int proxy_start(const char *socket_path);
void proxy_set(enum proxy_mode mode);

#endif
