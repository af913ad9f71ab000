#include "pipeline/plan.h"

#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/expect_error.h"
#include "pipeline/device_settings.h"
#include "pipeline/lock.h"
#include "pipeline/simulated.h"
#include "pipeline/stage.h"

static const struct pl_stage *stage_at(const struct pl_planner *p, size_t i)
{
    return &p->job->config->stages[i];
}

static int no_memory(const struct pl_stage *s, struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory planning stage '%s'", s->id);
}

/* Marks what stage i builds on: its needs, and every download below them,
 * since a stage may open any data set that its needs were made from. */
static void mark_inputs(bool *marks, const struct pl_config *c, size_t i)
{
    bool *below = marks + c->n_stages;
    size_t k, n;

    below[i] = true;
    for (k = i + 1; k-- > 0;) {
        const struct pl_stage *s = &c->stages[k];

        if (!below[k])
            continue;
        for (n = 0; n < s->n_needs; n++) {
            size_t need = pl_job_index(c, s->needs[n]);

            if (need >= c->n_stages)
                continue;
            below[need] = true;
            if (k == i || c->stages[need].kind == &pl_kind_fetch)
                marks[need] = true;
        }
    }
}

/* Adds what stage k left, which the file of stage i calls name. */
static void add_need(struct pl_decision *d, const struct pl_planner *p,
                     const char *name, size_t k, const char **pending)
{
    const char *key = arena_printf(p->arena, "needs.%s", name), *was;

    if (p->known[k].state != PL_KNOWN_PENDING) {
        pl_inputs_add(&d->inputs, key, p->known[k].outputs);
        return;
    }
    *pending = stage_at(p, k)->id;
    was = key ? pl_inputs_get(&d->last.inputs, key) : NULL;
    pl_inputs_add(&d->inputs, key, was ? was : "");
}

/* Adds what needed stages left. The outcome of one that is still to run is
 * not known: *pending is set and last time's is taken instead. Names and order
 * are those of the file that says the stage: they do not hang on who imports
 * it. */
static int add_needs(struct pl_decision *d, const struct pl_planner *p,
                     size_t i, const char **pending, struct err *err)
{
    const struct pl_config *c = p->job->config, *home = stage_at(p, i)->home;
    bool *marks = mem_array(2 * c->n_stages + 1, sizeof *marks);
    size_t t, k;

    *pending = NULL;
    if (!marks)
        return no_memory(stage_at(p, i), err);
    mark_inputs(marks, c, i);
    for (t = 0; t < home->n_stages; t++) {
        const struct pl_stage *s = &home->stages[t];

        k = home == c ? t : pl_job_index(c, pl_config_id(c, s));
        if (k < i && marks[k])
            add_need(d, p, s->id, k, pending);
    }
    mem_free(marks);
    return d->inputs.failed ? no_memory(stage_at(p, i), err) : 0;
}

enum pl_known_state pl_known_whole(const struct pl_record *r)
{
    return r->error && r->error[0] ? PL_KNOWN_ERROR : PL_KNOWN_WHOLE;
}

/* What a stage that is in that state leaves those that need it with; NULL: all
 * that they want. */
static const char *lack(enum pl_known_state state)
{
    switch (state) {
    case PL_KNOWN_FAILED:
        return "";
    case PL_KNOWN_ERROR:
        return ", which failed as expected";
    case PL_KNOWN_TO_FAIL:
        return ", which is to fail";
    case PL_KNOWN_NOT:
    case PL_KNOWN_WHOLE:
    case PL_KNOWN_PENDING:
        break;
    }
    return NULL;
}

/* The first need that left nothing, or NULL; *is says how that came. */
static const char *failed_need(const struct pl_planner *p, size_t i,
                               const char **is)
{
    const struct pl_stage *s = stage_at(p, i);
    size_t k;

    for (k = 0; k < s->n_needs; k++) {
        size_t need = pl_job_index(p->job->config, s->needs[k]);

        *is = need < i ? lack(p->known[need].state) : NULL;
        if (*is)
            return s->needs[k];
    }
    return NULL;
}

/* Notes that the stage may go on from what record left. */
static void note_growth(struct pl_decision *d, const struct pl_stage *s,
                        const struct pl_record *record, struct str *why)
{
    const struct pl_stage_kind *kind = s->kind;

    if (!kind->grows || !pl_inputs_hold(&record->gpu, &d->gpu) ||
        !pl_inputs_grown(&record->inputs, &d->inputs, kind->grows))
        return;
    if (kind->may_grow && !kind->may_grow(s->with))
        return;
    memcpy(d->grown_from, record->fingerprint, sizeof d->grown_from);
    str_add(why, ": goes on from there");
}

/* Whether all that the stage left still stands. What it leaves outside of its
 * folder it has left only if it ran to its end. */
static bool intact(const struct pl_decision *d, const struct pl_stage *s,
                   const char *dir, struct str *why)
{
    return pl_record_intact(&d->last, dir, why) &&
           (d->last.error[0] || !s->kind->intact || s->kind->intact(dir, why));
}

