/* arguments.h - what the calls that make_calls.py writes may be given: arguments at random, most of
 * them sane in one call, hardly any in another. Whatever is drawn is freed after the call, and each
 * piece is an allocation of its own, so that AddressSanitizer sees a byte too many. */
#ifndef FUZZ_ARGUMENTS_H
#define FUZZ_ARGUMENTS_H

#include "harness.h"

#include <stdlib.h>

struct fuzz_call {
    const char *name;
    void (*call)(void);
};
extern const struct fuzz_call fuzz_calls[]; /* up to a name that is NULL */

/* Handles that calls have returned, kept for others. */
void fuzz_free(int pool, void *handle);
bool fuzz_is_borrowed(int pool); /* freed at the end only: others may use them */
extern const int fuzz_pool_of_stores;
extern const int fuzz_end[]; /* the order in which these are freed; -1 ends it */
void *look(int pool);        /* one of them, or NULL */
void *take(int pool);        /* the same, and it is no longer there */
void keep(int pool, void *handle);
void forget(int pool, void *handle);

/* A place for a result; NULL now and then. */
void *draw_result(void *place);
void *draw_room_for(size_t count, size_t size);
void *draw_sized(size_t size); /* a struct that begins with its size */
size_t draw_room(size_t *count);
void *draw_bytes(size_t size); /* never NULL */
ph_error *draw_err(void);

unsigned draw(unsigned below);
bool odd(void); /* is it time for something that is not allowed? */
int draw_int(void);
int64_t draw_int64(void);
size_t draw_size(void);
int draw_timeout(void);
int draw_choice(void); /* of an enum */
ph_priority draw_priority(void);
const char *draw_text(const char *name);
const char *const *draw_texts(size_t *ret_count);
size_t draw_length(const char *payload);
size_t draw_struct_size(size_t right, bool wrong);
void *draw_array(size_t element, size_t *ret_count, size_t *ret_filled);
void *draw_memory(size_t size);

ph_store *draw_store(void);
ph_tx draw_tx(void);
ph_handler_fn draw_ph_handler_fn(void);
ph_log_fn draw_ph_log_fn(void);
ph_join_fn draw_ph_join_fn(void);
ph_backoff_fn draw_ph_backoff_fn(void);
ph_discover_fn draw_ph_discover_fn(void);
ph_select_fn draw_ph_select_fn(void);

/* The status of a call is one of ours, and its error says the same. */
void check_status(const char *name, int status, const ph_error *err);
void check_number(const char *name, int number, const ph_error *err);

/* Begins with a store and a seed; makes one call; frees all that is left. */
void fuzz_begin(ph_store *store, struct t_conn *conn, const char *url, uint64_t seed);
void fuzz_one(void);
void fuzz_over(void);

void draw_id(uint8_t id[16]);
#define DRAW_ID(type)                                                                              \
    __attribute__((unused)) static type draw_##type(void)                                          \
    {                                                                                              \
        type id;                                                                                   \
        draw_id(id.b);                                                                             \
        return id;                                                                                 \
    }                                                                                              \
    __attribute__((unused)) static const type *draw_##type##_pointer(void)                         \
    {                                                                                              \
        type *id = draw(4) ? NULL : draw_memory(sizeof(*id));                                      \
        if (id)                                                                                    \
            draw_id(id->b);                                                                        \
        return id;                                                                                 \
    }                                                                                              \
    __attribute__((unused)) static const type *draw_##type##_array(size_t *ret_count)              \
    {                                                                                              \
        size_t filled;                                                                             \
        type *ids = draw_array(sizeof(*ids), ret_count, &filled);                                  \
        for (size_t i = 0; i < filled; i++)                                                        \
            draw_id(ids[i].b);                                                                     \
        return ids;                                                                                \
    }
DRAW_ID(ph_work_id)
DRAW_ID(ph_message_id)
DRAW_ID(ph_tenant_id)
DRAW_ID(ph_owner)
DRAW_ID(ph_join_id)

/* For a struct that draw_TYPE_in() fills. Behind a single one there is room, as if the caller had a
 * newer header. */
#define DRAW_STRUCT(type)                                                                          \
    __attribute__((unused)) static const type *draw_##type##_pointer(void)                         \
    {                                                                                              \
        type *one = odd() ? NULL : draw_memory(sizeof(*one) + 64);                                 \
        if (one)                                                                                   \
            draw_##type##_in(one, odd());                                                          \
        return one;                                                                                \
    }                                                                                              \
    __attribute__((unused)) static const type *draw_##type##_array(size_t *ret_count)              \
    {                                                                                              \
        size_t filled;                                                                             \
        type *all = draw_array(sizeof(*all), ret_count, &filled);                                  \
        for (size_t i = 0; i < filled; i++)                                                        \
            draw_##type##_in(&all[i], i > 0 && odd());                                             \
        return all;                                                                                \
    }

#endif
