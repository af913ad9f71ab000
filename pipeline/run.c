#include "pipeline/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/device_settings.h"
#include "pipeline/expect.h"
#include "pipeline/history.h"
#include "pipeline/run_apart.h"

/* Named values, if the stage left any. */
static int read_values(struct pl_metrics *out, const char *dir, struct err *err)
{
    char *path = io_join(dir, "values.json");
    int rc = 0;

    if (!path)
        rc = err_set(err, ERR_NOMEM, "out of memory reading values.json");
    else if (io_exists(path))
        rc = pl_metrics_read(out, path, err);
    mem_free(path);
    return rc;
}

/* What became of a stage that is not whole: "failed: ...", "did not run (needs
 * a, which failed)". NULL: it was not come to. */
static const char *became(struct pl_run *run, const char *id)
{
    const struct pl_result *res = run->res;
    size_t i;

    for (i = 0; i < res->n_done; i++) {
        const struct pl_done *d = &res->done[i];

        if (strcmp(d->step.stage, id) != 0)
            continue;
        if (d->step.action == PL_SKIP)
            return arena_printf(
                &run->arena, "did not run (%s%s)", d->step.reason,
                strchr(d->step.reason, ',') ? "" : ", which failed");
        return d->error ? arena_printf(&run->arena, "failed: %s", d->error)
                        : NULL;
    }
    return "did not run";
}

int pl_run_assess(struct pl_run *run, const struct pl_stage *s,
                  const struct pl_metrics *metrics, const struct pl_record *r,
                  struct pl_verdict *v, struct err *err)
{
    struct pl_judged of = {.stage = s->id,
                           .became = metrics ? NULL : became(run, s->id),
                           .device = r->device,
                           .simulated = pl_device_is_simulated(r->backend),
                           .metrics = metrics,
                           .error = r->error};
    struct pl_metrics values = {0};
    char *dir = pl_job_stage_dir(run->job, s);
    size_t i;
    int rc = 0;

    if (!dir)
        return err_set(err, ERR_NOMEM, "out of memory judging stage '%s'",
                       s->id);
    of.dir = dir;
    of.values = &values;
    if (metrics && s->kind->has_values)
        rc = read_values(&values, dir, err);
    for (i = 0; rc == 0 && i < s->n_expect; i++)
        rc = pl_expect_assess(&v[i], &s->expect[i], &of, &run->res->arena, err);
    pl_metrics_clear(&values);
    mem_free(dir);
    return rc;
}

/* Judges stage i by its files, whether it ran now or was up to date. */
static int assess_stage(struct pl_run *run, size_t i, struct pl_verdict *v,
                        struct err *err)
{
    const struct pl_stage *s = &run->job->config->stages[i];
    struct pl_metrics metrics = {0};
    struct pl_record r = {0};
    bool whole = run->known[i].state == PL_KNOWN_WHOLE ||
                 run->known[i].state == PL_KNOWN_ERROR;
    const char *is;
    char *dir = pl_job_stage_dir(run->job, s);
    char *path = dir ? io_join(dir, "metrics.json") : NULL;
    int rc = 0;

    if (!path)
        rc = err_set(err, ERR_NOMEM, "out of memory judging '%s'", s->id);
    else if (whole)
        (void)pl_record_read(&r, dir, PL_WHOLE_FILE, &run->arena, &is);
    if (!r.device)
        r.device = run->device.name;
    if (!r.backend)
        r.backend = run->device.description;
    if (rc == 0 && whole)
        rc = pl_metrics_read(&metrics, path, err);
    if (rc == 0)
        rc = pl_run_assess(run, s, whole ? &metrics : NULL, &r, v, err);
    pl_metrics_clear(&metrics);
    mem_free(path);
    mem_free(dir);
    return rc;
}

static void count(struct pl_result *res, const struct pl_verdict *v)
{
    if (v->outcome == PL_FAILED)
        res->n_failed_expectations++;
    if (v->outcome == PL_PASSED || v->outcome == PL_FAILED) {
        res->points += v->points;
        res->of += v->of;
    }
}

static int assess_all(struct pl_run *run, struct err *err)
{
    const struct pl_config *c = run->job->config;
    struct pl_result *res = run->res;
    size_t i, k, n = 0;
    int rc = 0;

    for (i = 0; i < c->n_stages; i++)
        n += c->stages[i].n_expect;
    res->verdict = arena_array(&res->arena, n + 1, sizeof *res->verdict);
    if (!res->verdict)
        return err_set(err, ERR_NOMEM, "out of memory judging the run");
    for (i = 0; rc == 0 && i < c->n_stages; i++) {
        struct pl_verdict *v = &res->verdict[res->n_verdicts];

        if (!run->job->selected[i] || c->stages[i].n_expect == 0)
            continue;
        rc = assess_stage(run, i, v, err);
        for (k = 0; rc == 0 && k < c->stages[i].n_expect; k++)
            count(res, &v[k]);
        if (rc == 0)
            res->n_verdicts += c->stages[i].n_expect;
    }
    return rc;
}

