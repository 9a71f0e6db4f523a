/* proxy.h - a process between the library and the server that cuts the line when told to. */
#ifndef FAULT_PROXY_H
#define FAULT_PROXY_H

enum proxy_mode {
    PROXY_PASS,         /* everything */
    PROXY_CUT_QUESTION, /* the next bytes from the client do not reach the server */
    PROXY_CUT_ANSWER,   /* they do, and the server answers, but that does not reach the client */
    PROXY_CUT_NOW,      /* all lines at once */
    PROXY_STALL,        /* nothing is passed on, and nothing is said; until another mode is set */
    PROXY_STRAND_COMMIT /* the next COMMIT does not reach the server, which goes on waiting for it */
};

/* Starts it before the server's socket (…/.s.PGSQL.PORT) and returns the TCP port on 127.0.0.1. It
 * goes down with the test. */
int proxy_start(const char *socket_path);
/* After a cut the mode is PROXY_PASS again, for the next connection. */
void proxy_set(enum proxy_mode mode);

#endif
