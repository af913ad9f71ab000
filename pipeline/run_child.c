#include "pipeline/run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/run_apart.h"

/* On the pipe stands one message after the other: this head, then its bytes.
 * Both ends are the same program on the same machine. */
enum message { SAY = 1, LOG, PROGRESS, REPORT };
struct head {
    enum message what;
    size_t len;
};

/* PROGRESS, followed by the text. */
struct progress {
    double done, total;
    char unit[16];
};

/* REPORT. The texts of struct err lie in it or in the program itself. */
struct report {
    int rc;
    struct err err;
    double seconds;
    struct pl_known known;
};

/* ---- in the child ---- */

struct teller {
    int fd;
    const volatile sig_atomic_t *stop;
};

static void put(int fd, const void *data, size_t len)
{
    const char *p = data;

    while (len > 0) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* nobody listens any more */
        p += n;
        len -= (size_t)n;
    }
}

static void post(int fd, enum message what, const void *data, size_t len)
{
    struct head h;

    memset(&h, 0, sizeof h);
    h.what = what;
    h.len = len;
    put(fd, &h, sizeof h);
    put(fd, data, len);
}

static void tell_say(void *user, const char *line)
{
    const struct teller *t = user;

    post(t->fd, SAY, line, strlen(line) + 1);
}

static void tell_log(void *user, const char *line)
{
    const struct teller *t = user;

    post(t->fd, LOG, line, strlen(line) + 1);
}

static void tell_progress(void *user, const char *stage,
                          const struct pl_progress *p)
{
    const struct teller *t = user;
    struct progress is = {.done = p->done, .total = p->total};
    struct str s = {0};

    (void)stage;
    (void)snprintf(is.unit, sizeof is.unit, "%s", p->unit);
    str_addn(&s, (const char *)&is, sizeof is);
    str_addn(&s, p->text, strlen(p->text) + 1);
    if (!s.failed)
        post(t->fd, PROGRESS, s.text, s.len);
    str_free(&s);
}

static bool asked_to_stop(void *user)
{
    const struct teller *t = user;

    return *t->stop != 0;
}

/* The parent alone hears signals, and dies with its children. */
static void become_child(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
}

static void work(struct pl_run *run, const struct pl_decision *d,
                 struct teller *t)
{
    const struct pl_ui ui = {.user = t,
                             .say = tell_say,
                             .log = tell_log,
                             .progress = tell_progress,
                             .stopping = asked_to_stop};
    size_t i = (size_t)(run->work.stage - run->job->config->stages);
    bool opens = run->apart && run->work.stage->kind->needs_device;
    struct report r;

    memset(&r, 0, sizeof r);
    run->ui = &ui;
    if (opens)
        r.rc = pl_run_device_open(run, &r.err);
    if (r.rc == 0)
        r.rc = pl_run_stage_work(run, d, &r.seconds, &r.err);
    if (opens) /* the parent's has threads that are not here */
        nn_backend_close(run->be);
    r.known = run->known[i];
    post(t->fd, REPORT, &r, sizeof r);
    _exit(0);
}

/* ---- in the parent ---- */

int pl_child_start(struct pl_child *c, struct pl_run *run,
                   const struct pl_decision *d,
                   const volatile sig_atomic_t *stop, struct err *err)
{
    const char *id = run->work.stage->id;
    pid_t parent = getpid();
    int ends[2];

    memset(c, 0, sizeof *c);
    c->fd = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, "cannot start stage '%s'", id);
    c->pid = fork();
    if (c->pid == 0) {
        struct teller t = {ends[1], stop};

        become_child(parent);
        (void)close(ends[0]);
        work(run, d, &t);
    }
    (void)close(ends[1]);
    if (c->pid < 0) {
        (void)close(ends[0]);
        c->pid = 0;
        return err_sys(err, "cannot start a process for stage '%s'", id);
    }
    c->fd = ends[0];
    return 0;
}

static void show_progress(const struct pl_run *run, const char *stage,
                          const char *data, size_t len)
{
    struct progress is;
    struct pl_progress p;

    if (len <= sizeof is)
        return;
    memcpy(&is, data, sizeof is);
    p = (struct pl_progress){data + sizeof is, is.done, is.total, is.unit};
    run->ui->progress(run->ui->user, stage, &p);
}

static void take_report(struct pl_child *c, const char *data, size_t len)
{
    struct report r;

    if (len != sizeof r)
        return;
    memcpy(&r, data, sizeof r);
    c->reported = true;
    c->rc = r.rc;
    c->err = r.err;
    c->seconds = r.seconds;
    c->known = r.known;
}

/* Takes the whole messages out of c->raw. */
static void take_messages(struct pl_child *c, const struct pl_run *run,
                          const char *stage)
{
    size_t at = 0;
    struct head h;

    while (c->raw.len - at >= sizeof h) {
        const char *data = c->raw.text + at + sizeof h;

        memcpy(&h, c->raw.text + at, sizeof h);
        if (c->raw.len - at - sizeof h < h.len)
            break;
        if (h.what == PROGRESS)
            show_progress(run, stage, data, h.len);
        else if (h.what == REPORT)
            take_report(c, data, h.len);
        else
            str_addn(&c->told, c->raw.text + at, sizeof h + h.len);
        at += sizeof h + h.len;
    }
    if (at > 0) {
        c->raw.len -= at;
        memmove(c->raw.text, c->raw.text + at, c->raw.len);
    }
}

/* What became of it, when it did not say so itself. */
static void take_end(struct pl_child *c, const char *stage)
{
    int status = 0;

    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    c->pid = 0;
    (void)close(c->fd);
    c->fd = -1;
    if (c->reported && !c->told.failed && !c->raw.failed)
        return;
    c->reported = true;
    if (c->told.failed || c->raw.failed)
        c->rc = err_set(&c->err, ERR_NOMEM,
                        "out of memory for what stage '%s' tells", stage);
    else if (WIFSIGNALED(status))
        c->rc = err_set(&c->err, ERR_IO, "its process was ended by signal %d",
                        WTERMSIG(status));
    else
        c->rc = err_set(&c->err, ERR_IO, "its process ended without a word");
}

bool pl_child_read(struct pl_child *c, const struct pl_run *run,
                   const char *stage)
{
    char buf[4096];
    ssize_t n = read(c->fd, buf, sizeof buf);

    if (n < 0 && errno == EINTR)
        return true;
    if (n > 0) {
        str_addn(&c->raw, buf, (size_t)n);
        if (!c->raw.failed) {
            take_messages(c, run, stage);
            return true;
        }
        (void)kill(c->pid, SIGKILL);
    }
    take_end(c, stage);
    return false;
}

void pl_child_replay(const struct pl_child *c, const struct pl_run *run)
{
    size_t at = 0;
    struct head h;

    while (at < c->told.len) {
        const char *line = c->told.text + at + sizeof h;

        memcpy(&h, c->told.text + at, sizeof h);
        if (h.what == SAY)
            run->ui->say(run->ui->user, line);
        else
            run->ui->log(run->ui->user, line);
        at += sizeof h + h.len;
    }
}

void pl_child_free(struct pl_child *c)
{
    if (c->pid > 0) {
        (void)kill(c->pid, SIGKILL);
        take_end(c, "");
    }
    str_free(&c->told);
    str_free(&c->raw);
}
