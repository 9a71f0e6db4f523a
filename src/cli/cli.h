/* cli.h - the frame of the command: tables that describe it, and what verbs share.
 *
 * A verb is one static table (struct cli_command) and one function. The table drives parsing,
 * --help, usage errors, completions, manual pages and the documented fields of --json. A test runs
 * each of its examples.
 *
 * The command knows only the public headers of the library. */
#ifndef POSTHORN_CLI_H
#define POSTHORN_CLI_H

#include "fields.h"

#include <stdarg.h>
#include <stdio.h>

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1, /* failed, or a check is false */
    CLI_USAGE = 2,
    CLI_NO_CONNECTION = 3,
    CLI_NOT_FOUND = 4, /* or empty */
    CLI_TIMED_OUT = 5,
    CLI_INTERRUPTED = 130,
};

/* ------------------------------------------------------------------ the tables */

enum cli_type {
    CLI_SWITCH,   /* no argument */
    CLI_TEXT,     /* any text */
    CLI_FILE,     /* a path (completions offer files) */
    CLI_WORD,     /* one of choices */
    CLI_NUMBER,   /* a whole number from min to max */
    CLI_MS,       /* a duration such as 500ms, 30s, 5m, 2h, 7d; a bare number is seconds; in ms */
    CLI_SECONDS,  /* the same in whole seconds */
    CLI_LIFETIME, /* the same, but with a unit; or "forever" (PH_FOREVER) */
    CLI_TIME,     /* ISO 8601 with zone, "now", "+10m", "@epoch"; ask with cli_time() */
    CLI_ID,       /* a UUID; ask with cli_id() */
    CLI_REST,     /* all that follows, options or not: operands from rest_at on, as after "--" */
};

struct cli_option {
    const char *name; /* without the dashes; NULL ends the table */
    enum cli_type type;
    const char *argument;    /* its name in the help; NULL: CLI_SWITCH */
    const char *help;        /* a sentence without a full stop */
    const char *value;       /* the default, as text; NULL: none */
    const char *environment; /* the variable used if it is not given; NULL: none */
    const char *choices;     /* CLI_WORD: separated by blanks */
    int64_t min, max;        /* of numbers and durations, in the type's unit; both 0: no limits */
    bool repeated;           /* may be given several times */
    char letter;             /* 0: none */
};

/* An entry of such a table; other members (.value, .min, …) may follow the help. */
#define CLI_OPTION(name_, letter_, type_, argument_, ...)                                          \
    {                                                                                              \
        .name = name_, .letter = letter_, .type = CLI_##type_, .argument = argument_,              \
        .help = __VA_ARGS__                                                                        \
    }
#define CLI_FLAG(name_, letter_, ...)                                                              \
    {                                                                                              \
        .name = name_, .letter = letter_, .help = __VA_ARGS__                                      \
    }
#define CLI_OPTIONS(...)                                                                           \
    (const struct cli_option[])                                                                    \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* Which queue: an option of many verbs. */
#define CLI_NAMESPACE_OPTION(text) CLI_OPTION("namespace", 'n', TEXT, "NAME", text)
#define CLI_THE_QUEUE "the queue; if omitted, the default queue, whose name is empty"
#define CLI_ONLY_QUEUE "only this queue ('' is the default queue)"

/* A command line as a user would type it, for a shell. A test runs all examples of a verb in
 * order, in one shell, against a database with the schema in it, and expects exit code 0. */
struct cli_example {
    const char *line; /* NULL ends the table */
    const char *text; /* what it does */
};

#define CLI_EXAMPLES(...)                                                                          \
    (const struct cli_example[])                                                                   \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* What comes before examples that claim and settle. */
#define CLI_EXAMPLE_OWNER                                                                          \
    {                                                                                              \
        "export POSTHORN_OWNER=5e1f1e55-0000-4000-8000-000000000001", "Our owner id"               \
    }

struct cli_exit_note {
    int code;
    const char *text; /* NULL ends the table */
};
#define CLI_EXITS(...)                                                                             \
    (const struct cli_exit_note[])                                                                 \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

enum cli_layout {
    CLI_TABLE,     /* a heading, then a line per row; JSON: an array */
    CLI_CARD,      /* a line per field; JSON: one object */
    CLI_BARE,      /* the first field alone, without a heading; JSON: one object */
    CLI_BARE_MANY, /* the same for many rows; JSON: an array */
};

