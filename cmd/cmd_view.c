#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/signals.h"

enum { LOOK_MS = 200 }; /* how often a signal is looked for */

static bool parse_port(int *out, const char *text)
{
    char *end;
    long n;

    if (!text) {
        *out = PL_VIEW_PORT;
        return true;
    }
    errno = 0;
    n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < 0 || n > 65535)
        return false;
    *out = (int)n;
    return true;
}

/* "client port server port", as sshd sets it: the line that brings the port to
 * the machine on which the browser runs. */
static void add_ssh(struct str *out, int port)
{
    const char *from = getenv("SSH_CONNECTION");
    const struct passwd *user = getpwuid(getuid());
    char host[64], at[8];

    if (!from || sscanf(from, "%*s %*s %63s %7s", host, at) != 2)
        return;
    str_addf(out,
             "From where you came by SSH, type there first:\n  ssh -L "
             "%d:127.0.0.1:%d ",
             port, port);
    if (strcmp(at, "22") != 0)
        str_addf(out, "-p %s ", at);
    str_addf(out, "%s@%s\n", user ? user->pw_name : "user", host);
}

static void add_where(struct str *out, const struct pl_view *v)
{
    struct str link = {0};

    if (pl_view_perfetto(v, &link)) {
        str_addf(out, "In Perfetto:\n  %s\nThe file itself:\n  ",
                 link.text ? link.text : "");
        pl_view_link(v, out);
    } else {
        str_add(out, "In a browser:\n  ");
        pl_view_link(v, out);
        if (pl_view_port(v) != PL_VIEW_PORT)
            str_addf(out,
                     "\nPerfetto's page fetches from port %d only: download a "
                     "trace, and take\n\"Open trace file\" at "
                     "https://ui.perfetto.dev",
                     PL_VIEW_PORT);
    }
    str_addc(out, '\n');
    add_ssh(out, pl_view_port(v));
    str_add(out, "Ctrl-C ends it.\n");
    out->failed = out->failed || link.failed;
    str_free(&link);
}

/* Says where to look, at once even into a pipe. */
static int tell(const struct pl_view *v)
{
    struct str text = {0};
    int status;

    add_where(&text, v);
    status = cmd_put(&text, EXIT_OK);
    return fflush(stdout) == 0 ? status : EXIT_STAGE;
}

int cmd_view(struct cmd_opts *o)
{
    const char *path = o->n_words > 1 ? o->word[1] : "out";
    struct pl_view *view;
    struct err err = {0};
    int port, status;

    if (o->n_words > 2)
        return cmd_usage_error("a folder shows all that is below it",
                               "one path too many: '%s'", o->word[2]);
    if (!parse_port(&port, o->port))
        return cmd_usage_error(NULL,
                               "--port must be a number from 0 to 65535, not "
                               "'%s'",
                               o->port);
    if (pl_view_open(&view, path, port, &err) != 0) {
        cmd_print_error(o, &err);
        return err.code == ERR_IO ? EXIT_USAGE : cmd_exit_status(&err);
    }
    signals_catch();
    status = tell(view);
    while (status == EXIT_OK && !signals_caught())
        (void)poll(NULL, 0, LOOK_MS);
    pl_view_close(view);
    return status == EXIT_OK ? EXIT_SIGNAL + signals_caught() : status;
}
