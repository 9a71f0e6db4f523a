/* progress.c - a bar on stderr, for verbs that take a while. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR_COLUMNS 30
#define REDRAW_MS 100

struct cli_progress {
    const char *label;
    int64_t done, total;
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

static void draw(struct cli_progress *p)
{
    char bar[BAR_COLUMNS + 1];
    int64_t done = p->done < p->total ? p->done : p->total;
    int filled = p->total > 0 ? (int)((double)done / (double)p->total * BAR_COLUMNS) : 0;
    int room = cli_terminal_width(STDERR_FILENO);

    memset(bar, '.', BAR_COLUMNS);
    memset(bar, '#', (size_t)filled);
    bar[BAR_COLUMNS] = '\0';
    if (p->total > 0 && room >= BAR_COLUMNS + 50)
        fprintf(stderr, "\r%.20s [%s] %lld of %lld\033[K", p->label, bar, (long long)p->done,
                (long long)p->total);
    else
        fprintf(stderr, "\r%.20s %lld\033[K", p->label, (long long)p->done);
    fflush(stderr);
    p->visible = true;
    p->drawn_ms = cli_now_us() / 1000;
}

void cli_progress_begin(struct cli *cli, const char *label, int64_t total)
{
    const char *term = getenv("TERM");

    if (cli->quiet || !isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0)
        return;
    cli_progress_end(cli);
    cli->progress = cli_alloc(cli, sizeof(*cli->progress));
    cli->progress->label = cli_shown(cli, label);
    cli->progress->total = total;
    draw(cli->progress);
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