struct cli;

struct cli_command {
    const char *name;        /* "enqueue", "dead list" */
    const char *summary;     /* one line without a full stop */
    const char *operands;    /* "TOPIC [PAYLOAD|-]", with optional parts in brackets; NULL: none */
    bool checks_operands;    /* the verb itself reports missing operands */
    const char *description; /* paragraphs, each but the last ended by a line feed */
    const struct cli_option *options; /* NULL: none of its own */
    const struct cli_field *fields;   /* NULL: prints no rows */
    const char *columns; /* CLI_TABLE: the fields shown, in order; NULL: all that have a heading */
    enum cli_layout layout;
    const struct cli_example *examples; /* NULL: none */
    const struct cli_exit_note *exits;  /* beyond the general ones; NULL: none */
    bool every_store; /* works on all stores of a set, by cli_each(); otherwise it needs one */
    bool only_reads;  /* changes nothing, so it need not announce the default database */
    bool graceful; /* SIGINT and SIGTERM only make cli_interrupted() true; a second one ends it */
    bool hidden;   /* internal: in no help and no completion */
    int (*run)(struct cli *cli); /* returns an exit code */
    int kind;                    /* tells apart the verbs that share their run() */
};

struct cli_variable {
    const char *name; /* NULL ends the table */
    const char *text;
};

struct cli_group {
    const char *name; /* the page is posthorn-NAME(1); NULL ends the table */
    const char *title;
    const char *summary; /* as in a page's NAME section */
};

extern const struct cli_group cli_groups[];
extern const struct cli_command *const cli_commands[]; /* ended by NULL */
extern const char *const cli_command_groups[];         /* of each of these */
extern const struct cli_option cli_global_options[];
extern const struct cli_exit_note cli_exit_notes[];
extern const struct cli_variable cli_variables[];

/* ------------------------------------------------------------------- the state */

enum cli_format { CLI_TEXT_FORM, CLI_JSON, CLI_JSONL };

/* One option as it was given (or its default). */
struct cli_setting {
    const struct cli_option *option;
    const char *text;
    int64_t number; /* CLI_TIME: microseconds, from now if relative */
    uint8_t id[16];
    bool relative;
    bool given; /* by the user, on the command line or in the environment */
};

struct cli {
    const struct cli_command *command;
    const char *family; /* the first of two words, if the second is missing */
    const char **operands;
    size_t operand_count;
    size_t rest_at; /* the index of the first operand after "--"; operand_count: none */
    struct cli_setting *settings;
    size_t setting_count;

    enum cli_format format;
    bool quiet, yes;
    int timeout_ms;               /* for every call of the library; 0: its default */
    const char *url, *url_source; /* "--db", "POSTHORN_DB", "DATABASE_URL", "from:…", "default" */
    const char *from_error;       /* why a file of from: cannot be used; NULL: it can */
    const char *from_schema, *from_prefix; /* what else the file sets; or NULL */
    const char **named; /* everything named there: URLs, with or without an id; sets */
    size_t named_count;
    const ph_database *database; /* the one in use, if it is of a set; url is its URL then */
    struct cli_stores *stores;   /* NULL: not read yet */
    bool default_told;           /* has noted that the default is used */
    bool looking;                /* reading the sources of a set, whose report has the errors */

    const char *where; /* "line 12", while reading input: errors name it */
    const char *place; /* the current store of a set: rows and messages name it */
    const char *said;  /* the last error */
    ph_store *store;   /* closed by main */
    ph_error err;      /* for every call of the library */
    struct cli_output *output;
    struct cli_progress *progress;
    struct cli_ended *ended;  /* NULL: ended joins are not collected */
    struct cli_block *blocks; /* what cli_alloc() gave; freed by main */
    char *line;               /* of cli_read_line() */
    size_t line_size;
};

/* ---------------------------------------------------------- what the user asked */

