#include <stdio.h>

#include "cmd/cmd.h"

static void on_line(void *user, const char *line)
{
    const struct cmd_opts *o = user;

    if (!o->quiet)
        (void)printf("%s\n", line);
}

static int clean(struct cmd_opts *o, const struct pl_job *job,
                 enum pl_clean_what what)
{
    const struct pl_clean_opts opts = {what, o->dry_run, on_line, o};
    struct err err = {0};

    if (pl_clean(job, &opts, &err) == 0)
        return EXIT_OK;
    cmd_print_error(o, &err);
    return cmd_exit_status(&err);
}

int cmd_clean(struct cmd_opts *o)
{
    struct pl_job *job;
    int status = EXIT_OK;

    if (o->cache && o->history)
        return cmd_usage_error(NULL,
                               "--cache and --history: which of the two?");
    if (o->cache && o->n_words == 1)
        return clean(o, NULL, PL_CLEAN_CACHE);
    if (o->cache)
        return cmd_usage_error("the cache is shared by all experiments",
                               "--cache takes no FILE");
    if (!cmd_take_file(o))
        return EXIT_USAGE;
    if (!cmd_open_job(&job, o, &status))
        return status;
    status = clean(o, job, o->history ? PL_CLEAN_HISTORY : PL_CLEAN_ALL);
    pl_job_free(job);
    return status;
}
