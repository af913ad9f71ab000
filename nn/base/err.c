#include "nn/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* True when *err may be written: present and still empty. */
static int err_free_to_fill(const struct err *err)
{
    return err && err->code == 0;
}

int err_set_(struct err *err, int code, const char *src, const char *fmt, ...)
{
    va_list ap;

    if (err_free_to_fill(err)) {
        err->code = code;
        err->src = src;
        va_start(ap, fmt);
        (void)vsnprintf(err->msg, sizeof err->msg, fmt, ap);
        va_end(ap);
    }
    return err ? err->code : code;
}

int err_sys_(struct err *err, const char *src, const char *fmt, ...)
{
    int saved = errno;
    int code = saved == ENOMEM ? ERR_NOMEM : ERR_IO;
    size_t len;
    va_list ap;

    if (err_free_to_fill(err)) {
        err->code = code;
        err->src = src;
        va_start(ap, fmt);
        (void)vsnprintf(err->msg, sizeof err->msg, fmt, ap);
        va_end(ap);
        len = strlen(err->msg);
        (void)snprintf(err->msg + len, sizeof err->msg - len, ": %s",
                       strerror(saved));
    }
    return err ? err->code : code;
}

void err_at(struct err *err, const char *fmt, ...)
{
    va_list ap;

    if (!err || err->at[0] != '\0')
        return;
    va_start(ap, fmt);
    (void)vsnprintf(err->at, sizeof err->at, fmt, ap);
    va_end(ap);
}

void err_clear(struct err *err)
{
    if (err)
        memset(err, 0, sizeof *err);
}