/* Every name must be in the command's table (or be global). */
bool cli_given(const struct cli *cli, const char *option);
/* The text, the last one if it was repeated; or the default, or NULL. */
const char *cli_text(const struct cli *cli, const char *option);
/* The number, in the type's unit; 0 without value and default. Switches: how often. */
int64_t cli_number(const struct cli *cli, const char *option);
/* The index of the word in choices; -1: none. */
int cli_word(const struct cli *cli, const char *option);
/* Copies a CLI_ID. false: it was not given, and *ret_id is unchanged. */
bool cli_id(const struct cli *cli, const char *option, uint8_t ret_id[16]);
/* A CLI_TIME in microseconds; 0: not given. "now" and "+10m" count from the database's clock if
 * the store is open, otherwise from this machine's. Returns an exit code. */
int cli_time(struct cli *cli, const char *option, int64_t *ret_time);
int cli_time_of(struct cli *cli, const struct cli_setting *setting, int64_t *ret_time);
/* The texts of a repeated option: writes up to size of them, returns how many there are. */
size_t cli_texts(const struct cli *cli, const char *option, const char **ret_texts, size_t size);

/* Values that are not options: 0, or an exit code after reporting what is wrong. The name of an
 * operand is in capitals. */
int cli_parse_value(struct cli *cli, const struct cli_option *option, const char *text,
                    struct cli_setting *ret_setting);
int cli_parse_id(struct cli *cli, const char *text, uint8_t ret_id[16]);

/* The ids given to a verb: operands ID or ID:FENCE; "-" reads lines from stdin that begin with one
 * or are objects with work_id and fence, as claim, list and others print them. Fails if there are
 * none. */
struct cli_ids {
    ph_lease_ref *refs;
    size_t count;
};
int cli_ids_read(struct cli *cli, struct cli_ids *ret_ids);
/* The same from this operand on; member: the name of the id in objects. */
int cli_ids_read_from(struct cli *cli, size_t first, const char *member, struct cli_ids *ret_ids);

/* ------------------------------------------------------------------ the database */

#define CLI_OPEN_CHECKED 0u /* connects, and the schema must be there */
#define CLI_OPEN_LAZY 1u    /* neither */
#define CLI_OPEN_DEPLOY 2u  /* creates or updates the schema first */

/* Opens cli->store. Returns an exit code, after reporting any error. */
int cli_open(struct cli *cli, unsigned how);

/* A separate store, for another thread say, with the same URL and options. Free it with
 * ph_close(). */
int cli_open_another(struct cli *cli, unsigned how, ph_store **ret_store);

/* Collects the joins that library calls end from now on. Call it before cli_open(). */
void cli_joins_watch(struct cli *cli);
/* Report the joins ended since the last time. tell: notes in the text form, otherwise an array for
 * CLI_ENDED_FIELD, NULL if there are none. note: always notes. */
json_t *cli_joins_tell(struct cli *cli);
void cli_joins_note(struct cli *cli);
extern const struct cli_field cli_ended_fields[];
#define CLI_ENDED_FIELD(row, member, text)                                                         \
    CLI_FIELD(row, "joins_completed", member, ROWS, NULL, text "; absent if there is none",        \
              .fields = cli_ended_fields)

/* The URL without password, for people. */
const char *cli_url_shown(struct cli *cli);
bool cli_url_is_sqlite(struct cli *cli);
/* The options of every store that is opened, with the names of the database in use. */
void cli_store_opts(struct cli *cli, ph_store_opts *ret_opts);

/* A command line for this database ("migrate up"), with the options that name it unless they hold a
 * password. */
const char *cli_command_line(struct cli *cli, const char *command, ...)
    __attribute__((format(printf, 2, 3)));
/* A cure in terms of commands; NULL: use the library's text. door: that of a finding. */
const char *cli_cure(struct cli *cli, ph_cure cure, ph_door door);
/* A library error in these terms. */
const char *cli_error_text(struct cli *cli, const ph_error *err);

/* -------------------------------------------------------------------- many databases */

/* Were databases named as a set: several, one with an id, or a set file? Then rows name their
 * store. False if --store has picked one. */
bool cli_is_set(struct cli *cli);

/* Work for every database that was named. */
struct cli_each {
    unsigned how;     /* each is opened: CLI_OPEN_… */
    bool until_found; /* stop after the first CLI_OK */
    bool again;       /* another round follows, without the stores that fail in this one */
    /* Called with cli->store open. Returns an exit code. CLI_NOT_FOUND: nothing here; CLI_USAGE and
     * CLI_INTERRUPTED end the loop; any other failure, already reported, is that of this store. */
    int (*one)(struct cli *cli, void *context);
    /* Called after a store of a set has failed, with the reason in cli->said. May be NULL. */
    void (*failed)(struct cli *cli, void *context);
    /* Called if a key of a store is left out, with the reason in cli->said. May be NULL. */
    void (*key_left_out)(struct cli *cli, void *context);
    void *context;
    const void *total; /* with a set: the row of totals, printed at the end; NULL: none */
};

