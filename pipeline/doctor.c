/* What this machine has that a run could use. */
#include <string.h>
#include <unistd.h>

#include "nn/backend.h"
#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/pool.h"
#include "nn/probe.h"
#include "pipeline/facts.h"
#include "pipeline/fetch_cache.h"
#include "pipeline/memory_facts.h"
#include "pipeline/pipeline.h"

struct doctor {
    char cpu[PL_HOST_LEN];
    int cores;
    const char *isa;
    struct pl_memory memory;
    char *cache; /* NULL: none can be told */
    struct err cache_error;
    const char *cache_is; /* "writable" */
    struct nn_probe gpu;
};

/* Whether downloads could be put there. A folder that is not there yet is made
 * in the nearest one above it that is. */
static const char *state_of(const char *dir)
{
    char *path = mem_strdup(dir);
    bool there = io_exists(dir);
    const char *is = "not writable";

    while (path && path[0] && !io_exists(path)) {
        char *slash = strrchr(path, '/');

        if (!slash || slash == path)
            break;
        *slash = '\0';
    }
    if (path && access(io_exists(path) ? path : ".", W_OK | X_OK) == 0)
        is = there ? "writable" : "not there yet";
    mem_free(path);
    return is;
}

static void examine(struct doctor *d)
{
    memset(d, 0, sizeof *d);
    pl_cpu_name(d->cpu);
    d->cores = pool_cores();
    d->isa = nn_cpu_isa();
    pl_memory_read(&d->memory);
    if (pl_cache_dir(&d->cache, NULL, &d->cache_error) == 0)
        d->cache_is = state_of(d->cache);
    nn_probe(&d->gpu);
}

static double gib(double bytes)
{
    return bytes / (1024.0 * 1024.0 * 1024.0);
}

static void add_memory(const struct pl_memory *m, struct str *out)
{
    str_add(out, "memory   ");
    if (m->total == 0)
        str_add(out, "unknown");
    else
        str_addf(out, "%.1f GiB, %.1f GiB available", gib(m->total),
                 gib(m->available));
    if (m->limit > 0)
        str_addf(out, ", limited to %.1f GiB", gib(m->limit));
    str_addc(out, '\n');
}

static void add_version(struct str *out, int version)
{
    str_addf(out, "%d.%d", version / 1000, version % 1000 / 10);
}

static void add_plugin(const struct nn_probe *g, struct str *out)
{
    str_add(out, "plug-in  ");
    if (g->plugin_loads)
        str_addf(out, "%s\n", g->plugin_path);
    else if (g->plugin_found)
        str_addf(out, "does not load: %s\n", g->plugin_error);
    else
        str_addf(out, "none (%s)\n", g->plugin_error);
}

static void add_driver(const struct nn_probe *g, struct str *out)
{
    str_add(out, "driver   ");
    if (!g->driver_found)
        str_add(out, "none");
    else if (g->driver_version > 0) {
        str_add(out, "for CUDA ");
        add_version(out, g->driver_version);
    } else
        str_add(out, "found");
    if (g->driver_error[0])
        str_addf(out, " (%s)", g->driver_error);
    str_addc(out, '\n');
}

static int shown(const struct nn_probe *g)
{
    return g->n_devices < NN_PROBE_DEVICES ? g->n_devices : NN_PROBE_DEVICES;
}

static void add_devices(const struct nn_probe *g, struct str *out)
{
    int i;

    if (g->n_devices == 0)
        str_add(out, "GPU      none\n");
    for (i = 0; i < shown(g); i++) {
        const struct nn_probe_device *p = &g->device[i];

        str_addf(out, "GPU      %s", p->name);
        if (p->simulated)
            str_add(out, ", simulated: no GPU, and auto leaves it");
        if (p->error[0])
            str_addf(out, ", cannot be used: %s", p->error);
        str_addc(out, '\n');
    }
    if (shown(g) < g->n_devices)
        str_addf(out, "GPU      and %d more\n", g->n_devices - shown(g));
}

void pl_doctor(struct str *out)
{
    struct doctor d;

    examine(&d);
    str_addf(out, "program  pipeline %s\n", PL_VERSION);
    str_addf(out, "CPU      %s, %d core%s to use, %s\n", d.cpu, d.cores,
             d.cores == 1 ? "" : "s", d.isa);
    add_memory(&d.memory, out);
    if (d.cache)
        str_addf(out, "cache    %s (%s)\n", d.cache, d.cache_is);
    else
        str_addf(out, "cache    none: %s\n", d.cache_error.msg);
    add_plugin(&d.gpu, out);
    add_driver(&d.gpu, out);
    add_devices(&d.gpu, out);
    str_addf(out, "auto     %s\n", d.gpu.auto_why);
    mem_free(d.cache);
}

/* "key": "text", or null. */
static void add_text(struct str *out, const char *key, const char *text)
{
    str_addf(out, "\"%s\": ", key);
    if (text && text[0])
        pl_text_json(text, out);
    else
        str_add(out, "null");
}

static void add_devices_json(const struct nn_probe *g, struct str *out)
{
    int i;

    str_add(out, "  \"gpus\": [");
    for (i = 0; i < shown(g); i++) {
        str_addf(out, "%s\n    {", i > 0 ? "," : "");
        add_text(out, "name", g->device[i].name);
        str_addf(out, ", \"simulated\": %s, ",
                 g->device[i].simulated ? "true" : "false");
        add_text(out, "error", g->device[i].error);
        str_addc(out, '}');
    }
    str_add(out, i > 0 ? "\n  ],\n" : "],\n");
}

static void add_cuda_json(const struct nn_probe *g, struct str *out)
{
    str_addf(out, "  \"plugin\": {\"found\": %s, \"loads\": %s, ",
             g->plugin_found ? "true" : "false",
             g->plugin_loads ? "true" : "false");
    add_text(out, "path", g->plugin_path);
    str_add(out, ", ");
    add_text(out, "error", g->plugin_error);
    str_addf(out, "},\n  \"driver\": {\"found\": %s, \"cuda\": ",
             g->driver_found ? "true" : "false");
    if (g->driver_version > 0) {
        str_addc(out, '"');
        add_version(out, g->driver_version);
        str_add(out, "\", ");
    } else
        str_add(out, "null, ");
    add_text(out, "error", g->driver_error);
    str_add(out, "},\n");
    add_devices_json(g, out);
}

void pl_doctor_json(struct str *out)
{
    struct doctor d;

    examine(&d);
    str_addf(out, "{\n  \"program\": \"%s\",\n  \"cpu\": {", PL_VERSION);
    add_text(out, "name", d.cpu);
    str_addf(out, ", \"cores\": %d, ", d.cores);
    add_text(out, "isa", d.isa);
    str_addf(out,
             "},\n  \"memory\": {\"total\": %.0f, \"available\": %.0f, "
             "\"limit\": %.0f},\n  \"cache\": {",
             d.memory.total, d.memory.available, d.memory.limit);
    add_text(out, "path", d.cache);
    str_add(out, ", ");
    add_text(out, "is", d.cache_is);
    str_add(out, "},\n");
    add_cuda_json(&d.gpu, out);
    str_addf(out, "  \"auto\": {\"device\": \"%s\", ",
             d.gpu.auto_cuda ? "cuda" : "cpu");
    add_text(out, "why", d.gpu.auto_why);
    str_add(out, "}\n}\n");
    mem_free(d.cache);
}
