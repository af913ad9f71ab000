#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

#include "cmd/term.h"

int cmd_exit_status(const struct err *err)
{
    switch (err->code) {
    case 0:
        return EXIT_OK;
    case ERR_CONFIG:
        return EXIT_USAGE;
    case ERR_FETCH:
        return EXIT_FETCH;
    case ERR_LOCKED:
        return EXIT_LOCKED;
    case ERR_DEVICE:
        return EXIT_NO_DEVICE;
    default:
        return EXIT_STAGE;
    }
}

void cmd_print_error(const struct cmd_opts *o, const struct err *err)
{
    if (err->at[0])
        (void)fprintf(stderr, "%s: ", err->at);
    (void)fprintf(stderr, "error: %s\n", err->msg);
    if (o->verbose && err->src)
        (void)fprintf(stderr, "  = note: from %s\n", err->src);
}

bool cmd_take_file(struct cmd_opts *o)
{
    size_t i;

    if (o->n_words < 2) {
        (void)cmd_usage_error("`pipeline help` shows how it is used",
                              "'%s' wants the FILE of an experiment",
                              o->word[0]);
        return false;
    }
    for (i = 2; i < o->n_words; i++) {
        if (strchr(o->word[i], '=') || o->word[i][0] == '~')
            continue;
        (void)cmd_usage_error("an override is PATH=VALUE or ~PATH",
                              "'%s' takes one file; what is '%s'?", o->word[0],
                              o->word[i]);
        return false;
    }
    o->pl.file = o->word[1];
    o->pl.overrides.item = o->word + 2;
    o->pl.overrides.n = o->n_words - 2;
    return true;
}

bool cmd_open_job(struct pl_job **out, struct cmd_opts *o, int *status)
{
    struct err err = {0};
    struct str text = {0};
    int rc = pl_job_open(out, &o->pl, &err);

    if (rc == 0)
        return true;
    if (*out)
        pl_job_mistakes(*out, &text, term_color(stderr, o->color));
    if (text.len > 0)
        (void)fputs(text.text, stderr);
    else
        cmd_print_error(o, &err);
    str_free(&text);
    pl_job_free(*out);
    *out = NULL;
    /* A file that cannot be read is a mistake on the command line. */
    *status = rc == ERR_IO ? EXIT_USAGE : cmd_exit_status(&err);
    return false;
}
