/* progress.c - a bar on stderr, for verbs that take a while. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_COLUMNS 30
#define BAR_LEAST 5 /* a shorter one shows nothing */
#define LABEL_COLUMNS 20
#define REDRAW_MS 100

struct cli_progress {
    const char *label;
    int64_t done, total;
    bool is_time; /* both are milliseconds */
    int64_t drawn_ms;
    bool visible;
};

int cli_terminal_width(int fd)
{
    struct winsize size = { 0 };

    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

/* "[####......] " as wide as there is room beside the rest; "": there is none. */
static void bar_draw(const struct cli_progress *p, int room, char ret_bar[BAR_COLUMNS + 4])
{
    int columns = room - 3 < BAR_COLUMNS ? room - 3 : BAR_COLUMNS;
    int64_t done = p->done < p->total ? p->done : p->total;
    char *to = ret_bar;

    *to = '\0';
    if (p->total <= 0 || columns < BAR_LEAST)
        return;
    *to++ = '[';
    memset(to, '.', (size_t)columns);
    memset(to, '#', (size_t)((double)done / (double)p->total * columns));
    strcpy(to + columns, "] ");
}

static void numbers_write(const struct cli_progress *p, char *to, size_t size)
{
    if (p->is_time)
        snprintf(to, size, "%.1f of %.1f s", (double)p->done / 1000, (double)p->total / 1000);
    else if (p->total > 0)
        snprintf(to, size, "%lld of %lld", (long long)p->done, (long long)p->total);
    else
        snprintf(to, size, "%lld", (long long)p->done);
}

static void draw(struct cli_progress *p)
{
    char bar[BAR_COLUMNS + 4], numbers[64];
    int room = cli_terminal_width(STDERR_FILENO) - 1, label = (int)strlen(p->label);

    label = label < LABEL_COLUMNS ? label : LABEL_COLUMNS;
    numbers_write(p, numbers, sizeof(numbers));
    bar_draw(p, room - label - 1 - (int)strlen(numbers), bar);
    fprintf(stderr, "\r%.*s %s%s\033[K", LABEL_COLUMNS, p->label, bar, numbers);
    fflush(stderr);
    p->visible = true;
    p->drawn_ms = cli_now_us() / 1000;
}

static void begin(struct cli *cli, const char *label, int64_t total, bool is_time)
{
    const char *term = getenv("TERM");

    if (cli->quiet || !isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0)
        return;
    cli_progress_end(cli);
    cli->progress = cli_alloc(cli, sizeof(*cli->progress));
    cli->progress->label = cli_shown(cli, label);
    cli->progress->total = total;
    cli->progress->is_time = is_time;
    draw(cli->progress);
}

void cli_progress_begin(struct cli *cli, const char *label, int64_t total)
{
    begin(cli, label, total, false);
}

void cli_progress_begin_time(struct cli *cli, const char *label, int64_t total_ms)
{
    begin(cli, label, total_ms, true);
}

void cli_progress_at(struct cli *cli, int64_t done, int64_t total)
{
    struct cli_progress *p = cli->progress;

    if (!p)
        return;
    p->done = done;
    p->total = total;
    if (cli_now_us() / 1000 - p->drawn_ms >= REDRAW_MS)
        draw(p);
}

void cli_progress_hide(struct cli *cli)
{
    if (!cli->progress || !cli->progress->visible)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    cli->progress->visible = false;
}

void cli_progress_end(struct cli *cli)
{
    cli_progress_hide(cli);
    cli->progress = NULL;
}
