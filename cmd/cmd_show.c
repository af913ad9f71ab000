#include "cmd/cmd.h"

int cmd_show(struct cmd_opts *o)
{
    struct pl_job *job;
    struct str text = {0};
    int status = EXIT_OK;

    if (!cmd_take_file(o))
        return EXIT_USAGE;
    if (!cmd_open_job(&job, o, &status))
        return status;
    pl_job_resolved(job, &text);
    pl_job_free(job);
    return cmd_put(&text, status);
}
