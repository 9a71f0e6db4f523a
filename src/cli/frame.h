/* frame.h - what the files of the frame share; verbs need only cli.h. */
#ifndef POSTHORN_CLI_FRAME_H
#define POSTHORN_CLI_FRAME_H

#include "cli.h"

/* Reads the command line into cli. Returns an exit code; CLI_OK with cli->command NULL and
 * *ret_help or *ret_version set: that was asked for instead. */
int cli_parse(struct cli *cli, int argc, char **argv, bool *ret_help, bool *ret_version);

/* The command of these words ("dead", "list"; second may be NULL); NULL: none. */
const struct cli_command *cli_command_find(const char *first, const char *second);
/* Is it the first word of a verb of two? */
bool cli_is_family(const char *first);
/* The verb closest to a word that is none; NULL: none is close. first: the family, or NULL. */
const char *cli_command_near(struct cli *cli, const char *first, const char *word);
/* Reports that there is no such verb; family NULL: the word is the first. Returns an exit code. */
int cli_no_verb(struct cli *cli, const char *family, const char *word);
const char *cli_option_near(const struct cli_command *command, const char *name);

/* The operands as the help shows them; "": none. */
const char *cli_operands(const struct cli_command *command);
/* A sentence that names the columns of its table; NULL: it has no table. */
const char *cli_columns(struct cli *cli, const struct cli_command *command);
/* The next paragraph of a description; NULL: that was all. */
const char *cli_paragraph(struct cli *cli, const char **text);

/* The help of a command, of a family, or (both NULL) of all. */
void cli_help(struct cli *cli, const struct cli_command *command, const char *family);
/* What an option does, with its choices and its default. */
const char *cli_option_help(struct cli *cli, const struct cli_option *option);
/* --version. */
void cli_version(struct cli *cli);

/* Output. close returns the exit code, which is CLI_FAILED instead if stdout could not be
 * written. */
void cli_output_open(struct cli *cli);
int cli_output_close(struct cli *cli, int code);

/* Rows that are printed below each other: see table.c. */
struct cli_grid;
struct cli_grid *cli_grid_new(struct cli *cli, const struct cli_field *fields, const char *columns);
void cli_grid_add(struct cli_grid *grid, const json_t *row);
/* Prints what is left, and frees. */
void cli_grid_end(struct cli_grid *grid);
/* One row as a line per field. */
void cli_card(struct cli *cli, const struct cli_field *fields, const json_t *row);

/* A URL without passwords; the same pointer: there are none. */
const char *cli_url_masked(struct cli *cli, const char *url);
/* "eu=sqlite:eu.db": the length of the id; 0: a URL without one. */
size_t cli_url_id(const char *text);
/* "host=h user=u", as libpq reads it? */
bool cli_url_is_pairs(struct cli *cli, const char *text);
/* "set:PATH": the path; NULL: it is something else. */
const char *cli_url_set_file(const char *url);

/* "from:PATH": the path; NULL: it is something else. */
const char *cli_url_from(const char *url);
/* Reads such a file into cli->named[0], or says in cli->from_error why it cannot be used. */
void cli_from_read(struct cli *cli, const char *path);
/* May the file set this variable? Those of libpq, and HOME, where libpq finds its files. */
bool cli_is_access_variable(const char *name);

/* What the sources of a set name, and which entries are invalid. */
struct cli_flaw {
    struct cli_flaw *next;
    const char *id, *text;
    bool is_key;   /* only a key is left out, not the database */
    size_t others; /* stands for so many more, about which nothing else is known */
    bool said;
};
struct cli_broken {
    struct cli_broken *next;
    const char *source, *error;
};
struct cli_trouble {
    int code;
    const char *said;
};
struct cli_stores {
    ph_set *set;
    ph_databases *list;
    size_t count;
    struct cli_trouble *troubles; /* per database: its failure; then it is not tried again */
    struct cli_flaw *flaws, **last_flaw;
    size_t left_out;                          /* databases among the flaws */
    struct cli_broken *broken, **last_broken; /* sources that could not be read */
    size_t broken_count;
    ph_error err;    /* of the first of these; code 0: there is none */
    int broken_code; /* its exit code, after it was reported */
    size_t failed;   /* in the last round over all: databases, and sources */
};
#define CLI_NAMES_SHOWN 5

/* Makes the set and reads its sources, once. Returns an exit code. */
int cli_stores_prepare(struct cli *cli);
/* Reports the sources that failed, once. Returns the exit code of the first. */
int cli_stores_say_broken(struct cli *cli);
/* Reports what is left out, once, and sets cli->place and cli->said to it. */
void cli_stores_say_flaw(struct cli *cli, struct cli_flaw *flaw);
/* Makes a database of the set the current one. */
void cli_stores_use(struct cli *cli, const ph_database *database);
/* Where the URL of a database of the set was read, for messages. */
const char *cli_stores_source(struct cli *cli, const char *url);

/* Fills cli->named, and cli->url if that is one plain URL. */
void cli_databases_choose(struct cli *cli);
/* Checks the form of a URL. Returns an exit code. */
int cli_url_check(struct cli *cli, const char *url);
/* Makes sure that one database is in use. Returns an exit code. */
int cli_stores_pick(struct cli *cli);
void cli_stores_free(struct cli *cli);
/* The columns, with that of the store if there is a set. */
const char *cli_stores_columns(struct cli *cli, const char *columns);

/* As cli_shown(), but to be freed by the caller. */
char *cli_escaped(const char *text);
/* The columns of a terminal that a text takes; the length of its longest part that fits width. */
size_t cli_text_width(const char *text);
size_t cli_text_fit(const char *text, size_t width);
/* Writes a text wrapped, with every line but the first behind indent blanks. */
void cli_wrap(struct cli *cli, const char *text, int indent);

/* Columns of the terminal on a file descriptor. */
int cli_terminal_width(int fd);

/* Hides the progress bar before messages are printed. */
void cli_progress_hide(struct cli *cli);

/* Handles signals as the command wants them. */
void cli_signals(const struct cli_command *command);

/* Sets the store's callback for ended joins, if they are collected. */
void cli_joins_hook(struct cli *cli, ph_store_opts *opts);
void cli_joins_free(struct cli *cli);

void cli_free(struct cli *cli);

#endif