/* More than one file that was changed, a line each. */
static void note_faults(struct pl_decision *d, const char *dir,
                        struct arena *arena)
{
    struct str lines = {0};

    pl_record_faults(&d->last, dir, &lines);
    if (lines.text && !lines.failed && strchr(lines.text, '\n'))
        d->changes = arena_strdup(arena, lines.text);
    str_free(&lines);
}

/* Made on a simulated device, and wanted from another. */
static bool is_make_believe(const struct pl_record *r, const struct pl_stage *s,
                            const struct pl_opts *opts)
{
    return s->kind->needs_device && pl_device_is_simulated(r->backend) &&
           !pl_simulated_now(opts);
}

/* Compares a whole folder with what the config wants now. */
static void judge_whole(struct pl_decision *d, const struct pl_planner *p,
                        const struct pl_stage *s, const char *dir,
                        struct str *why)
{
    bool same = strcmp(d->last.fingerprint, d->fingerprint) == 0;
    bool failed = d->last.error[0] != '\0';

    d->state = PL_STATE_STALE;
    d->action = PL_RUN;
    if (!same) {
        pl_inputs_reason(why, &d->last.inputs, &d->inputs);
        d->changes = pl_inputs_changes(&d->last.inputs, &d->inputs);
        if (!failed)
            note_growth(d, s, &d->last, why);
    } else if (!pl_inputs_hold(&d->last.gpu, &d->gpu)) {
        pl_inputs_reason(why, &d->last.gpu, &d->gpu);
        d->changes = pl_inputs_changes(&d->last.gpu, &d->gpu);
    } else if (is_make_believe(&d->last, s, p->job->opts))
        str_add(why, "it was made on a simulated device");
    else if (failed && !pl_error_expected(s, d->last.error))
        str_add(why, "it failed, and that is not expected any more");
    else if (d->last.changed)
        str_addf(why, "while it ran, %s", d->last.changed);
    else if (intact(d, s, dir, why)) {
        d->state = PL_STATE_DONE;
        d->action = PL_UP_TO_DATE;
        str_add(why, failed ? "failed as expected" : "");
    } else
        note_faults(d, dir, d->inputs.arena);
    if (d->action == PL_RUN && why->len == 0)
        str_add(why, "its record was changed");
}

/* A folder that was begun and not ended: kept if the content is the same. */
static void judge_unfinished(struct pl_decision *d, const struct pl_stage *s,
                             struct pl_record *begun, bool fresh,
                             struct str *why)
{
    bool failed = strcmp(begun->state, "failed") == 0;

    d->state = failed ? PL_STATE_FAILED : PL_STATE_INTERRUPTED;
    d->action = PL_RUN;
    if (strcmp(begun->fingerprint, d->fingerprint) != 0) {
        pl_inputs_reason(why, &begun->inputs, &d->inputs);
        d->changes = pl_inputs_changes(&begun->inputs, &d->inputs);
        note_growth(d, s, begun, why);
        return;
    }
    if (!pl_inputs_hold(&begun->gpu, &d->gpu)) {
        pl_inputs_reason(why, &begun->gpu, &d->gpu);
        d->changes = pl_inputs_changes(&begun->gpu, &d->gpu);
        return;
    }
    d->resume = !fresh;
    str_addf(why, "%s: %s", failed ? "failed last time" : "interrupted",
             fresh ? "begins anew (--fresh)" : "resumes");
}

static void judge(struct pl_decision *d, const struct pl_planner *p, size_t i,
                  const char *dir, struct str *why)
{
    const char *is;
    struct pl_record begun;

    if (d->last.state)
        judge_whole(d, p, stage_at(p, i), dir, why);
    else if (pl_record_read(&begun, dir, PL_UNFINISHED_FILE, p->arena, &is))
        judge_unfinished(d, stage_at(p, i), &begun, p->job->opts->fresh, why);
    else {
        d->action = PL_RUN;
        d->state = PL_STATE_MISSING;
        str_add(why, "first run");
    }
    if (p->job->forced[i]) {
        d->action = PL_RUN;
        d->resume = false;
        d->grown_from[0] = '\0';
        str_clear(why);
        str_add(why, "--force");
    }
}

