/* What the executor and the checker found, one line each on stderr. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/cuda/cusim_exec.h"

enum { SHOWN = 20 };

static unsigned reports;

unsigned cusim_reports(void)
{
    return reports;
}

void cusim_report(const char *kind, const char *fmt, ...)
{
    char text[600];
    va_list ap;

    if (reports++ >= SHOWN)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (cusim_cur)
        fprintf(stderr, "cusim: %s in %s block %u thread %u: %s\n", kind,
                cusim_blk.kernel, cusim_blk.lin, cusim_cur->lin, text);
    else
        fprintf(stderr, "cusim: %s: %s\n", kind, text);
}

/* The innermost line that is not the shim's: an atomic is inlined. */
static bool ask_addr2line(char *out, size_t size, const char *file,
                          unsigned long offset)
{
    char cmd[600];
    bool found = false;
    FILE *in;

    (void)snprintf(cmd, sizeof cmd, "addr2line -i -e '%s' 0x%lx 2>/dev/null",
                   file, offset);
    in = popen(cmd, "r");
    if (!in)
        return false;
    while (!found && fgets(out, (int)size, in)) {
        out[strcspn(out, " \n")] = '\0';
        found = !strstr(out, "/cusim") && out[0] != '?' &&
                !strstr(out, "/include/c++/");
    }
    (void)pclose(in);
    return found;
}

void cusim_place(char *out, size_t size, const void *pc)
{
    Dl_info info;
    unsigned long offset;

    /* Asking takes a process: not for what is not shown. */
    if (!pc || reports >= SHOWN || !dladdr(pc, &info) || !info.dli_fname) {
        (void)snprintf(out, size, "%p", pc);
        return;
    }
    offset = (unsigned long)((const char *)pc - (const char *)info.dli_fbase) -
             1; /* the call itself, not what it returns to */
    if (!ask_addr2line(out, size, info.dli_fname, offset))
        (void)snprintf(out, size, "%s+0x%lx", info.dli_fname, offset);
}
