#include "pipeline/run_apart.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipeline/run_child.h"

/* What a process that opened the device tells of it. */
struct seen {
    int rc;
    struct err err; /* without pointers of its own: the device has no file */
    struct pl_run_device device;
    char line[200];
};

static void note_device(struct pl_run_device *out, const struct nn_backend *be)
{
    (void)snprintf(out->name, sizeof out->name, "%s", be->ops->name);
    (void)snprintf(out->description, sizeof out->description, "%s",
                   be->description);
}

int pl_run_device_open(struct pl_run *run, struct err *err)
{
    const struct pl_opts *o = run->job->opts;
    const struct nn_device_opts device = {o->device, o->threads};
    int rc = nn_backend_open(&run->be, &device, run->device_line, err);

    if (rc == 0)
        note_device(&run->device, run->be);
    return rc;
}

static void look(struct pl_run *run, int fd)
{
    struct seen s;

    memset(&s, 0, sizeof s);
    s.rc = pl_run_device_open(run, &s.err);
    s.device = run->device;
    memcpy(s.line, run->device_line, sizeof s.line);
    nn_backend_close(run->be);
    _exit(write(fd, &s, sizeof s) == (ssize_t)sizeof s ? 0 : 1);
}

static bool read_seen(int fd, struct seen *s)
{
    char *to = (char *)s;
    size_t left = sizeof *s;

    while (left > 0) {
        ssize_t n = read(fd, to, left);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        left -= (size_t)n;
    }
    return true;
}

/* Has a child open the device, so that this process does not. */
static int learn(struct pl_run *run, struct err *err)
{
    struct seen s;
    int ends[2];
    bool told;
    pid_t pid;

    if (pipe(ends) != 0)
        return err_sys(err, "cannot look for the device");
    pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        look(run, ends[1]);
    }
    (void)close(ends[1]);
    told = pid > 0 && read_seen(ends[0], &s);
    (void)close(ends[0]);
    if (pid < 0)
        return err_sys(err, "cannot start a process to look for the device");
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    if (!told)
        return err_set(err, ERR_DEVICE,
                       "the process that opens device '%s' ended without a "
                       "word",
                       run->job->opts->device ? run->job->opts->device
                                              : "auto");
    run->device = s.device;
    memcpy(run->device_line, s.line, sizeof s.line);
    if (s.rc != 0)
        *err = s.err;
    return s.rc;
}

static bool measures(const struct pl_run *run)
{
    const struct pl_config *c = run->job->config;
    size_t i;

    for (i = 0; i < c->n_stages; i++)
        if (run->job->selected[i] && c->stages[i].kind->measures)
            return true;
    return false;
}

int pl_run_device(struct pl_run *run, struct err *err)
{
    const char *asked = run->job->opts->device;
    int rc;

    if ((asked && strcmp(asked, "cpu") == 0) || !measures(run))
        return pl_run_device_open(run, err);
    rc = learn(run, err);
    if (rc != 0)
        return rc;
    run->apart = strcmp(run->device.name, "cpu") != 0;
    return run->apart ? 0 : pl_run_device_open(run, err);
}

/* Shows what the child tells until it has ended. */
static void follow(struct pl_child *c, struct pl_run *run,
                   volatile sig_atomic_t *stop)
{
    struct pollfd p = {.events = POLLIN};

    for (;;) {
        if (pl_run_stopping(run))
            *stop = 1;
        p.fd = c->fd;
        if (poll(&p, 1, 50) > 0 && !pl_child_read(c, run, run->work.stage->id))
            break;
        pl_child_replay(c, run);
        str_clear(&c->told);
    }
    pl_child_replay(c, run);
}

int pl_run_stage_apart(struct pl_run *run, const struct pl_decision *d,
                       double *seconds, struct err *err)
{
    size_t i = (size_t)(run->work.stage - run->job->config->stages);
    struct pl_child child;
    void *stop = mmap(NULL, sizeof(sig_atomic_t), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int rc;

    if (stop == MAP_FAILED)
        return err_sys(err, "cannot share memory with a stage's process");
    rc = pl_child_start(&child, run, d, stop, err);
    if (rc == 0) {
        follow(&child, run, stop);
        rc = child.rc;
        *seconds = child.seconds;
        if (rc == 0)
            run->known[i] = child.known;
        else
            *err = child.err;
    }
    pl_child_free(&child);
    (void)munmap(stop, sizeof(sig_atomic_t));
    return rc;
}
