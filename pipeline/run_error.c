/* The end of a stage that failed: as it was meant to, or not. */
#include "pipeline/run.h"

#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/expect_error.h"

enum { PATH_BYTES = 4096 };

/* The folders that say nothing about a failure: where we stand, the results,
 * the stage, the config; each as it is and absolute. Freed by free_folders. */
struct folders {
    const char *dir[9];
    char *own[5];
};

static void name_folders(struct folders *f, const struct pl_run *run,
                         const char *cwd)
{
    const struct pl_work *w = &run->work;
    const char *is[4] = {w->dir, w->home, run->job->out, NULL};
    size_t i;

    memset(f, 0, sizeof *f);
    f->own[4] = io_dirname(w->stage->home->path);
    is[3] = f->own[4];
    for (i = 0; i < 4; i++) {
        f->own[i] = cwd && is[i] ? io_join(cwd, is[i]) : NULL;
        f->dir[2 * i] = is[i];
        f->dir[2 * i + 1] = f->own[i];
    }
    f->dir[8] = cwd;
}

static void free_folders(struct folders *f)
{
    size_t i;

    for (i = 0; i < 5; i++)
        mem_free(f->own[i]);
}

/* The message as it is recorded and judged, in the arena of the stage: the
 * same wherever the results lie. NULL: out of memory. */
static const char *error_text(struct pl_run *run, const char *message)
{
    char buf[PATH_BYTES];
    struct folders f;
    struct str s = {0};
    const char *out = NULL;

    name_folders(&f, run, getcwd(buf, sizeof buf));
    str_add(&s, "");
    pl_error_text(&s, message, f.dir, 9);
    if (!s.failed)
        out = arena_strdup(&run->work.arena, s.text);
    str_free(&s);
    free_folders(&f);
    return out;
}

bool pl_run_may_retry(struct pl_run *run, const struct err *err)
{
    const char *text;

    if (err->code == ERR_INTERRUPTED)
        return false;
    if (!pl_expected_error(run->work.stage) || !pl_error_counts(err->code))
        return true;
    text = error_text(run, err->msg);
    return !text || !pl_error_expected(run->work.stage, text);
}

/* Another failure than was to come. */
static int other_error(const char *text, const char *expected, struct err *err)
{
    struct err was = *err;

    err_clear(err);
    (void)err_set(err, was.code, "%.500s; a message with '%.200s' was to come",
                  text, expected);
    err->src = was.src;
    memcpy(err->at, was.at, sizeof err->at);
    return was.code;
}

int pl_run_failed(struct pl_run *run, struct pl_record *r, struct err *err)
{
    const struct pl_stage *s = run->work.stage;
    const char *expected = pl_expected_error(s), *text;
    struct str line = {0};

    if (!expected || !pl_error_counts(err->code))
        return err->code;
    text = error_text(run, err->msg);
    if (!text)
        return err->code;
    if (!pl_error_expected(s, text))
        return other_error(text, expected, err);
    err_clear(err);
    r->error = text;
    str_addf(&line, "stage '%s' failed as expected: %s", s->id, text);
    if (line.failed)
        return err_set(err, ERR_NOMEM, "out of memory ending stage '%s'",
                       s->id);
    pl_log_line(run, line.text);
    run->ui->log(run->ui->user, line.text);
    str_free(&line);
    return 0;
}
