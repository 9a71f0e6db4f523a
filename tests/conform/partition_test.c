/* partition_test.c - "A stream's partition is the number in the first 15 hex digits of SHA-256 of its
 * key, modulo partition_count" (coordination.h), the same on every backend: against the vectors in
 * tests/partitions.tsv, which another tool has made. */
#include "lanes.h"

#include <stdlib.h>

#define VECTORS_MAX 100
#define COUNTS 5

static const int counts[COUNTS] = { 10000, 16, 1, 7, 1000000 };

struct vector {
    char key[1100];
    long long hash;
    int partition[COUNTS];
};

static struct vector vectors[VECTORS_MAX];
static size_t vector_count;

/* \t, \n and \\ in place. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        if (*from == '\\') {
            from++;
            *to++ = (char)(*from == 't' ? '\t' : *from == 'n' ? '\n' : *from);
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static void read_vectors(void)
{
    FILE *file = fopen(SOURCE_DIR "/../partitions.tsv", "r");
    char line[2000];

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file)) {
        struct vector *v = &vectors[vector_count];
        char *rest = line, *key;

        if (line[0] == '#' && line[1] == ' ')
            continue;
        CHECK(vector_count < VECTORS_MAX);
        key = strsep(&rest, "\t");
        snprintf(v->key, sizeof(v->key), "%s", key);
        unescape(v->key);
        v->hash = strtoll(strsep(&rest, "\t"), NULL, 10);
        for (int i = 0; i < COUNTS; i++)
            v->partition[i] = atoi(strsep(&rest, "\t"));
        vector_count++;
    }
    fclose(file);
    CHECK(vector_count >= 60);
}

TEST(the_partition_of_a_key_is_as_frozen)
{
    read_vectors();
    for (size_t i = 0; i < vector_count; i++) {
        for (int n = 0; n < COUNTS; n++) {
            if (ph_stream_partition(vectors[i].key, counts[n]) != vectors[i].partition[n])
                printf("key \"%s\" of %d\n", vectors[i].key, counts[n]);
            REQ_INT("STR-013", ph_stream_partition(vectors[i].key, counts[n]),
                    vectors[i].partition[n]);
        }
        REQ_INT("STR-013", ph_stream_partition(vectors[i].key, 0), vectors[i].partition[0]);
    }
}

/* What a backend stores with the stream, and what it answers for a number of partitions. */
TEST(every_backend_stores_and_shows_the_same_partition)
{
    ph_store *store = t_open(NULL);
    struct t_conn *conn = t_connect();
    ph_stream_list_opts opts = PH_STREAM_LIST_OPTS_INIT;

    read_vectors();
    for (size_t i = 0; i < vector_count; i++) {
        ph_message m = in_stream(vectors[i].key, "x");

        put(store, &m);
    }
    CHECK_INT(t_number(conn, "SELECT count(*) FROM {t}stream"), vector_count);
    for (int n = 0; n < COUNTS; n++) {
        ph_streams *list = NULL;

        opts.partition_count = n == 0 ? 0 : counts[n];
        opts.limit = VECTORS_MAX;
        OK(ph_stream_list(store, PH_OWN_TX, &opts, 0, &list, &t_err));
        CHECK_INT(ph_streams_count(list), vector_count);
        for (size_t i = 0; i < vector_count; i++) {
            const ph_stream_info *info = ph_streams_at(list, i);
            size_t v = 0;

            while (strcmp(vectors[v].key, info->stream) != 0)
                CHECK(++v < vector_count);
            REQ_INT("STR-013", info->partition, vectors[v].partition[n]);
        }
        ph_streams_free(list);
    }
    for (size_t i = 0; i < vector_count; i++) {
        char sql[100];

        snprintf(sql, sizeof(sql), "SELECT count(*) FROM {t}stream WHERE hash = %lld",
                 vectors[i].hash);
        REQ_INT("STR-013", t_number(conn, sql), 1);
    }
}

/* "-1: not a key." */
TEST(what_is_not_a_key_has_no_partition)
{
    CHECK_INT(ph_stream_partition(NULL, 0), -1);
    CHECK_INT(ph_stream_partition("", 0), -1);
    CHECK_INT(ph_stream_partition("\xff", 0), -1);
    CHECK_INT(ph_stream_partition(repeated("x", PH_NAME_MAX + 1), 0), -1);
    CHECK_INT(ph_stream_partition("a", -1), -1);
    CHECK_INT(ph_stream_partition("a", PH_PARTITIONS_MAX + 1), -1);
    CHECK(ph_stream_partition(repeated("x", PH_NAME_MAX), 0) >= 0);
    CHECK(ph_stream_partition("a", PH_PARTITIONS_MAX) >= 0);
}
