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
    return cmd_take_overrides(o, 2);
}

bool cmd_take_overrides(struct cmd_opts *o, size_t first)
{
    size_t i, n = o->n_words - first;
    const char **item = arena_array(&o->arena, n + o->set.n + 1, sizeof *item);

    if (!item) {
        (void)cmd_usage_error(NULL, "out of memory");
        return false;
    }
    for (i = 0; i < n; i++)
        item[i] = o->word[first + i];
    for (i = 0; i < o->set.n; i++)
        item[n++] = o->set.item[i];
    o->pl.overrides = (struct pl_texts){item, n};
    return true;
}

int cmd_put(struct str *text, int status)
{
    if (text->failed) {
        (void)fputs("error: out of memory\n", stderr);
        status = EXIT_STAGE;
    } else if (text->text)
        (void)fputs(text->text, stdout);
    str_free(text);
    return status;
}

/* What a program is told of a job that cannot be opened. */
static void put_mistakes(const struct pl_job *job, const struct err *err,
                         int status)
{
    struct str s = {0};

    str_addf(&s, "{\"status\": %d, \"error\": ", status);
    pl_text_json(err->msg, &s);
    str_add(&s, ", \"mistakes\": [");
    if (job)
        pl_job_mistakes_json(job, &s);
    str_add(&s, "]}\n");
    (void)cmd_put(&s, status);
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
    /* A file that cannot be read is a mistake on the command line. */
    *status = rc == ERR_IO ? EXIT_USAGE : cmd_exit_status(&err);
    if (o->json)
        put_mistakes(*out, &err, *status);
    pl_job_free(*out);
    *out = NULL;
    return false;
}
