#include <stdio.h>

#include "cmd/cmd.h"

static const char *const word[] = {
    [PL_STATE_MISSING] = "missing",
    [PL_STATE_DONE] = "done",
    [PL_STATE_STALE] = "stale",
    [PL_STATE_FAILED] = "failed",
    [PL_STATE_INTERRUPTED] = "interrupted",
};

/* What an unfinished folder means depends on whether a run is under way. */
static const char *state_word(const struct pl_plan *plan,
                              const struct pl_step *s)
{
    if (s->state == PL_STATE_INTERRUPTED && plan->holder[0])
        return "running";
    return word[s->state];
}

static void print_artifacts(const struct pl_step *s)
{
    size_t i;

    for (i = 0; i < s->n_artifacts; i++)
        (void)printf("    %12llu  %.12s  %s\n", s->artifact[i].bytes,
                     s->artifact[i].sha256, s->artifact[i].name);
}

static void print(const struct cmd_opts *o, const struct pl_plan *plan,
                  const struct pl_job *job)
{
    size_t i;

    for (i = 0; i < plan->n; i++) {
        const struct pl_step *s = &plan->step[i];
        bool why = s->reason[0] &&
                   (s->state == PL_STATE_STALE || s->action == PL_UP_TO_DATE);

        (void)printf("%-11s  %s%s%s%s\n", state_word(plan, s), s->stage,
                     why ? "  (" : "", why ? s->reason : "", why ? ")" : "");
        if (o->verbose)
            print_artifacts(s);
    }
    if (plan->holder[0])
        (void)printf("'%s' is in use by %s\n", pl_job_dir(job), plan->holder);
}

int cmd_status(struct cmd_opts *o)
{
    struct pl_job *job;
    struct pl_plan *plan = NULL;
    struct err err = {0};
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
    if (o->json) {
        struct str text = {0};

        pl_plan_json(plan, job, &text);
        status = cmd_put(&text, status);
    } else if (!o->quiet)
        print(o, plan, job);
    if (o->check && pl_plan_work(plan) > 0)
        status = EXIT_WORK_LEFT;
    pl_plan_free(plan);
    pl_job_free(job);
    return status;
}