/* Does the work in every store, or without a set in the one database. Returns CLI_OK, CLI_NOT_FOUND
 * if no store had anything, or the code of the failures, CLI_FAILED if they differ. Stores left out
 * of the set and sources that cannot be read count as failures. */
int cli_each(struct cli *cli, const struct cli_each *each);
/* For the member failed: a row with the error, as an object or printed. */
json_t *cli_json_failed(struct cli *cli);
void cli_row_failed(struct cli *cli, void *context);
/* Prints the row of totals; the same from an object. */
void cli_row_total(struct cli *cli, const void *row);
void cli_row_total_json(struct cli *cli, json_t *row);
/* Only the members of CLI_TOTAL_FIELDS. Returns true if a store has failed. */
bool cli_json_total(struct cli *cli, json_t *row);

/* The set itself, by CLI_SET_OPTIONS, for a dispatcher that serves all of it; borrowed until the
 * command ends. The check refuses these options for a single database, but for --connections if may_connect.
 * Both return exit codes. */
int cli_set_open(struct cli *cli, ph_set **ret_set);
int cli_set_options_check(struct cli *cli, bool may_connect);
/* Report what cannot be served of the set: as warnings; or as errors, with the exit code. */
void cli_set_warn(struct cli *cli);
int cli_set_fail(struct cli *cli);
#define CLI_SET_OPTIONS(and_without)                                                               \
    CLI_OPTION(                                                                                    \
        "connections", 0, NUMBER, "N",                                                             \
        "with a set: the maximum number of connections, 8 by default; queries in set files "       \
        "take one of them" and_without,                                                            \
        .min = 1, .max = PH_SET_CONNECTIONS_MAX),                                                  \
        CLI_OPTION("refresh", 0, MS, "DURATION", "with a set: how often to reread it",             \
                   .value = "5m", .min = 100, .max = 86400000)

/* The names of the first few stores: "eu, us, …". */
const char *cli_stores_names(struct cli *cli);
/* The stores of the set; borrowed. Returns an exit code. */
int cli_stores_list(struct cli *cli, const ph_databases **ret_list);
/* Rereads the sources of the set. Returns an exit code. */
int cli_stores_refresh(struct cli *cli);

/* Members that the frame adds. */
#define CLI_STORE_FIELD(text) CLI_FIELD_ADDED("store", TEXT, "Store", text "; absent without a set")
#define CLI_ITS_STORE CLI_STORE_FIELD("the store it is in")
#define CLI_STORE_OR_ALL CLI_STORE_FIELD("the store; null: the total of all stores")
#define CLI_ERROR_FIELD                                                                            \
    CLI_FIELD_ADDED("error", TEXT, NULL,                                                           \
                    "with a set: why there is nothing else about this store; absent if there is")
#define CLI_TOTAL_FIELDS                                                                           \
    CLI_FIELD_ADDED("stores", NUMBER, NULL,                                                        \
                    "how many stores the set has, including those left out; only in the total"),   \
        CLI_FIELD_ADDED("failed", NUMBER, NULL,                                                    \
                        "how many of them the total lacks, plus sources of the set that cannot "   \
                        "be read; only in the total")

/* ------------------------------------------------------------------------ output */

