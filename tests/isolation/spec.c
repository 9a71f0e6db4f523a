/* spec.c - the parser of spec files. */
#include "spec.h"

#include "harness.h"

#include <stdarg.h>
#include <stdlib.h>

struct parser {
    struct iso_spec *spec;
    char *at;
    int line;
    char pending; /* the delimiter that ended the last word, still to be read; 0: none */
};

static void __attribute__((format(printf, 3, 4), noreturn))
mistake(const struct iso_spec *spec, int line, const char *format, ...)
{
    char text[200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    t_check(spec->path, line, NULL, text, false);
    abort();
}

/* ------------------------------------------------------------------- tokens
 * A word, or one of the delimiters { } ; and new line; 0 at the end. A word
 * is ended in place, so its delimiter has to be kept aside. */

static char delimiter(struct parser *p)
{
    char c;

    if (p->pending) {
        c = p->pending;
        p->pending = 0;
        return c;
    }
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')
        p->at++;
    if (*p->at == '#')
        p->at += strcspn(p->at, "\n");
    c = *p->at;
    if (!c || !strchr("{};\n", c))
        return 'w';
    p->at++;
    return c;
}

/* Fills *ret_word for a word; returns 'w', a delimiter, or 0 at the end. */
static char next(struct parser *p, char **ret_word)
{
    char c = delimiter(p);

    if (c == '\n')
        p->line++;
    if (c != 'w')
        return c;
    if (!*p->at)
        return 0;
    *ret_word = p->at;
    p->at += strcspn(p->at, " \t\r\n{};#");
    c = *p->at;
    if (c && strchr("{};\n", c))
        p->pending = c;
    if (c == '#') {
        *p->at++ = 0;
        p->at += strcspn(p->at, "\n");
    } else if (c) {
        *p->at++ = 0;
    }
    return 'w';
}

static char next_visible(struct parser *p, char **ret_word)
{
    char c;

    do
        c = next(p, ret_word);
    while (c == '\n');
    return c;
}

static char *word(struct parser *p, const char *what)
{
    char *text = NULL;

    if (next_visible(p, &text) != 'w')
        mistake(p->spec, p->line, "%s is missing", what);
    return text;
}

static void open_brace(struct parser *p)
{
    char *ignored;

    if (next_visible(p, &ignored) != '{')
        mistake(p->spec, p->line, "expected {");
}

static void add_word(struct parser *p, struct iso_command *command, char *text)
{
    if (command->count == ISO_WORDS_MAX)
        mistake(p->spec, p->line, "more than %d words", ISO_WORDS_MAX);
    if (command->count == 0)
        command->line = p->line;
    command->words[command->count++] = text;
}

/* Reads words until the delimiter that ends the command, and returns that. */
static char command_read(struct parser *p, struct iso_command *command, bool whole_line)
{
    char *text = NULL;
    char c;

    command->count = 0;
    while ((c = whole_line ? next(p, &text) : next_visible(p, &text)) == 'w')
        add_word(p, command, text);
    return c;
}

/* Reads { command; command … } into commands, returns how many. */
static size_t block_read(struct parser *p, struct iso_command *commands, size_t max)
{
    size_t count = 0;
    char c;

    open_brace(p);
    do {
        struct iso_command command;

        c = command_read(p, &command, false);
        if (c != ';' && c != '}')
            mistake(p->spec, p->line, "expected ; or }");
        if (command.count == 0)
            continue;
        if (count == max)
            mistake(p->spec, p->line, "more than %zu commands", max);
        commands[count++] = command;
    } while (c != '}');
    return count;
}

/* --------------------------------------------------------------- directives */

static void session_read(struct parser *p)
{
    struct iso_spec *spec = p->spec;
    struct iso_session *session = &spec->sessions[spec->session_count];
    char *text = NULL;
    char c;

    if (spec->session_count == ISO_SESSIONS_MAX)
        mistake(spec, p->line, "more than %d sessions", ISO_SESSIONS_MAX);
    session->name = word(p, "the session's name");
    open_brace(p);
    while ((c = next_visible(p, &text)) == 'w') {
        struct iso_step *step = &spec->steps[spec->step_count];

        if (strcmp(text, "step") != 0)
            mistake(spec, p->line, "expected step, not %s", text);
        if (spec->step_count == ISO_STEPS_MAX)
            mistake(spec, p->line, "more than %d steps", ISO_STEPS_MAX);
        step->line = p->line;
        step->name = word(p, "the step's name");
        if (iso_spec_step(spec, step->name) >= 0)
            mistake(spec, p->line, "a second step %s", step->name);
        step->session = spec->session_count;
        step->command_count = block_read(p, step->commands, ISO_COMMANDS_MAX);
        session->steps[session->step_count++] = spec->step_count++;
    }
    if (c != '}' || session->step_count == 0)
        mistake(spec, p->line, "session %s: expected steps and }", session->name);
    spec->session_count++;
}

static void check_add(struct parser *p, const struct iso_command *when,
                      const struct iso_command *what)
{
    if (p->spec->check_count == ISO_CHECKS_MAX)
        mistake(p->spec, p->line, "more than %d assertions", ISO_CHECKS_MAX);
    p->spec->checks[p->spec->check_count++] = (struct iso_check){ *when, *what };
}

/* Reads assertions up to the closing brace; a "when" has a block of its own. */
static void checks_read(struct parser *p, const struct iso_command *when)
{
    char c;

    do {
        struct iso_command command;

        c = command_read(p, &command, false);
        if (c == '{' && command.count > 1 && strcmp(command.words[0], "when") == 0 &&
            when->count == 0) {
            checks_read(p, &command);
            continue;
        }
        if (c != ';' && c != '}')
            mistake(p->spec, p->line, "expected ; or }, or when CONDITION {");
        if (command.count > 0)
            check_add(p, when, &command);
    } while (c != '}');
}

static void permutation_read(struct parser *p)
{
    struct iso_spec *spec = p->spec;
    struct iso_command command;

    command_read(p, &command, true);
    if (command.count == 1 && strcmp(command.words[0], "all") == 0) {
        spec->all = true;
        return;
    }
    if (spec->listed_count == ISO_LISTED_MAX)
        mistake(spec, p->line, "more than %d permutations", ISO_LISTED_MAX);
    spec->listed[spec->listed_count++] = command;
}

static void reach_read(struct parser *p)
{
    if (p->spec->reach_count == ISO_REACHES_MAX)
        mistake(p->spec, p->line, "more than %d times reach", ISO_REACHES_MAX);
    command_read(p, &p->spec->reaches[p->spec->reach_count++], true);
}

static void directive_read(struct parser *p, const char *name)
{
    struct iso_spec *spec = p->spec;
    const struct iso_command always = { 0 };

    if (strcmp(name, "proves") == 0) {
        command_read(p, &spec->proves, true);
    } else if (strcmp(name, "may") == 0) {
        command_read(p, &spec->may, true);
    } else if (strcmp(name, "bare") == 0) {
        spec->bare = true;
    } else if (strcmp(name, "race") == 0) {
        spec->race = atoi(word(p, "the number of rounds"));
    } else if (strcmp(name, "setup") == 0) {
        spec->setup_count = block_read(p, spec->setup, ISO_COMMANDS_MAX);
    } else if (strcmp(name, "session") == 0) {
        session_read(p);
    } else if (strcmp(name, "permutation") == 0) {
        permutation_read(p);
    } else if (strcmp(name, "reach") == 0) {
        reach_read(p);
    } else if (strcmp(name, "check") == 0) {
        open_brace(p);
        checks_read(p, &always);
    } else {
        mistake(spec, p->line, "unknown directive %s", name);
    }
}

/* ---------------------------------------------------------- the whole of it */

/* A listed permutation names every step once, each session's in order. */
static void listed_check(const struct iso_spec *spec, const struct iso_command *listed)
{
    size_t done[ISO_SESSIONS_MAX] = { 0 };

    if (listed->count != spec->step_count)
        mistake(spec, listed->line, "the permutation has %zu steps of %zu", listed->count,
                spec->step_count);
    for (size_t i = 0; i < listed->count; i++) {
        int step = iso_spec_step(spec, listed->words[i]);
        const struct iso_session *session;
        size_t nth;

        if (step < 0)
            mistake(spec, listed->line, "there is no step %s", listed->words[i]);
        session = &spec->sessions[spec->steps[step].session];
        nth = done[spec->steps[step].session]++;
        if (nth >= session->step_count || session->steps[nth] != (size_t)step)
            mistake(spec, listed->line, "step %s is out of its session's order", listed->words[i]);
    }
}

static void spec_check(const struct iso_spec *spec)
{
    if (spec->session_count == 0 || (!spec->all && spec->listed_count == 0))
        mistake(spec, 1, "a spec needs sessions and permutations");
    if (spec->proves.count == 0 || spec->check_count == 0)
        mistake(spec, 1, "a spec needs \"proves\" and a check");
    for (size_t i = 0; i < spec->listed_count; i++)
        listed_check(spec, &spec->listed[i]);
    for (size_t i = 0; i < spec->reach_count; i++) {
        const struct iso_command *reach = &spec->reaches[i];

        if (reach->count < 2 ||
            (strcmp(reach->words[0], "*") != 0 && iso_spec_step(spec, reach->words[0]) < 0))
            mistake(spec, reach->line, "reach: expected a step (or *) and words");
    }
}

static char *file_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    ssize_t length;

    if (!file)
        return NULL;
    length = getdelim(&text, &size, '\0', file);
    fclose(file);
    if (length < 0) {
        free(text);
        return NULL;
    }
    return text;
}

struct iso_spec *iso_spec_load(const char *path)
{
    struct iso_spec *spec = calloc(1, sizeof(*spec));
    struct parser p = { .spec = spec, .line = 1 };
    char *text = NULL;
    char c;

    CHECK(spec);
    snprintf(spec->path, sizeof(spec->path), "%s", path);
    spec->text = file_text(path);
    if (!spec->text)
        mistake(spec, 1, "the file cannot be read, or is empty");
    p.at = spec->text;
    while ((c = next_visible(&p, &text)) == 'w')
        directive_read(&p, text);
    if (c != 0)
        mistake(spec, p.line, "%c is not expected here", c);
    spec_check(spec);
    return spec;
}

void iso_spec_free(struct iso_spec *spec)
{
    if (!spec)
        return;
    free(spec->text);
    free(spec);
}

int iso_spec_step(const struct iso_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->step_count; i++) {
        if (strcmp(spec->steps[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}
