/* embedded.h - SQL texts that were made part of the library at build time. */
#ifndef PH_UTIL_EMBEDDED_H
#define PH_UTIL_EMBEDDED_H

/* A table of these ends with a NULL name. */
struct ph__embedded {
    const char *name, *text;
};

#endif