bool pl_run_stopping(const struct pl_run *run)
{
    return run->ui->stopping(run->ui->user);
}

int pl_run_stopped(struct err *err)
{
    err_clear(err);
    return err_set(err, ERR_INTERRUPTED,
                   "stopped between two stages; the same command goes on from "
                   "there");
}

/* A run that was killed between the two files of a stage's end left both. */
static int forget_begin(struct pl_run *run, size_t i, struct err *err)
{
    const struct pl_stage *s = &run->job->config->stages[i];
    char *dir = pl_job_stage_dir(run->job, s);
    char *path = dir ? io_join(dir, PL_UNFINISHED_FILE) : NULL;
    int rc = 0;

    if (!path)
        rc = err_set(err, ERR_NOMEM, "out of memory for stage '%s'", s->id);
    else if (unlink(path) != 0 && errno != ENOENT)
        rc = err_sys(err, "cannot remove '%s'", path);
    mem_free(path);
    mem_free(dir);
    return rc;
}

int pl_run_decide(struct pl_run *run, size_t i, struct pl_decision *d,
                  struct err *err)
{
    const struct pl_planner p = {run->job, &run->arena, run->known};
    int rc = pl_decide(d, &p, i, err);

    if (rc != 0)
        return rc;
    if (d->action == PL_SKIP)
        run->known[i].state = PL_KNOWN_FAILED;
    if (d->action != PL_UP_TO_DATE)
        return 0;
    run->known[i].state = pl_known_whole(&d->last);
    rc = forget_begin(run, i, err);
    return rc != 0
               ? rc
               : pl_record_outputs_hash(run->known[i].outputs, &d->last, err);
}

int pl_run_tell(struct pl_run *run, size_t i, const struct pl_decision *d,
                struct err *err)
{
    const struct pl_stage *s = &run->job->config->stages[i];
    struct pl_result *res = run->res;
    struct pl_step step = {
        .stage = s->id,
        .kind = s->kind->name,
        .action = d->action,
        .state = d->state,
    };

    step.reason = arena_strdup(&res->arena, d->reason);
    step.changes = arena_strdup(&res->arena, d->changes);
    if (!step.reason || !step.changes)
        return err_set(err, ERR_NOMEM, "out of memory for stage '%s'", s->id);
    if (d->action == PL_UP_TO_DATE)
        res->n_up_to_date++;
    else if (d->action == PL_SKIP)
        res->n_skipped++;
    else
        res->n_run++;
    res->done[res->n_done++].step = step;
    run->ui->step(run->ui->user, &step);
    return 0;
}

void pl_run_tell_ended(struct pl_run *run, size_t i, double seconds)
{
    run->res->done[run->res->n_done - 1].seconds = seconds;
    run->ui->ended(run->ui->user, run->job->config->stages[i].id, seconds);
}

void pl_run_tell_failed(struct pl_run *run, size_t i, const struct err *why)
{
    const char *id = run->job->config->stages[i].id;
    struct pl_result *res = run->res;
    struct pl_done *last = res->n_done ? &res->done[res->n_done - 1] : NULL;

    res->n_failed++;
    if (last && strcmp(last->step.stage, id) == 0)
        last->error = arena_strdup(&res->arena, why->msg);
    run->ui->failed(run->ui->user, id, why);
}

/* One stage. *err has what went wrong. */
static int do_stage(struct pl_run *run, size_t i, struct err *err)
{
    struct pl_decision d;
    int rc = pl_run_decide(run, i, &d, err);

    if (rc == 0)
        rc = pl_run_tell(run, i, &d, err);
    if (rc == 0 && d.action == PL_RUN)
        rc = pl_run_stage(run, i, &d, err);
    if (rc == 0 && d.action != PL_SKIP)
        rc = pl_locked_outputs(run, i, err);
    return rc;
}

/* The stages in order. The first failure is kept in *err; with --keep-going
 * what does not need the failed stage goes on. */
static int do_stages(struct pl_run *run, struct err *err)
{
    const struct pl_config *c = run->job->config;
    size_t i;
    int first = 0;

    for (i = 0; i < c->n_stages && !pl_run_stopping(run); i++) {
        struct err e = {0};

        if (!run->job->selected[i] || do_stage(run, i, &e) == 0)
            continue;
        run->known[i].state = PL_KNOWN_FAILED;
        if (e.code == ERR_INTERRUPTED && pl_run_stopping(run)) {
            *err = e;
            return e.code;
        }
        pl_run_tell_failed(run, i, &e);
        if (first == 0) {
            first = e.code;
            *err = e;
        }
        if (!run->job->opts->keep_going)
            break;
    }
    return pl_run_stopping(run) ? pl_run_stopped(err) : first;
}

