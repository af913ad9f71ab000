#include "pipeline/record.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/facts.h"
#include "pipeline/hash.h"
#include "pipeline/json_file.h"
#include "pipeline/pipeline.h"

/* Coarser than any clock tick that file times are taken from. */
enum { RACY_NS = 50 * 1000 * 1000 };

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void read_inputs(struct pl_inputs *out, const json_t *inputs)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)inputs, key, value)
    {
        const char *text = json_string_value(value);

        if (text)
            pl_inputs_add(out, key, text);
    }
}

static bool read_output(struct pl_output *o, const char *name,
                        const json_t *from, struct arena *arena)
{
    const char *hex = pl_json_text(from, "sha256", "");

    if (strlen(hex) != 64)
        return false;
    memcpy(o->sha256, hex, sizeof o->sha256);
    o->name = arena_strdup(arena, name);
    o->bytes = (uint64_t)json_integer_value(json_object_get(from, "bytes"));
    o->mtime_ns = json_integer_value(json_object_get(from, "mtime_ns"));
    o->ctime_ns = json_integer_value(json_object_get(from, "ctime_ns"));
    o->inode = (uint64_t)json_integer_value(json_object_get(from, "inode"));
    return o->name != NULL;
}

static bool read_outputs(struct pl_record *r, const json_t *outputs,
                         struct arena *arena)
{
    const char *name;
    json_t *value;

    r->output =
        arena_array(arena, json_object_size(outputs) + 1, sizeof *r->output);
    if (!r->output)
        return false;
    json_object_foreach((json_t *)outputs, name, value)
    {
        if (!read_output(&r->output[r->n_outputs++], name, value, arena))
            return false;
    }
    return true;
}

static bool read_record(struct pl_record *r, const json_t *root,
                        struct arena *arena)
{
    const char *hex = pl_json_text(root, "fingerprint", "");
    const json_t *host = json_object_get(root, "host");

    r->inputs.arena = r->gpu.arena = arena;
    r->state = arena_strdup(arena, pl_json_text(root, "state", ""));
    r->kind = arena_strdup(arena, pl_json_text(root, "kind", ""));
    r->error = arena_strdup(arena, pl_json_text(root, "error", ""));
    r->started = arena_strdup(arena, pl_json_text(root, "started", ""));
    r->device = arena_strdup(arena, pl_json_text(host, "device", "cpu"));
    r->backend = arena_strdup(arena, pl_json_text(host, "backend", ""));
    r->seconds = pl_json_number(root, "seconds", 0);
    r->changed =
        arena_strdup(arena, pl_json_text(root, "changed_meanwhile", ""));
    if (strlen(hex) != 64 || !r->state || !r->kind || !r->error ||
        !r->started || !r->device || !r->backend || !r->changed)
        return false;
    if (r->changed[0] == '\0')
        r->changed = NULL;
    memcpy(r->fingerprint, hex, sizeof r->fingerprint);
    read_inputs(&r->inputs, json_object_get(root, "inputs"));
    read_inputs(&r->gpu, json_object_get(root, "gpu"));
    return !r->inputs.failed && !r->gpu.failed &&
           read_outputs(r, json_object_get(root, "outputs"), arena);
}

bool pl_record_read(struct pl_record *r, const char *dir, const char *file,
                    struct arena *arena, const char **why)
{
    struct err none = {0};
    json_t *root = NULL;
    struct stat st;
    char *path = io_join(dir, file);
    bool ok = false;

    memset(r, 0, sizeof *r);
    *why = "missing";
    if (path && stat(path, &st) == 0) {
        *why = "damaged";
        r->written_ns = nanoseconds(st.st_mtim);
        ok = pl_json_read(&root, path, &none) == 0 &&
             read_record(r, root, arena);
    }
    json_decref(root);
    mem_free(path);
    return ok;
}

/* A JSON text; what is not UTF-8 cannot be one. */
static json_t *text_value(const char *text)
{
    json_t *v = json_string(text ? text : "");

    return v ? v : json_string("(not UTF-8)");
}

static json_t *inputs_value(const struct pl_inputs *in)
{
    json_t *o = json_object();
    size_t i;

    for (i = 0; i < in->n; i++)
        (void)json_object_set_new(o, in->item[i].key,
                                  text_value(in->item[i].value));
    return o;
}

static json_t *outputs_value(const struct pl_record *r)
{
    json_t *o = json_object();
    size_t i;

    for (i = 0; i < r->n_outputs; i++) {
        const struct pl_output *p = &r->output[i];

        (void)json_object_set_new(
            o, p->name,
            json_pack("{sI ss sI sI sI}", "bytes", (json_int_t)p->bytes,
                      "sha256", p->sha256, "mtime_ns", (json_int_t)p->mtime_ns,
                      "ctime_ns", (json_int_t)p->ctime_ns, "inode",
                      (json_int_t)p->inode));
    }
    return o;
}

static json_t *facts_value(const struct pl_metrics *facts)
{
    json_t *o = json_object();
    size_t i;

    for (i = 0; facts && i < facts->n; i++) {
        json_t *v = json_real(facts->item[i].value); /* NULL for a NaN */

        (void)json_object_set_new(o, facts->item[i].name, v ? v : json_null());
    }
    return o;
}

