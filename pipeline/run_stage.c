#include "pipeline/run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/facts.h"
#include "pipeline/history.h"

/* What stage.json and unfinished.json say about the stage in work. */
static struct pl_record begin_record(const struct pl_run *run,
                                     const struct pl_decision *d,
                                     const char *started)
{
    struct pl_record r = {
        .state = "running",
        .error = "",
        .kind = run->work.stage->kind->name,
        .inputs = d->inputs,
        .device = run->be->ops->name,
        .started = started,
        .backend = run->be->description,
    };

    memcpy(r.fingerprint, d->fingerprint, sizeof r.fingerprint);
    return r;
}

/* A folder that holds nothing, or what an unfinished run of the same content
 * left. */
static int prepare_folder(struct pl_run *run, const struct pl_decision *d,
                          struct err *err)
{
    struct pl_work *w = &run->work;
    int rc = 0;

    w->dir = arena_printf(&w->arena, "%s/%s", run->job->dir, w->stage->id);
    if (!w->dir)
        return err_set(err, ERR_NOMEM, "out of memory starting stage '%s'",
                       w->stage->id);
    if (!d->resume)
        rc = pl_history_move(&run->history, run->job->dir, w->stage->id, err);
    if (rc == 0 && d->grown_from[0] && !run->job->opts->fresh) {
        w->previous = arena_printf(&w->arena, "%s/.runs/%d/%s", run->job->dir,
                                   run->history, w->stage->id);
        if (!w->previous)
            rc = err_set(err, ERR_NOMEM, "out of memory starting stage '%s'",
                         w->stage->id);
    }
    return rc != 0 ? rc : io_mkdirs(w->dir, err);
}

static void forget_attempt(struct pl_work *w)
{
    pl_metrics_clear(&w->metrics);
    pl_metrics_clear(&w->facts);
    w->n_artifacts = 0;
    w->failed = false;
}

static int try_once(struct pl_run *run, const struct pl_decision *d,
                    struct err *err)
{
    struct pl_work *w = &run->work;
    struct pl_stage_ctx ctx = {
        .run = run,
        .config = run->job->config,
        .stage = w->stage,
        .dir = w->dir,
        .out = run->job->dir,
        .be = w->stage->kind->needs_device ? run->be : NULL,
        .fresh = !d->resume,
        .fingerprint = d->fingerprint,
        .previous = w->previous,
        .previous_fingerprint = w->previous ? d->grown_from : NULL,
    };
    int rc;

    forget_attempt(w);
    rc = w->stage->kind->run(&ctx, err);
    if (rc == ERR_INTERRUPTED && pl_timed_out(run) &&
        !run->ui->stopping(run->ui->user)) {
        err_clear(err);
        rc = err_set(err, ERR_INTERRUPTED, "timed out after %g s",
                     w->stage->timeout);
    }
    if (rc == 0 && (w->failed || w->metrics.failed || w->facts.failed))
        rc = err_set(err, ERR_NOMEM, "out of memory");
    return rc;
}

