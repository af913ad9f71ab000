/* Several stages at once. Stages are looked at in the order of the plan; one
 * begins when what it needs is known. */
#include "pipeline/run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

#include "nn/base/mem.h"
#include "pipeline/run_child.h"

enum slot_state { NOT_BEGUN, AT_WORK, ENDED, SHOWN };
struct slot {
    enum slot_state state;
    bool told; /* it ran here and has told of itself */
    struct pl_decision d;
    struct pl_child child; /* d.action is PL_RUN and not told */
    int rc;
    struct err err;
};

struct jobs {
    struct pl_run *run;
    struct slot *slot; /* n stages */
    struct pollfd *poll;
    size_t n, at_work;
    bool closed; /* nothing begins any more */
    volatile sig_atomic_t *stop;
    int first; /* failure, in the order of the plan */
    struct err *err;
};

static const struct pl_stage *stage_at(const struct jobs *j, size_t i)
{
    return &j->run->job->config->stages[i];
}

/* The device, or the clock, is for one alone. */
static bool wants_all(const struct pl_stage *s)
{
    return s->kind->needs_device || s->kind->measures;
}

static bool ready(const struct jobs *j, size_t i)
{
    const struct pl_stage *s = stage_at(j, i);
    size_t k;

    for (k = 0; k < s->n_needs; k++) {
        size_t need = pl_job_index(j->run->job->config, s->needs[k]);

        if (need < i && j->run->job->selected[need] &&
            j->slot[need].state < ENDED)
            return false;
    }
    return true;
}

static void note_end(struct jobs *j, size_t i, int rc)
{
    struct slot *s = &j->slot[i];

    s->state = ENDED;
    s->rc = rc;
    if (rc == 0)
        return;
    j->run->known[i].state = PL_KNOWN_FAILED;
    if (!j->run->job->opts->keep_going)
        j->closed = true;
}

/* Tells of a stage that ended, as pl_run of one after the other would. */
static void show(struct jobs *j, size_t i)
{
    struct slot *s = &j->slot[i];
    struct err e = {0};

    s->state = SHOWN;
    if (!s->told && s->d.reason && pl_run_tell(j->run, i, &s->d, &e) != 0 &&
        s->rc == 0) {
        s->rc = e.code;
        s->err = e;
    }
    if (!s->told) {
        pl_child_replay(&s->child, j->run);
        if (s->rc == 0 && s->d.action == PL_RUN)
            pl_run_tell_ended(j->run, i, s->child.seconds);
    }
    pl_child_free(&s->child);
    if (s->rc == 0 || (s->rc == ERR_INTERRUPTED && pl_run_stopping(j->run)))
        return;
    pl_run_tell_failed(j->run, i, &s->err);
    if (j->first == 0) {
        j->first = s->rc;
        *j->err = s->err;
    }
}

/* Shows what ended, up to the first stage that is still to be waited for. */
static void show_ended(struct jobs *j)
{
    size_t i;

    for (i = 0; i < j->n; i++) {
        if (j->slot[i].state == ENDED)
            show(j, i);
        else if (j->slot[i].state == AT_WORK ||
                 (j->slot[i].state == NOT_BEGUN && !j->closed &&
                  j->run->job->selected[i]))
            return;
    }
}

static int begin_child(struct jobs *j, size_t i)
{
    struct slot *s = &j->slot[i];
    int rc = pl_run_stage_begin(j->run, i, &s->d, &s->err);

    if (rc == 0)
        rc = pl_child_start(&s->child, j->run, &s->d, j->stop, &s->err);
    pl_run_stage_end(j->run);
    if (rc == 0) {
        s->state = AT_WORK;
        j->at_work++;
    }
    return rc;
}

/* A stage that runs alone: everything before it has been shown. */
static int run_here(struct jobs *j, size_t i)
{
    struct slot *s = &j->slot[i];
    int rc = pl_run_tell(j->run, i, &s->d, &s->err);

    s->told = true;
    return rc != 0 ? rc : pl_run_stage(j->run, i, &s->d, &s->err);
}