static int decide_in(struct pl_decision *d, const struct pl_planner *p,
                     size_t i, const char *dir, struct err *err)
{
    const struct pl_stage *s = stage_at(p, i);
    const char *is, *pending;
    struct str why = {0};
    int rc;

    if (!pl_record_read(&d->last, dir, PL_WHOLE_FILE, p->arena, &is) ||
        strcmp(d->last.state, "done") != 0)
        d->last.state = NULL;
    rc = pl_inputs_collect(&d->inputs, s->home, s, err);
    pl_inputs_gpu(&d->gpu, s);
    if (rc == 0 && d->gpu.failed)
        rc = no_memory(s, err);
    if (rc == 0 && s->kind->measures)
        rc = pl_inputs_machine(&d->inputs, p->job->opts, err);
    if (rc == 0)
        rc = add_needs(d, p, i, &pending, err);
    if (rc == 0)
        rc = pl_inputs_hash(d->fingerprint, &d->inputs, err);
    if (rc != 0)
        return rc;
    str_add(&why, "");
    d->changes = "";
    judge(d, p, i, dir, &why);
    if (d->action == PL_UP_TO_DATE && pending) {
        d->action = PL_MAY_RUN;
        str_clear(&why);
        str_addf(&why, "%s runs first", pending);
    }
    if (!why.failed)
        d->reason = arena_strdup(p->arena, why.text);
    str_free(&why);
    return d->reason && d->changes ? 0 : no_memory(s, err);
}

int pl_decide(struct pl_decision *d, const struct pl_planner *p, size_t i,
              struct err *err)
{
    const char *is, *failed = failed_need(p, i, &is);
    char *dir;
    int rc;

    memset(d, 0, sizeof *d);
    d->inputs.arena = d->gpu.arena = p->arena;
    if (failed) {
        d->action = PL_SKIP;
        d->reason = arena_printf(p->arena, "needs %s%s", failed, is);
        d->changes = "";
        return d->reason ? 0 : no_memory(stage_at(p, i), err);
    }
    dir = pl_job_stage_dir(p->job, stage_at(p, i));
    if (!dir)
        return no_memory(stage_at(p, i), err);
    rc = decide_in(d, p, i, dir, err);
    mem_free(dir);
    return rc;
}

/* What the folder of the stage holds, for the step. */
static bool list_artifacts(struct pl_step *step, const struct pl_record *r,
                           struct arena *arena)
{
    struct pl_artifact *a = arena_array(arena, r->n_outputs + 1, sizeof *a);
    size_t i;

    if (!a)
        return false;
    for (i = 0; i < r->n_outputs; i++)
        a[i] = (struct pl_artifact){r->output[i].name, r->output[i].bytes,
                                    r->output[i].sha256};
    step->artifact = a;
    step->n_artifacts = r->n_outputs;
    return true;
}

static int plan_step(struct pl_plan *plan, const struct pl_planner *p, size_t i,
                     struct err *err)
{
    struct pl_decision d;
    struct pl_step *step = &plan->step[plan->n];
    int rc = pl_decide(&d, p, i, err);

    if (rc != 0)
        return rc;
    p->known[i].state =
        pl_expected_error(stage_at(p, i)) ? PL_KNOWN_TO_FAIL : PL_KNOWN_PENDING;
    if (d.action == PL_SKIP)
        p->known[i].state = PL_KNOWN_FAILED;
    if (d.action == PL_UP_TO_DATE) {
        p->known[i].state = pl_known_whole(&d.last);
        rc = pl_record_outputs_hash(p->known[i].outputs, &d.last, err);
    }
    step->stage = arena_strdup(p->arena, stage_at(p, i)->id);
    step->kind = stage_at(p, i)->kind->name;
    step->action = d.action;
    step->state = d.state;
    step->reason = d.reason;
    step->changes = d.changes;
    if (d.state == PL_STATE_DONE || d.state == PL_STATE_STALE) {
        if (!list_artifacts(step, &d.last, p->arena) && rc == 0)
            rc = no_memory(stage_at(p, i), err);
    }
    plan->n++;
    return rc == 0 && !step->stage ? no_memory(stage_at(p, i), err) : rc;
}

int pl_plan_make(struct pl_plan **out, const struct pl_job *job,
                 struct err *err)
{
    struct pl_plan *plan = mem_zalloc(sizeof *plan);
    struct pl_planner p = {.job = job};
    size_t i, n = job->config->n_stages;
    int rc = 0;

    *out = NULL;
    if (!plan)
        return err_set(err, ERR_NOMEM, "out of memory planning");
    p.arena = &plan->arena;
    p.known = arena_array(&plan->arena, n + 1, sizeof *p.known);
    plan->step = arena_array(&plan->arena, n + 1, sizeof *plan->step);
    if (!p.known || !plan->step)
        rc = err_set(err, ERR_NOMEM, "out of memory planning");
    (void)pl_lock_held(job->dir, plan->holder);
    for (i = 0; rc == 0 && i < n; i++)
        if (job->selected[i])
            rc = plan_step(plan, &p, i, err);
    if (rc == 0)
        *out = plan;
    else
        pl_plan_free(plan);
    return rc;
}

void pl_plan_free(struct pl_plan *plan)
{
    if (!plan)
        return;
    arena_free(&plan->arena);
    mem_free(plan);
}

size_t pl_plan_work(const struct pl_plan *plan)
{
    size_t i, n = 0;

    for (i = 0; i < plan->n; i++)
        n += plan->step[i].action == PL_RUN ||
             plan->step[i].action == PL_MAY_RUN;
    return n;
}