/* The lock of one folder of results; with --wait it may take a while. */
static int take_lock(struct pl_run *run, const char *dir, struct err *err)
{
    const struct timespec pause = {.tv_nsec = 100000000L};
    bool told = false;
    int rc;

    while ((rc = pl_lock_take(&run->lock[run->n_locks], dir, err)) ==
           ERR_LOCKED) {
        char line[sizeof err->msg + 32];

        if (!run->job->opts->wait)
            return rc;
        (void)snprintf(line, sizeof line, "waiting: %s", err->msg);
        if (!told)
            run->ui->log(run->ui->user, line);
        told = true;
        err_clear(err);
        if (pl_run_stopping(run))
            return err_set(err, ERR_INTERRUPTED,
                           "stopped waiting for another run");
        (void)nanosleep(&pause, NULL);
    }
    if (rc == 0)
        run->n_locks++;
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const struct pl_config *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Makes and locks the folders of this file and of those that it imports, in
 * the order of their names so that no two runs wait for each other. */
static int take_locks(struct pl_run *run, struct err *err)
{
    const struct pl_config *c = run->job->config;
    const struct pl_config **home =
        arena_array(&run->arena, c->n_homes, sizeof *home);
    size_t i;
    int rc = 0;

    run->lock = arena_array(&run->arena, c->n_homes, sizeof *run->lock);
    if (!home || !run->lock)
        return err_set(err, ERR_NOMEM, "out of memory starting the run");
    memcpy(home, c->homes, c->n_homes * sizeof *home);
    qsort(home, c->n_homes, sizeof *home, by_name);
    for (i = 0; rc == 0 && i < c->n_homes; i++) {
        char *dir = pl_job_home(run->job, home[i]);

        if (!dir)
            rc = err_set(err, ERR_NOMEM, "out of memory starting the run");
        if (rc == 0)
            rc = io_mkdirs(dir, err);
        if (rc == 0)
            rc = take_lock(run, dir, err);
        if (rc == 0)
            rc = pl_clear_temps(dir, err);
        mem_free(dir);
    }
    return rc;
}

static int begin(struct pl_run *run, struct err *err)
{
    size_t n = run->job->config->n_stages;
    int rc;

    run->known = arena_array(&run->arena, n + 1, sizeof *run->known);
    run->res->done =
        arena_array(&run->res->arena, n + 1, sizeof *run->res->done);
    run->history = arena_array(&run->arena, run->job->config->n_homes,
                               sizeof *run->history);
    run->was =
        arena_array(&run->arena, run->job->config->n_homes, sizeof *run->was);
    if (!run->known || !run->res->done || !run->history || !run->was)
        return err_set(err, ERR_NOMEM, "out of memory starting the run");
    rc = pl_run_device(run, err);
    if (rc != 0)
        return rc;
    run->ui->begin(run->ui->user, run->device_line, pl_job_recipe(run->job));
    return take_locks(run, err);
}

/* The end of a run: verdicts unless it was stopped, and pipeline.lock.json; a
 * run that is held to one does not write it. */
static int conclude(struct pl_run *run, struct err *err)
{
    int rc = pl_run_stopping(run) ? 0 : assess_all(run, err);

    if (rc == 0 && !run->locked)
        rc = pl_write_lockfile(run, err);
    return rc;
}

/* Runs everything and judges it; with resolved.yaml at the start and
 * pipeline.lock.json at the end. */
static int go(struct pl_run *run, struct err *err)
{
    struct err late = {0};
    int rc = begin(run, err);

    if (rc == 0 && run->job->opts->locked)
        rc = pl_locked_open(run, err);
    if (rc == 0)
        rc = pl_write_resolved(run, err);
    if (rc != 0)
        return rc;
    run->res->began = true;
    if (run->job->opts->jobs > 1)
        rc = pl_run_jobs(run, err);
    else
        rc = do_stages(run, err);
    if (conclude(run, &late) != 0 && rc == 0) {
        *err = late;
        rc = late.code;
    }
    return rc;
}

int pl_run(struct pl_job *job, const struct pl_ui *ui, struct pl_result *res,
           struct err *err)
{
    struct pl_run run = {.job = job, .ui = ui, .res = res};
    int rc;

    memset(res, 0, sizeof *res);
    rc = go(&run, err);
    nn_backend_close(run.be);
    while (run.n_locks > 0)
        pl_lock_drop(&run.lock[--run.n_locks]);
    pl_locked_close(&run);
    arena_free(&run.arena);
    return rc;
}

void pl_result_free(struct pl_result *res)
{
    arena_free(&res->arena);
    memset(res, 0, sizeof *res);
}
