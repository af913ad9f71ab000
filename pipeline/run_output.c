#include "pipeline/run.h"

#include <stdarg.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/facts.h"
#include "pipeline/stage.h"

int pl_log_open(struct pl_run *run, const char *reason, struct err *err)
{
    struct pl_work *w = &run->work;
    const char *recipe = pl_job_recipe(run->job);
    char now[PL_TIME_LEN];
    char *path = io_join(w->dir, "log.txt");

    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory opening a log");
    w->log = fopen(path, "ae");
    if (!w->log) {
        int rc = err_sys(err, "cannot write '%s'", path);

        mem_free(path);
        return rc;
    }
    mem_free(path);
    (void)setvbuf(w->log, NULL, _IOLBF, BUFSIZ);
    pl_time_now(now);
    (void)fprintf(w->log, "Using device: %s\n", run->device_line);
    if (recipe[0])
        (void)fprintf(w->log, "%s: %s\n", pl_job_name(run->job), recipe);
    (void)fprintf(w->log, "%s begins at %s (%s)\n", w->stage->id, now, reason);
    return 0;
}

void pl_log_line(struct pl_run *run, const char *line)
{
    if (run->work.log)
        (void)fprintf(run->work.log, "%s\n", line);
}

int pl_log_close(struct pl_run *run, struct err *err)
{
    struct pl_work *w = &run->work;
    FILE *f = w->log;
    bool bad;

    w->log = NULL;
    if (!f)
        return 0;
    bad = ferror(f) != 0;
    if (fclose(f) != 0 || bad)
        return err_sys(err, "cannot write '%s/log.txt'", w->dir);
    return 0;
}

/* Formats a line, writes it to the log and hands it to show. */
static void tell(struct pl_stage_ctx *ctx,
                 void (*show)(void *user, const char *line), const char *fmt,
                 va_list ap)
{
    struct str s = {0};

    str_addv(&s, fmt, ap);
    if (s.failed || !s.text)
        ctx->run->work.failed = true;
    else {
        pl_log_line(ctx->run, s.text);
        show(ctx->run->ui->user, s.text);
    }
    str_free(&s);
}

void pl_say(struct pl_stage_ctx *ctx, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tell(ctx, ctx->run->ui->say, fmt, ap);
    va_end(ap);
}

void pl_log(struct pl_stage_ctx *ctx, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    tell(ctx, ctx->run->ui->log, fmt, ap);
    va_end(ap);
}

void pl_progress(struct pl_stage_ctx *ctx, const struct pl_progress *p)
{
    ctx->run->ui->progress(ctx->run->ui->user, ctx->stage->id, p);
}

bool pl_timed_out(const struct pl_run *run)
{
    return run->work.deadline > 0 && pl_clock() >= run->work.deadline;
}

bool pl_stopping(const struct pl_stage_ctx *ctx)
{
    const struct pl_run *run = ctx->run;

    return run->ui->stopping(run->ui->user) || pl_timed_out(run);
}
