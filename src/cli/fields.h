/* fields.h - one table per kind of row.
 *
 * It gives the name, the meaning and the form of each field, and its place in the struct of the
 * row. JSON, tables, cards, help and manual are made from it. Nothing here prints. */
#ifndef POSTHORN_CLI_FIELDS_H
#define POSTHORN_CLI_FIELDS_H

#include <jansson.h>
#include <posthorn/posthorn.h>
#include <stddef.h>

enum cli_field_type {
    CLI_F_TEXT,
    CLI_F_NUMBER, /* right-aligned */
    CLI_F_BOOL,
    CLI_F_TIME,     /* microseconds; 0: null */
    CLI_F_LIFETIME, /* seconds, negative: null, for ever; as text "7 d" or "forever" */
    CLI_F_FROM_NOW, /* seconds; as text "in 3 h" or "5 min ago" */
    CLI_F_AGO,      /* the same for past times, and not negative */
    CLI_F_UUID,     /* zero: null */
    CLI_F_STATE,    /* a word that has a colour */
    CLI_F_JSON,     /* any JSON value; a text that holds one */
    CLI_F_ROWS,     /* an array of objects, described by fields */
};

/* Their types in JSON: "string", "time", … */
extern const char *const cli_field_types[];

/* A member of objects in JSON, and a column (or line) of the text form. */
struct cli_field {
    const char *name; /* NULL ends the table */
    enum cli_field_type type;
    const char *heading; /* in the text form (tables: in capitals); NULL: only in JSON */
    const char *help;
    enum cli_stored {
        CLI_NOT_STORED, /* the frame adds it, or text() makes it */
        CLI_STORED_TEXT,
        CLI_STORED_BOOL,
        CLI_STORED_INT, /* or an enum */
        CLI_STORED_INT64,
        CLI_STORED_SIZE,
        CLI_STORED_ID,
        CLI_STORED_TENANT, /* a pointer to an id */
        CLI_STORED_JSON,   /* a json_t, whose reference goes on to the object */
        CLI_STORED_ROWS,   /* a pointer to the first of them */
    } stored;
    size_t offset;                        /* in the struct of the row */
    bool or_null;                         /* a number: 0 is null */
    bool or_none;                         /* the member is absent where null would stand */
    const char *const *words;             /* of an int: the words, by its value */
    const char *(*word_of)(int value);    /* of an int: returns its word */
    const char *(*text)(const void *row); /* of a field that is not stored */
    const struct cli_field *fields;       /* CLI_F_ROWS: of each of them, … */
    size_t size, count_at; /* … its size, and where their number stands; 0: the last
                                           * of them is followed by one that is all zero */
    const char *columns;   /* … the columns of their table; NULL: all with a heading */
};

/* A number that is null. */
#define CLI_NO_NUMBER INT64_MIN

/* clang-format off */
#define CLI_STORED_AS(row, member)                                                                 \
    _Generic(((row *)0)->member,                                                                   \
        const char *: CLI_STORED_TEXT, bool: CLI_STORED_BOOL,                                      \
        int: CLI_STORED_INT, unsigned: CLI_STORED_INT, int64_t: CLI_STORED_INT64,                  \
        size_t: CLI_STORED_SIZE, const ph_tenant_id *: CLI_STORED_TENANT,                          \
        ph_work_id: CLI_STORED_ID, ph_message_id: CLI_STORED_ID, ph_owner: CLI_STORED_ID,          \
        ph_join_id: CLI_STORED_ID, json_t *: CLI_STORED_JSON)
/* clang-format on */

/* An entry of a table: the struct of its rows, the name in JSON, the member, the type, the heading
 * and the help, which others (.or_null, …) may follow. */
#define CLI_FIELD(row_, name_, member_, type_, heading_, ...)                                      \
    {                                                                                              \
        .name = name_, .type = CLI_F_##type_, .heading = heading_,                                 \
        .stored = CLI_STORED_AS(row_, member_), .offset = offsetof(row_, member_),                 \
        .help = __VA_ARGS__                                                                        \
    }
/* Rows in rows: an array with its length. */
#define CLI_FIELD_ROWS(row_, name_, member_, count_, fields_, heading_, ...)                       \
    {                                                                                              \
        .name = name_, .type = CLI_F_ROWS, .heading = heading_, .stored = CLI_STORED_ROWS,         \
        .offset = offsetof(row_, member_), .count_at = offsetof(row_, count_),                     \
        .size = sizeof(*((row_ *)0)->member_), .fields = fields_, .help = __VA_ARGS__              \
    }
/* … or a table of ours, which ends with one that is all zero. */
#define CLI_FIELD_TABLE(row_, name_, member_, fields_)                                             \
    {                                                                                              \
        .name = name_, .type = CLI_F_ROWS, .stored = CLI_STORED_ROWS,                              \
        .offset = offsetof(row_, member_), .size = sizeof(*((row_ *)0)->member_),                  \
        .fields = fields_, .help = ""                                                              \
    }
/* A text made from the whole row; with text NULL, what the frame adds to it. */
#define CLI_FIELD_TEXT(name_, text_, type_, heading_, ...)                                         \
    {                                                                                              \
        .name = name_, .type = CLI_F_##type_, .heading = heading_, .text = text_,                  \
        .help = __VA_ARGS__                                                                        \
    }
#define CLI_FIELD_ADDED(name_, type_, heading_, ...)                                               \
    CLI_FIELD_TEXT(name_, NULL, type_, heading_, __VA_ARGS__)

/* A row as an object. Several, each of so many bytes, as an array. */
json_t *cli_object(const struct cli_field *fields, const void *row);
json_t *cli_array(const struct cli_field *fields, const void *rows, size_t count, size_t size);
void cli_array_add(json_t *array, const struct cli_field *fields, const void *row);
/* Adds a member; takes over the reference. */
void cli_set(json_t *object, const char *name, json_t *value);

/* JSON values from the library's; never NULL unless memory is out. */
json_t *cli_json_text(const char *text);   /* NULL: null; invalid UTF-8 is replaced */
json_t *cli_json_time(int64_t time);       /* 0: null */
json_t *cli_json_id(const uint8_t id[16]); /* zero: null */
json_t *cli_json_parsed(const char *json); /* a JSON text; NULL: null */

#endif
