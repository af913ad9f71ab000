#include "pipeline/memory_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind the name in a line of /proc/meminfo, in bytes. */
static void take(double *out, const char *line, const char *name)
{
    size_t n = strlen(name);

    if (strncmp(line, name, n) == 0)
        *out = strtod(line + n, NULL) * 1024;
}

static double first_number(const char *path)
{
    FILE *f = fopen(path, "re");
    char line[64] = "";

    if (!f)
        return 0;
    if (!fgets(line, sizeof line, f))
        line[0] = '\0';
    (void)fclose(f);
    return strtod(line, NULL); /* "max" is 0 */
}

void pl_memory_read(struct pl_memory *out)
{
    FILE *f = fopen("/proc/meminfo", "re");
    char line[128];

    memset(out, 0, sizeof *out);
    while (f && fgets(line, sizeof line, f)) {
        take(&out->total, line, "MemTotal:");
        take(&out->available, line, "MemAvailable:");
    }
    if (f)
        (void)fclose(f);
    out->limit = first_number("/sys/fs/cgroup/memory.max");
    if (out->limit == 0)
        out->limit =
            first_number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    if (out->limit >= out->total) /* as good as none */
        out->limit = 0;
}
