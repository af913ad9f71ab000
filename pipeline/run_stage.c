#include "pipeline/run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/facts.h"
#include "pipeline/history.h"
#include "pipeline/run_apart.h"

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
        .device = run->device.name,
        .started = started,
        .backend = run->device.description,
    };

    if (strcmp(r.device, "cpu") != 0)
        r.gpu = d->gpu;
    memcpy(r.fingerprint, d->fingerprint, sizeof r.fingerprint);
    return r;
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
        .config = w->stage->home,
        .stage = w->stage,
        .dir = w->dir,
        .out = w->home,
        .be = w->stage->kind->needs_device ? run->be : NULL,
        .fresh = !d->resume,
        .offline = run->job->opts->offline,
        .previous = w->previous,
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
 * stage has retries and time left. The error that it is meant to end with is
 * an end like another. */
static int attempt(struct pl_run *run, const struct pl_decision *d,
                   struct pl_record *r, struct err *err)
{
    struct pl_work *w = &run->work;
    double wait = 1;
    int64_t again;
    int rc;

    if (w->stage->timeout > 0)
        w->deadline = pl_clock() + w->stage->timeout;
    rc = try_once(run, d, err);
    for (again = 1; rc != 0 && pl_run_may_retry(run, err); again++) {
        if (again > w->stage->retries)
            break;
        tell_retry(run, err, again, wait);
        if (!wait_for_retry(run, wait))
            break;
        wait = wait < 16 ? wait * 2 : 30;
        err_clear(err);
        rc = try_once(run, d, err);
    }
    return rc == 0 ? 0 : pl_run_failed(run, r, err);
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
        .run = run, .stage = w->stage, .dir = w->dir, .out = w->home};
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
    if (rc == 0) { /* what was not hashed is no output */
        r->output = w->artifact;
        r->n_outputs = w->n_artifacts;
    }
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
    return pl_run_assess(run, w->stage, &w->metrics, r, v, err);
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

/* False: out of memory. */
static bool name_folders(struct pl_run *run)
{
    struct pl_work *w = &run->work;
    char *home = pl_job_home(run->job, w->stage->home);

    if (home)
        w->home = arena_strdup(&w->arena, home);
    if (w->home)
        w->dir = arena_printf(&w->arena, "%s/%s", w->home, w->stage->dir);
    mem_free(home);
    return w->dir != NULL;
}

/* The index of a file among those that the stages are from. */
static size_t home_index(const struct pl_run *run, const struct pl_config *home)
{
    const struct pl_config *c = run->job->config;
    size_t i = 0;

    while (i + 1 < c->n_homes && c->homes[i] != home)
        i++;
    return i;
}

/* Moves away what the folder holds. With its first move a run also keeps what
 * those results were made from. */
static int move_away(struct pl_run *run, size_t home, struct err *err)
{
    const struct pl_work *w = &run->work;
    int *n = &run->history[home];
    bool first = *n == 0;
    int rc = pl_history_move(n, w->home, w->stage->dir, err);

    if (rc == 0 && first && *n > 0 && run->was[home])
        rc = pl_history_resolved(*n, w->home, run->was[home], err);
    return rc;
}

/* A folder that holds nothing, or what an unfinished run of the same content
 * left. */
int pl_run_stage_begin(struct pl_run *run, size_t i,
                       const struct pl_decision *d, struct err *err)
{
    struct pl_work *w = &run->work;
    size_t home;
    int rc = 0;

    memset(w, 0, sizeof *w);
    w->stage = &run->job->config->stages[i];
    home = home_index(run, w->stage->home);
    if (!name_folders(run))
        return err_set(err, ERR_NOMEM, "out of memory starting stage '%s'",
                       w->stage->id);
    if (!d->resume)
        rc = move_away(run, home, err);
    if (rc == 0 && d->grown_from[0] && !run->job->opts->fresh) {
        w->previous = arena_printf(&w->arena, "%s/.runs/%d/%s", w->home,
                                   run->history[home], w->stage->dir);
        if (!w->previous)
            rc = err_set(err, ERR_NOMEM, "out of memory starting stage '%s'",
                         w->stage->id);
    }
    return rc != 0 ? rc : io_mkdirs(w->dir, err);
}

/* Results made from inputs that changed meanwhile are kept, and made again
 * next time. */
static int recheck(struct pl_run *run, const struct pl_decision *d,
                   struct pl_record *r, struct err *err)
{
    const struct pl_stage *s = run->work.stage;
    size_t i = (size_t)(s - run->job->config->stages);
    struct str line = {0};
    int rc = pl_run_recheck(&r->changed, run, i, d, err);

    if (rc != 0 || !r->changed)
        return rc;
    str_addf(&line,
             "warning: while stage '%s' ran, %s; it runs again next time",
             s->id, r->changed);
    if (line.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory ending stage '%s'", s->id);
    else {
        pl_log_line(run, line.text);
        run->ui->log(run->ui->user, line.text);
    }
    str_free(&line);
    return rc;
}

int pl_run_stage_work(struct pl_run *run, const struct pl_decision *d,
                      double *seconds, struct err *err)
{
    struct pl_work *w = &run->work;
    struct pl_known *known = &run->known[w->stage - run->job->config->stages];
    char started[PL_TIME_LEN];
    struct pl_record r;
    double begin = pl_clock();
    int rc;

    pl_time_now(started);
    r = begin_record(run, d, started);
    rc = pl_record_write(&r, w->dir, PL_UNFINISHED_FILE, err);
    if (rc == 0)
        rc = pl_log_open(run, d->reason, err);
    if (rc == 0)
        rc = attempt(run, d, &r, err);
    *seconds = r.seconds = pl_clock() - begin;
    if (rc == 0)
        rc = recheck(run, d, &r, err);
    if (rc == 0)
        rc = finish(run, &r, err);
    if (rc != 0)
        leave_unfinished(run, &r, err);
    else
        rc = pl_record_outputs_hash(known->outputs, &r, err);
    known->state = rc == 0 ? pl_known_whole(&r) : PL_KNOWN_FAILED;
    return rc;
}

void pl_run_stage_end(struct pl_run *run)
{
    struct pl_work *w = &run->work;

    pl_metrics_clear(&w->metrics);
    pl_metrics_clear(&w->facts);
    arena_free(&w->arena);
    memset(w, 0, sizeof *w);
}

int pl_run_stage(struct pl_run *run, size_t i, const struct pl_decision *d,
                 struct err *err)
{
    double seconds = 0;
    int rc = pl_run_stage_begin(run, i, d, err);

    if (rc == 0 && run->apart && run->work.stage->kind->needs_device)
        rc = pl_run_stage_apart(run, d, &seconds, err);
    else if (rc == 0)
        rc = pl_run_stage_work(run, d, &seconds, err);
    if (rc == 0)
        pl_run_tell_ended(run, i, seconds);
    else
        run->known[i].state = PL_KNOWN_FAILED;
    pl_run_stage_end(run);
    return rc;
}