static json_t *verdicts_value(const struct pl_record *r)
{
    static const char *const outcome[] = {"passed", "failed", "not assessed",
                                          "graded by a person"};
    json_t *list = json_array();
    size_t i;

    for (i = 0; i < r->n_verdicts; i++) {
        const struct pl_verdict *v = &r->verdict[i];

        (void)json_array_append_new(
            list,
            json_pack("{so so ss sf sf}", "expectation",
                      text_value(v->expectation), "measured",
                      text_value(v->measured), "outcome", outcome[v->outcome],
                      "points", v->points, "of", v->of));
    }
    return list;
}

static json_t *host_value(const struct pl_record *r)
{
    char host[PL_HOST_LEN], cpu[PL_HOST_LEN];

    pl_host_name(host);
    pl_cpu_name(cpu);
    return json_pack("{so so ss so}", "name", text_value(host), "cpu",
                     text_value(cpu), "device", r->device, "backend",
                     text_value(r->backend));
}

int pl_record_write(const struct pl_record *r, const char *dir,
                    const char *file, struct err *err)
{
    json_t *root;
    char *path = io_join(dir, file);
    int rc;

    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory writing '%s'", file);
    root = json_pack(
        "{ss ss ss so ss ss so so ss sf so so so}", "format", PL_FORMAT,
        "program", PL_VERSION, "state", r->state, "error", text_value(r->error),
        "kind", r->kind, "fingerprint", r->fingerprint, "inputs",
        inputs_value(&r->inputs), "outputs", outputs_value(r), "started",
        r->started, "seconds", r->seconds, "facts", facts_value(r->facts),
        "host", host_value(r), "expectations", verdicts_value(r));
    if (root && r->gpu.n > 0)
        (void)json_object_set_new(root, "gpu", inputs_value(&r->gpu));
    if (root && r->changed)
        (void)json_object_set_new(root, "changed_meanwhile",
                                  text_value(r->changed));
    rc = pl_json_write(root, path, err);
    mem_free(path);
    return rc;
}

int pl_output_measure(struct pl_output *o, const char *dir, struct err *err)
{
    struct stat st;
    char *path = io_join(dir, o->name);
    int rc;

    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory hashing '%s'", o->name);
    if (stat(path, &st) != 0)
        rc = err_sys(err, "cannot read the artifact '%s'", path);
    else
        rc = pl_hash_file(o->sha256, &o->bytes, path, err);
    mem_free(path);
    if (rc != 0)
        return rc;
    o->mtime_ns = nanoseconds(st.st_mtim);
    o->ctime_ns = nanoseconds(st.st_ctim);
    o->inode = (uint64_t)st.st_ino;
    return 0;
}

static bool looks_untouched(const struct pl_record *r,
                            const struct pl_output *o, const struct stat *st)
{
    return o->inode == (uint64_t)st->st_ino &&
           o->mtime_ns == nanoseconds(st->st_mtim) &&
           o->ctime_ns == nanoseconds(st->st_ctim) &&
           o->mtime_ns < r->written_ns - RACY_NS;
}

static bool output_intact(const struct pl_record *r, const struct pl_output *o,
                          const char *path, struct str *why)
{
    struct err none = {0};
    struct stat st;
    char hex[65];
    uint64_t bytes;

    if (stat(path, &st) != 0) {
        str_addf(why, errno == ENOENT ? "%s is missing" : "%s cannot be read",
                 o->name);
        return false;
    }
    if ((uint64_t)st.st_size == o->bytes) {
        if (looks_untouched(r, o, &st))
            return true;
        if (pl_hash_file(hex, &bytes, path, &none) == 0 &&
            strcmp(hex, o->sha256) == 0)
            return true;
    }
    str_addf(why, "%s was changed", o->name);
    return false;
}

bool pl_record_intact(const struct pl_record *r, const char *dir,
                      struct str *why)
{
    size_t i;
    bool ok = true;

    for (i = 0; ok && i < r->n_outputs; i++) {
        char *path = io_join(dir, r->output[i].name);

        ok = path && output_intact(r, &r->output[i], path, why);
        mem_free(path);
    }
    return ok;
}

void pl_record_faults(const struct pl_record *r, const char *dir,
                      struct str *lines)
{
    struct str one = {0};
    size_t i;

    for (i = 0; i < r->n_outputs; i++) {
        char *path = io_join(dir, r->output[i].name);

        str_clear(&one);
        if (path && !output_intact(r, &r->output[i], path, &one))
            str_addf(lines, "%s%s", lines->len ? "\n" : "",
                     one.text ? one.text : "");
        lines->failed = lines->failed || one.failed || !path;
        mem_free(path);
    }
    str_free(&one);
}

int pl_record_outputs_hash(char hex[65], const struct pl_record *r,
                           struct err *err)
{
    struct str s = {0};
    size_t i;
    int rc;

    str_add(&s, "");
    for (i = 0; i < r->n_outputs; i++)
        str_addf(&s, "%s\n%s\n", r->output[i].name, r->output[i].sha256);
    if (s.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory hashing outputs");
    else
        rc = pl_hash_bytes(hex, s.text, s.len, err);
    str_free(&s);
    return rc;
}
