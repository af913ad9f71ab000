#include "pipeline/run.h"

#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/expect.h"
#include "pipeline/history.h"

int pl_run_assess(struct pl_run *run, const struct pl_stage *s,
                  const struct pl_metrics *metrics, const char *device,
                  struct pl_verdict *v, struct err *err)
{
    struct pl_judged of = {
        .stage = s->id, .device = device, .metrics = metrics};
    char *dir = io_join(run->job->dir, s->id);
    size_t i;
    int rc = 0;

    if (!dir)
        return err_set(err, ERR_NOMEM, "out of memory judging stage '%s'",
                       s->id);
    of.dir = dir;
    for (i = 0; rc == 0 && i < s->n_expect; i++)
        rc = pl_expect_assess(&v[i], &s->expect[i], &of, &run->res->arena, err);
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
    const char *device = run->be->ops->name, *is;
    bool whole = run->known[i].state == PL_KNOWN_WHOLE;
    char *dir = io_join(run->job->dir, s->id);
    char *path = dir ? io_join(dir, "metrics.json") : NULL;
    int rc = 0;

    if (!path)
        rc = err_set(err, ERR_NOMEM, "out of memory judging '%s'", s->id);
    else if (whole && pl_record_read(&r, dir, PL_WHOLE_FILE, &run->arena, &is))
        device = r.device;
    if (rc == 0 && whole)
        rc = pl_metrics_read(&metrics, path, err);
    if (rc == 0)
        rc = pl_run_assess(run, s, whole ? &metrics : NULL, device, v, err);
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

static void tell_step(struct pl_run *run, size_t i, const struct pl_decision *d)
{
    const struct pl_stage *s = &run->job->config->stages[i];
    struct pl_step step = {
        .stage = s->id,
        .kind = s->kind->name,
        .action = d->action,
        .state = d->state,
        .reason = d->reason,
    };

    run->ui->step(run->ui->user, &step);
}

/* One stage. *err has what went wrong. */
static int do_stage(struct pl_run *run, size_t i, struct err *err)
{
    const struct pl_planner p = {run->job, &run->arena, run->known};
    struct pl_decision d;
    int rc = pl_decide(&d, &p, i, err);

    if (rc != 0)
        return rc;
    tell_step(run, i, &d);
    switch (d.action) {
    case PL_UP_TO_DATE:
        run->res->n_up_to_date++;
        run->known[i].state = PL_KNOWN_WHOLE;
        return pl_record_outputs_hash(run->known[i].outputs, &d.last, err);
    case PL_SKIP:
        run->res->n_skipped++;
        run->known[i].state = PL_KNOWN_FAILED;
        return 0;
    default:
        run->res->n_run++;
        return pl_run_stage(run, i, &d, err);
    }
}

static bool stopping(const struct pl_run *run)
{
    return run->ui->stopping(run->ui->user);
}

/* The stages in order. The first failure is kept in *err; with --keep-going
 * what does not need the failed stage goes on. */
static int do_stages(struct pl_run *run, struct err *err)
{
    const struct pl_config *c = run->job->config;
    size_t i;
    int first = 0;

    for (i = 0; i < c->n_stages && !stopping(run); i++) {
        struct err e = {0};

        if (!run->job->selected[i] || do_stage(run, i, &e) == 0)
            continue;
        run->known[i].state = PL_KNOWN_FAILED;
        if (e.code == ERR_INTERRUPTED && stopping(run)) {
            *err = e;
            return e.code;
        }
        run->res->n_failed++;
        run->ui->failed(run->ui->user, c->stages[i].id, &e);
        if (first == 0) {
            first = e.code;
            *err = e;
        }
        if (!run->job->opts->keep_going)
            break;
    }
    if (!stopping(run))
        return first;
    err_clear(err);
    return err_set(err, ERR_INTERRUPTED,
                   "stopped between two stages; the same command goes on from "
                   "there");
}

static int begin(struct pl_run *run, struct err *err)
{
    const struct pl_opts *o = run->job->opts;
    const struct nn_device_opts device = {o->device, o->threads};
    size_t n = run->job->config->n_stages;
    int rc;

    run->known = arena_array(&run->arena, n + 1, sizeof *run->known);
    if (!run->known)
        return err_set(err, ERR_NOMEM, "out of memory starting the run");
    rc = nn_backend_open(&run->be, &device, run->device_line, err);
    if (rc != 0)
        return rc;
    run->ui->begin(run->ui->user, run->device_line, pl_job_recipe(run->job));
    rc = io_mkdirs(run->job->dir, err);
    if (rc == 0)
        rc = pl_lock_take(&run->lock, run->job->dir, err);
    if (rc == 0)
        rc = pl_clear_temps(run->job->dir, err);
    return rc;
}

/* Runs everything and judges it; with resolved.yaml at the start and
 * pipeline.lock.json at the end. */
static int go(struct pl_run *run, struct err *err)
{
    struct err late = {0};
    bool changed;
    int rc = begin(run, err);

    if (rc == 0)
        rc = pl_write_resolved(&changed, run->job, err);
    if (rc != 0)
        return rc;
    run->res->began = true;
    rc = do_stages(run, err);
    if (!stopping(run))
        (void)assess_all(run, &late);
    if (late.code == 0 && (changed || run->res->n_run > 0))
        (void)pl_write_lockfile(run, &late);
    if (rc == 0 && late.code != 0) {
        *err = late;
        rc = late.code;
    }
    return rc;
}

int pl_run(struct pl_job *job, const struct pl_ui *ui, struct pl_result *res,
           struct err *err)
{
    struct pl_run run = {.job = job, .ui = ui, .res = res, .lock = {-1}};
    int rc;

    memset(res, 0, sizeof *res);
    rc = go(&run, err);
    nn_backend_close(run.be);
    pl_lock_drop(&run.lock);
    arena_free(&run.arena);
    return rc;
}

void pl_result_free(struct pl_result *res)
{
    arena_free(&res->arena);
    memset(res, 0, sizeof *res);
}
