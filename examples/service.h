/* service.h - what the workers in this folder share: a dispatcher that runs until it is told to
 * stop. */
#ifndef EXAMPLES_SERVICE_H
#define EXAMPLES_SERVICE_H

#include <posthorn/posthorn.h>

/* Runs the handlers on the messages in an SQLite file until SIGTERM or SIGINT, lets what is running
 * finish, and returns an exit status. */
int serve(const char *file, const ph_dispatcher_opts *opts, const ph_handler *handlers,
          size_t count);

#endif
