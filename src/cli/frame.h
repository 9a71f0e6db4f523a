/* frame.h - what the files of the frame tell each other; verbs need only cli.h. */
#ifndef POSTHORN_CLI_FRAME_H
#define POSTHORN_CLI_FRAME_H

#include "cli.h"

/* Reads the command line into cli. Returns an exit code; CLI_OK with cli->command NULL and
 * *ret_help or *ret_version set: that was asked for instead. */
int cli_parse(struct cli *cli, int argc, char **argv, bool *ret_help, bool *ret_version);

/* The command of these words ("dead", "list"; second may be NULL); NULL: none. */
const struct cli_command *cli_command_find(const char *first, const char *second);
/* Is it the first of two words? */
bool cli_is_family(const char *first);
/* What comes closest to a word that is none; NULL: nothing does. first: the family, or NULL. */
const char *cli_command_near(struct cli *cli, const char *first, const char *word);
/* Says that there is no such verb; family NULL: the word is the first. Returns an exit code. */
int cli_no_verb(struct cli *cli, const char *family, const char *word);
const char *cli_option_near(const struct cli_command *command, const char *name);

/* The operands as the help shows them; "": none. */
const char *cli_operands(const struct cli_command *command);
/* A sentence that names the columns of its table; NULL: it prints none. */
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
/* "eu=sqlite:eu.db": how many bytes the id has; 0: it is a URL alone. */
size_t cli_url_id(const char *text);
/* "host=h user=u", as libpq reads it? */
bool cli_url_is_pairs(struct cli *cli, const char *text);
/* "set:PATH": the path; NULL: it is something else. */
const char *cli_url_set_file(const char *url);

/* "from:PATH": the path; NULL: it is something else. */
const char *cli_url_from(const char *url);
/* Reads such a file: cli->named[0] is what it names then, or cli->from_error says why not. */
void cli_from_read(struct cli *cli, const char *path);
/* May the file set this variable? Those of libpq, and where it finds its files. */
bool cli_is_access_variable(const char *name);

/* What the sources of a set have named, and what of it makes no sense. */
struct cli_flaw {
    struct cli_flaw *next;
    const char *id, *text;
    bool is_key;   /* only a key is left out; the database is there */
    size_t others; /* it stands for so many more, of which nothing else is known */
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
    struct cli_broken *broken, **last_broken; /* sources that could not be asked */
    size_t broken_count;
    ph_error err;    /* of the first of these; code 0: there is none */
    int broken_code; /* what its exit code is, once that was said */
    size_t failed;   /* in the last round over all: databases, and sources */
};
#define CLI_NAMES_SHOWN 5

/* Makes the set and asks its sources, once. Returns an exit code. */
int cli_stores_prepare(struct cli *cli);
/* Says which sources have failed, unless that was said. Returns the exit code of the first. */
int cli_stores_say_broken(struct cli *cli);
/* Says what is left out, unless that was said; cli->place and cli->said are its then. */
void cli_stores_say_flaw(struct cli *cli, struct cli_flaw *flaw);
/* Takes a database of the set into use. */
void cli_stores_use(struct cli *cli, const ph_database *database);
/* Where the URL of a database of the set was read, for people. */
const char *cli_stores_source(struct cli *cli, const char *url);

/* Finds out what was named: cli->named, or cli->url if that is one plain URL. */
void cli_databases_choose(struct cli *cli);
/* Is the URL one that can be opened, as far as it shows? Returns an exit code. */
int cli_url_check(struct cli *cli, const char *url);
/* Makes sure that one database is in use. Returns an exit code. */
int cli_stores_pick(struct cli *cli);
void cli_stores_free(struct cli *cli);
/* The columns of rows that say of which store they are. */
const char *cli_stores_columns(struct cli *cli, const char *columns);

/* As cli_shown(), but to be freed by the caller. */
char *cli_escaped(const char *text);
/* How many columns of a terminal a text takes; the longest part of it that takes at most width. */
size_t cli_text_width(const char *text);
size_t cli_text_fit(const char *text, size_t width);
/* Writes a text wrapped at 79 columns, each line after indent blanks. first: the first line's
 * place is taken already up to there. */
void cli_wrap(struct cli *cli, const char *text, int indent);

/* Columns of the terminal on a file descriptor. */
int cli_terminal_width(int fd);

/* Puts a progress bar out of the way before words are printed. */
void cli_progress_hide(struct cli *cli);

/* Signals of this process, by the manners of the command. */
void cli_signals(const struct cli_command *command);

/* The store's callback for joins that end, if somebody watches; and what it has kept. */
void cli_joins_hook(struct cli *cli, ph_store_opts *opts);
void cli_joins_free(struct cli *cli);

void cli_free(struct cli *cli);

#endif
