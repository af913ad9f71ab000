#include "pipeline/host_state.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first line of a file, "" if there is none. */
static void first_line(char *line, int size, const char *path)
{
    FILE *f = fopen(path, "re");

    line[0] = '\0';
    if (!f)
        return;
    if (!fgets(line, size, f))
        line[0] = '\0';
    (void)fclose(f);
}

/* "cpu MHz : 2995.2" of processor core in /proc/cpuinfo. */
static double mhz_of_cpuinfo(int core)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    double mhz = NAN;
    long at = -1;

    while (f && isnan(mhz) && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');

        if (colon && strncmp(line, "processor", 9) == 0)
            at = strtol(colon + 1, NULL, 10);
        else if (colon && at == core && strncmp(line, "cpu MHz", 7) == 0)
            mhz = strtod(colon + 1, NULL);
    }
    if (f)
        (void)fclose(f);
    return mhz;
}

static double core_mhz(void)
{
    int core = sched_getcpu();
    char path[80], line[64];

    if (core < 0)
        return NAN;
    (void)snprintf(path, sizeof path,
                   "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq",
                   core);
    first_line(line, sizeof line, path);
    if (line[0])
        return strtod(line, NULL) / 1000; /* it is in kHz */
    return mhz_of_cpuinfo(core);
}

/* "cpu user nice system idle iowait irq softirq steal ..." (proc(5)); what
 * follows is part of user and nice. */
static void read_ticks(struct pl_host_state *out)
{
    char line[256];
    char *p = line + 4, *end;
    int i;

    out->steal = out->ticks = NAN;
    first_line(line, sizeof line, "/proc/stat");
    if (strncmp(line, "cpu ", 4) != 0)
        return;
    for (i = 0, out->ticks = 0; i < 8; i++, p = end) {
        double v = strtod(p, &end);

        if (end == p)
            break;
        out->ticks += v;
        if (i == 7)
            out->steal = v;
    }
}

void pl_host_state(struct pl_host_state *out, const struct nn_backend *be)
{
    out->cpu_mhz = core_mhz();
    if (getloadavg(&out->load, 1) != 1)
        out->load = NAN;
    read_ticks(out);
    pl_gpu_state(&out->gpu, be->pci_bus_id);
}

double pl_host_steal(const struct pl_host_state *before,
                     const struct pl_host_state *after)
{
    double all = after->ticks - before->ticks;

    if (!(all > 0)) /* less than a tick went by */
        return all == 0 ? 0 : NAN;
    return 100 * (after->steal - before->steal) / all;
}
