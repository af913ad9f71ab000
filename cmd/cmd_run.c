#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmd/cmd.h"
#include "cmd/print.h"
#include "cmd/progress.h"
#include "cmd/signals.h"
#include "cmd/term.h"

/* What the run's callbacks share. */
struct screen {
    const struct cmd_opts *o;
    const char *name; /* of the experiment */
    FILE *out;        /* results; with --json stdout is for that alone */
    struct progress progress;
};

static void on_begin(void *user, const char *device, const char *recipe)
{
    const struct screen *s = user;

    if (s->o->quiet)
        return;
    (void)fprintf(s->out, "Using device: %s\n", device);
    if (recipe[0])
        (void)fprintf(s->out, "%s: %s\n", s->name, recipe);
}

static void on_step(void *user, const struct pl_step *step)
{
    struct screen *s = user;

    progress_clear(&s->progress);
    if (!s->o->quiet)
        print_step(s->out, step, s->o->verbose);
}

static void on_say(void *user, const char *line)
{
    struct screen *s = user;

    progress_clear(&s->progress);
    (void)fprintf(s->out, "%s\n", line);
}

static void on_log(void *user, const char *line)
{
    struct screen *s = user;

    progress_clear(&s->progress);
    if (!s->o->quiet)
        (void)fprintf(stderr, "%s\n", line);
}

static void on_progress(void *user, const char *stage,
                        const struct pl_progress *p)
{
    struct screen *s = user;

    progress_show(&s->progress, stage, p);
}

static void on_ended(void *user, const char *stage, double seconds)
{
    struct screen *s = user;

    progress_clear(&s->progress);
    if (s->o->verbose)
        (void)fprintf(stderr, "%s took %.3f s\n", stage, seconds);
}

static void on_failed(void *user, const char *stage, const struct err *err)
{
    struct screen *s = user;
    struct err shown = *err;

    progress_clear(&s->progress);
    (void)snprintf(shown.msg, sizeof shown.msg, "stage '%s': %.600s", stage,
                   err->msg);
    cmd_print_error(s->o, &shown);
}

static bool on_stopping(void *user)
{
    (void)user;
    return signals_caught() != 0;
}

static int progress_mode(const struct cmd_opts *o)
{
    if (o->quiet)
        return PROGRESS_NONE;
    if (o->progress != PROGRESS_AUTO)
        return o->progress;
    return term_rewrites(stderr) ? PROGRESS_BAR : PROGRESS_PLAIN;
}

/* The status of a run that ended with rc, and what is still to be said. */
static int ended(const struct cmd_opts *o, const struct pl_result *res, int rc,
                 const struct err *err)
{
    if (rc == 0)
        return res->n_failed_expectations ? EXIT_EXPECTATION : EXIT_OK;
    if (rc == ERR_INTERRUPTED && signals_caught()) {
        (void)fprintf(stderr, "interrupted: %s\n", err->msg);
        return EXIT_SIGNAL + signals_caught();
    }
    if (res->n_failed > 0)
        return rc == ERR_FETCH ? EXIT_FETCH : EXIT_STAGE;
    cmd_print_error(o, err);
    return cmd_exit_status(err);
}

static void print_summary(FILE *to, const struct pl_job *job,
                          const struct pl_result *res)
{
    (void)fprintf(to, "%s: %zu run", pl_job_dir(job), res->n_run);
    if (res->n_up_to_date)
        (void)fprintf(to, ", %zu up to date", res->n_up_to_date);
    if (res->n_failed)
        (void)fprintf(to, ", %zu failed", res->n_failed);
    if (res->n_skipped)
        (void)fprintf(to, ", %zu skipped", res->n_skipped);
    (void)fputc('\n', to);
}

static int run_job(struct cmd_opts *o, struct pl_job *job)
{
    struct screen screen = {.o = o, .name = pl_job_name(job)};
    struct str json = {0};
    const struct pl_ui ui = {&screen,  on_begin,  on_step,
                             on_say,   on_log,    on_progress,
                             on_ended, on_failed, on_stopping};
    struct pl_result res;
    struct err err = {0};
    int rc, status;

    screen.out = o->json ? stderr : stdout;
    screen.progress.mode = progress_mode(o);
    signals_catch();
    rc = pl_run(job, &ui, &res, &err);
    progress_clear(&screen.progress);
    if (res.began) {
        print_verdicts(screen.out, &res, term_color(screen.out, o->color));
        if (!o->quiet)
            print_summary(screen.out, job, &res);
    }
    status = ended(o, &res, rc, &err);
    if (o->json)
        pl_result_json(&res, job, status, rc != 0 ? &err : NULL, &json);
    pl_result_free(&res);
    return cmd_put(&json, status);
}

int cmd_run(struct cmd_opts *o)
{
    struct pl_job *job;
    int status;

    if (o->dry_run || o->check)
        return cmd_plan(o);
    if (!cmd_take_file(o))
        return EXIT_USAGE;
    if (!cmd_open_job(&job, o, &status))
        return status;
    status = run_job(o, job);
    pl_job_free(job);
    return status;
}

int cmd_fetch(struct cmd_opts *o)
{
    o->pl.kind = "fetch";
    return cmd_run(o);
}
