/* main.c - from the command line to an exit code. */
#include "frame.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

bool cli_interrupted(void)
{
    return interrupted != 0;
}

static void on_signal(int number)
{
    (void)number;
    if (interrupted)
        _exit(CLI_INTERRUPTED);
    interrupted = 1;
}

/* The database rolls back what it has not committed. */
static void on_signal_at_once(int number)
{
    (void)number;
    _exit(CLI_INTERRUPTED);
}

void cli_signals(const struct cli_command *command)
{
    struct sigaction action = { .sa_handler = command->graceful ? on_signal : on_signal_at_once };

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is a write error like others */
}

/* The file of the database could get the number of a closed descriptor, and messages would be
 * written into it. These take its place; reading stdin then fails, and so does writing to the
 * others. */
static bool descriptors_hold(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode) != fd)
            return false;
    }
    return true;
}

static int run(struct cli *cli, int argc, char **argv)
{
    bool help = false, version = false;
    int code = cli_parse(cli, argc, argv, &help, &version);

    if (code != CLI_OK)
        return code;
    cli_output_open(cli);
    if (help)
        cli_help(cli, cli->command, cli->family);
    else if (version)
        cli_version(cli);
    else {
        cli_signals(cli->command);
        code = cli->command->run(cli);
    }
    cli_progress_end(cli);
    return cli_output_close(cli, code);
}

int main(int argc, char **argv)
{
    struct cli cli = { 0 };
    int code;

    if (!descriptors_hold())
        return CLI_FAILED;
    code = run(&cli, argc, argv);
    ph_close(cli.store);
    cli_stores_free(&cli);
    cli_joins_free(&cli);
    cli_free(&cli);
    free(cli.line);
    return code;
}