/* Waits before a retry; false when the user or the time-out stops it. */
static bool wait_for_retry(const struct pl_run *run, double seconds)
{
    const struct timespec pause = {.tv_nsec = 50000000L};
    double end = pl_clock() + seconds;

    while (pl_clock() < end) {
        if (run->ui->stopping(run->ui->user) || pl_timed_out(run))
            return false;
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

static void tell_retry(struct pl_run *run, const struct err *err, int64_t next,
                       double wait)
{
    char line[1200];

    (void)snprintf(line, sizeof line,
                   "stage '%s' failed: %s; try %lld of %lld in %g s",
                   run->work.stage->id, err->msg, (long long)next + 1,
                   (long long)run->work.stage->retries + 1, wait);
    pl_log_line(run, line);
    run->ui->log(run->ui->user, line);
}

/* The stage's function, again after a pause of 1, 2, 4 ... 30 s while the
 * stage has retries and time left. */
static int attempt(struct pl_run *run, const struct pl_decision *d,
                   struct err *err)
{
    struct pl_work *w = &run->work;
    double wait = 1;
    int64_t again;
    int rc;

    if (w->stage->timeout > 0)
        w->deadline = pl_clock() + w->stage->timeout;
    rc = try_once(run, d, err);
    for (again = 1; rc != 0 && rc != ERR_INTERRUPTED; again++) {
        if (again > w->stage->retries)
            break;
        tell_retry(run, err, again, wait);
        if (!wait_for_retry(run, wait))
            break;
        wait = wait < 16 ? wait * 2 : 30;
        err_clear(err);
        rc = try_once(run, d, err);
    }
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const struct pl_output *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* Writes metrics.json and hashes everything that the stage left. */
static int measure_outputs(struct pl_run *run, struct pl_record *r,
                           struct err *err)
{
    struct pl_work *w = &run->work;
    struct pl_stage_ctx ctx = {
        .run = run, .stage = w->stage, .dir = w->dir, .out = run->job->dir};
    const char *path = pl_artifact_path(&ctx, "metrics.json", err);
    size_t i;
    int rc;

    if (!path)
        return err->code;
    rc = pl_metrics_write(&w->metrics, path, err);
    if (rc == 0)
        rc = pl_artifact_add(&ctx, "metrics.json", err);
    for (i = 0; rc == 0 && i < w->n_artifacts; i++)
        rc = pl_output_measure(&w->artifact[i], w->dir, err);
    if (rc == 0)
        qsort(w->artifact, w->n_artifacts, sizeof *w->artifact, by_name);
    r->output = w->artifact;
    r->n_outputs = w->n_artifacts;
    return rc;
}

static int assess_for_record(struct pl_run *run, struct pl_record *r,
                             struct err *err)
{
    struct pl_work *w = &run->work;
    struct pl_verdict *v =
        arena_array(&run->arena, w->stage->n_expect + 1, sizeof *v);

    if (!v)
        return err_set(err, ERR_NOMEM, "out of memory ending stage '%s'",
                       w->stage->id);
    r->verdict = v;
    r->n_verdicts = w->stage->n_expect;
    return pl_run_assess(run, w->stage, &w->metrics, r->device, v, err);
}

/* The last step of a stage that went well: from stage.json on it is whole. */
static int finish(struct pl_run *run, struct pl_record *r, struct err *err)
{
    struct pl_work *w = &run->work;
    char *begun;
    int rc = measure_outputs(run, r, err);

    if (rc == 0)
        rc = assess_for_record(run, r, err);
    if (rc == 0)
        rc = pl_log_close(run, err);
    if (rc != 0)
        return rc;
    r->state = "done";
    r->facts = &w->facts;
    rc = pl_record_write(r, w->dir, PL_WHOLE_FILE, err);
    begun = rc == 0 ? io_join(w->dir, PL_UNFINISHED_FILE) : NULL;
    if (begun)
        (void)unlink(begun); /* stage.json alone decides */
    mem_free(begun);
    return rc;
}

/* Leaves word of how a stage ended that did not end well. */
static void leave_unfinished(struct pl_run *run, struct pl_record *r,
                             const struct err *why)
{
    struct err none = {0};
    char line[1200];

    (void)snprintf(line, sizeof line, "%s: %s",
                   why->code == ERR_INTERRUPTED ? "stopped" : "failed",
                   why->msg);
    pl_log_line(run, line);
    (void)pl_log_close(run, &none);
    r->state = why->code == ERR_INTERRUPTED ? "interrupted" : "failed";
    r->error = why->msg;
    r->facts = &run->work.facts;
    err_clear(&none);
    (void)pl_record_write(r, run->work.dir, PL_UNFINISHED_FILE, &none);
}

static int work_through(struct pl_run *run, const struct pl_decision *d,
                        struct err *err)
{
    struct pl_work *w = &run->work;
    char started[PL_TIME_LEN];
    struct pl_record r;
    double begin = pl_clock();
    int rc = prepare_folder(run, d, err);

    if (rc != 0)
        return rc;
    pl_time_now(started);
    r = begin_record(run, d, started);
    rc = pl_record_write(&r, w->dir, PL_UNFINISHED_FILE, err);
    if (rc == 0)
        rc = pl_log_open(run, d->reason, err);
    if (rc == 0)
        rc = attempt(run, d, err);
    r.seconds = pl_clock() - begin;
    if (rc == 0)
        rc = finish(run, &r, err);
    if (rc != 0)
        leave_unfinished(run, &r, err);
    else
        run->ui->ended(run->ui->user, w->stage->id, r.seconds);
    return rc == 0
               ? pl_record_outputs_hash(
                     run->known[w->stage - run->job->config->stages].outputs,
                     &r, err)
               : rc;
}

int pl_run_stage(struct pl_run *run, size_t i, const struct pl_decision *d,
                 struct err *err)
{
    struct pl_work *w = &run->work;
    int rc;

    memset(w, 0, sizeof *w);
    w->stage = &run->job->config->stages[i];
    rc = work_through(run, d, err);
    run->known[i].state = rc == 0 ? PL_KNOWN_WHOLE : PL_KNOWN_FAILED;
    pl_metrics_clear(&w->metrics);
    pl_metrics_clear(&w->facts);
    arena_free(&w->arena);
    memset(w, 0, sizeof *w);
    return rc;
}
