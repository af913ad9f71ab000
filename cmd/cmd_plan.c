#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/print.h"

int cmd_plan(struct cmd_opts *o)
{
    struct pl_job *job;
    struct pl_plan *plan = NULL;
    struct err err = {0};
    size_t i;
    int status = EXIT_OK;

    if (!cmd_take_file(o))
        return EXIT_USAGE;
    if (!cmd_open_job(&job, o, &status))
        return status;
    if (pl_plan_make(&plan, job, &err) != 0) {
        cmd_print_error(o, &err);
        pl_job_free(job);
        return cmd_exit_status(&err);
    }
    for (i = 0; i < plan->n && !o->quiet && !o->json; i++)
        print_step(stdout, &plan->step[i], o->verbose);
    if (o->json) {
        struct str text = {0};

        pl_plan_json(plan, job, &text);
        status = cmd_put(&text, status);
    }
    if (o->check && pl_plan_work(plan) > 0)
        status = EXIT_WORK_LEFT;
    pl_plan_free(plan);
    pl_job_free(job);
    return status;
}