/* Another layout than the table's, before the first row. */
void cli_layout_set(struct cli *cli, enum cli_layout layout);
/* Other columns than the table's, before the first row. */
void cli_columns_set(struct cli *cli, const char *columns);
/* Prints a row: a struct that the command's fields describe. */
void cli_row(struct cli *cli, const void *row);
/* The same from an object with these members; takes over the reference. */
void cli_row_json(struct cli *cli, json_t *row);
/* Writes text that is not a row straight to stdout. */
void cli_print(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_write(struct cli *cli, const char *bytes, size_t length);
/* The rows of a field as a table in the middle of other text (text form only). */
void cli_table(struct cli *cli, const struct cli_field *field, const json_t *rows);
/* Flushes what was printed, including rows that wait for alignment; for verbs that run long. */
void cli_flush(struct cli *cli);
/* The errno of a failed write to stdout; 0: none. The end of the command reports it, unless the
 * reader has gone away (EPIPE); loops end early. */
int cli_write_failed(const struct cli *cli);
/* Clears the screen, on a terminal: for --watch. */
void cli_screen_clear(struct cli *cli);
/* Is stdout a terminal? Then texts may be cut and coloured. */
bool cli_on_terminal(const struct cli *cli);

enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_DIM, CLI_RED, CLI_GREEN, CLI_YELLOW };
/* The escape sequences around a text on stdout; "" where there are no colours. */
const char *cli_colour(const struct cli *cli, enum cli_colour colour);

json_t *cli_json_bytes(const char *text, size_t length);
/* What is wrong with a JSON text, and where. jansson's own message would quote the text. */
const char *cli_json_error(struct cli *cli, const json_error_t *error);

/* A text made safe to show: control characters escaped, invalid UTF-8 replaced. From
 * cli_alloc(). */
const char *cli_shown(struct cli *cli, const char *text);
/* The candidate that a typing error may have meant; NULL: none. */
const char *cli_word_near(const char *word, const char *const *candidates, size_t count);
/* Quotes a word for a command line that users may copy. */
const char *cli_quoted(struct cli *cli, const char *text);
/* Monotonic time in microseconds, for waiting and measuring. */
int64_t cli_now_us(void);
/* "1 h 5 min", "320 ms": for messages, not for data. */
#define CLI_DURATION_SIZE 32
const char *cli_duration_text(int64_t ms, char ret_text[CLI_DURATION_SIZE]);
/* "in 3 h", "5 min ago", of a distance from now. */
#define CLI_FROM_NOW_SIZE (CLI_DURATION_SIZE + 8)
const char *cli_from_now_text(int64_t ms, char ret_text[CLI_FROM_NOW_SIZE]);

/* ------------------------------------------------------------------------- words */

/* All go to stderr. --quiet drops notes. */
void cli_note(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_warn(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints "posthorn: cause; cure" and returns the code. */
int cli_fail(struct cli *cli, enum cli_exit code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a usage error, which also names the help. */
int cli_usage(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for cli->err, which a library call has filled. */
int cli_fail_store(struct cli *cli);

/* Asks on a terminal; elsewhere requires --yes. Returns CLI_OK to go on, or an exit code. */
int cli_confirm(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A bar on stderr, only on a terminal and without --quiet. total 0: unknown. One at a time;
 * messages printed meanwhile do not garble it. */
void cli_progress_begin(struct cli *cli, const char *label, int64_t total);
/* The same by time: done and total are milliseconds, shown in seconds. */
void cli_progress_begin_time(struct cli *cli, const char *label, int64_t total_ms);
void cli_progress_at(struct cli *cli, int64_t done, int64_t total);
void cli_progress_end(struct cli *cli);

/* A signal asked us to end (only if the command is graceful). */
bool cli_interrupted(void);

/* ------------------------------------------------------------------------ memory */

/* Zeroed; freed when the command ends. Never NULL: without memory the command ends. */
void *cli_alloc(struct cli *cli, size_t size);
char *cli_strdup(struct cli *cli, const char *text);
/* An array of count items with room for one more: the same, or a copy twice as large. */
void *cli_grown(struct cli *cli, void *items, size_t count, size_t size);
char *cli_printf(struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *cli_vprintf(struct cli *cli, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
/* For memory from elsewhere: ends the command if it is NULL. */
void *cli_need(void *memory);

/* All of stdin, or a line of it (without its end; NULL: no more). The text is followed by a NUL
 * that is not counted, and freed by the next cli_read_line() or the end. More than max bytes are
 * refused. Returns an exit code. */
int cli_read_all(struct cli *cli, size_t max, char **ret_text, size_t *ret_length);
int cli_read_line(struct cli *cli, size_t max, char **ret_text, size_t *ret_length);
/* A line of JSON may be longer than its payload: \u00e9 is two bytes. */
#define CLI_JSON_LINE_MAX ((size_t)3 * PH_PAYLOAD_MAX + 1024 * 1024)

#endif