/* Takes up stage i, which is ready. */
static void take_up(struct jobs *j, size_t i)
{
    struct slot *s = &j->slot[i];
    int rc = pl_run_decide(j->run, i, &s->d, &s->err);

    if (rc == 0 && s->d.action == PL_RUN && !wants_all(stage_at(j, i))) {
        rc = begin_child(j, i);
        if (rc == 0)
            return;
    } else if (rc == 0 && s->d.action == PL_RUN)
        rc = run_here(j, i);
    if (rc == 0 && s->d.action != PL_SKIP)
        rc = pl_locked_outputs(j->run, i, &s->err);
    note_end(j, i, rc);
}

/* Begins what can begin. False: nothing did. */
static bool begin_ready(struct jobs *j)
{
    size_t i, most = (size_t)j->run->job->opts->jobs;
    bool any = false;

    for (i = 0; i < j->n && !j->closed && j->at_work < most; i++) {
        if (j->slot[i].state != NOT_BEGUN || !j->run->job->selected[i] ||
            !ready(j, i))
            continue;
        if (wants_all(stage_at(j, i))) {
            if (j->at_work > 0)
                break; /* its turn comes when the others have ended */
            show_ended(j);
        }
        take_up(j, i);
        any = true;
    }
    return any;
}

static void take_end(struct jobs *j, size_t i)
{
    struct slot *s = &j->slot[i];
    struct pl_known *known = &j->run->known[i];
    int rc = s->child.rc;

    j->at_work--;
    s->err = s->child.err;
    if (rc == 0) {
        *known = s->child.known;
        rc = pl_locked_outputs(j->run, i, &s->err);
    }
    note_end(j, i, rc);
}

/* Waits until a stage has something to tell, or a moment. */
static void await_news(struct jobs *j)
{
    nfds_t n = 0;
    size_t i, k = 0;

    for (i = 0; i < j->n; i++)
        if (j->slot[i].state == AT_WORK)
            j->poll[n++] =
                (struct pollfd){.fd = j->slot[i].child.fd, .events = POLLIN};
    if (poll(j->poll, n, 50) <= 0)
        return;
    for (i = 0; i < j->n; i++) {
        if (j->slot[i].state != AT_WORK)
            continue;
        if (j->poll[k++].revents != 0 &&
            !pl_child_read(&j->slot[i].child, j->run, stage_at(j, i)->id))
            take_end(j, i);
    }
}

static void work_through(struct jobs *j)
{
    for (;;) {
        bool any;

        if (pl_run_stopping(j->run)) {
            *j->stop = 1;
            j->closed = true;
        }
        any = begin_ready(j);
        show_ended(j);
        if (!any && j->at_work == 0)
            return;
        if (j->at_work > 0)
            await_news(j);
    }
}

/* The error of a run that was stopped: that of the stage it stopped. */
static int stopped(const struct jobs *j, struct err *err)
{
    size_t i;

    for (i = 0; i < j->n; i++) {
        if (j->slot[i].rc == ERR_INTERRUPTED) {
            *err = j->slot[i].err;
            return ERR_INTERRUPTED;
        }
    }
    return pl_run_stopped(err);
}

int pl_run_jobs(struct pl_run *run, struct err *err)
{
    struct jobs j = {.run = run, .n = run->job->config->n_stages, .err = err};
    void *shared = mmap(NULL, sizeof *j.stop, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    size_t i;
    int rc;

    if (shared == MAP_FAILED)
        return err_sys(err, "cannot share memory with the stages' processes");
    j.stop = shared;
    j.slot = arena_array(&run->arena, j.n + 1, sizeof *j.slot);
    j.poll = arena_array(&run->arena, j.n + 1, sizeof *j.poll);
    if (!j.slot || !j.poll)
        rc = err_set(err, ERR_NOMEM, "out of memory starting the run");
    else {
        work_through(&j);
        rc = pl_run_stopping(run) ? stopped(&j, err) : j.first;
    }
    for (i = 0; j.slot && i < j.n; i++)
        pl_child_free(&j.slot[i].child);
    (void)munmap(shared, sizeof *j.stop);
    return rc;
}
