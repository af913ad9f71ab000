#include "pipeline/fetch.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nn/base/mem.h"
#include "pipeline/fetch_cache.h"
#include "pipeline/json_file.h"

void pl_fetched_free(struct pl_fetched *f)
{
    size_t i;

    for (i = 0; i < f->n; i++) {
        mem_free(f->file[i].name);
        mem_free(f->file[i].path);
    }
    mem_free(f->file);
    f->file = NULL;
    f->n = 0;
}

const char *pl_fetched_path(const struct pl_fetched *f, const char *role)
{
    size_t i;

    for (i = 0; i < f->n; i++)
        if (strcmp(f->file[i].role, role) == 0)
            return f->file[i].path;
    return NULL;
}

static int no_memory(const char *path, struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for '%s'", path);
}

int pl_fetched_write(const struct pl_fetched *f, const char *path,
                     struct err *err)
{
    json_t *files = json_array();
    size_t i;

    for (i = 0; files && i < f->n; i++) {
        const struct pl_fetched_file *e = &f->file[i];
        json_t *one = json_pack(
            "{s:s, s:s, s:s?, s:s, s:I}", "role", e->role, "name", e->name,
            "sha256", e->packed[0] ? e->packed : NULL, "sha256_unpacked",
            e->sha256, "bytes", (json_int_t)e->bytes);

        if (json_array_append_new(files, one) != 0) {
            json_decref(files);
            files = NULL;
        }
    }
    return pl_json_write(files ? json_pack("{s:o}", "files", files) : NULL,
                         path, err);
}

static bool is_hex(const char *s)
{
    return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

static int bad_record(const char *path, size_t i, struct err *err)
{
    return err_set(err, ERR_CORRUPT,
                   "'%s' is no record of downloads: entry %zu is not a map of "
                   "role, name, sha256, sha256_unpacked and bytes",
                   path, i);
}

static int check_blob(struct pl_fetched_file *e, struct err *err)
{
    struct stat st;

    if (stat(e->path, &st) != 0)
        return err_set(err, ERR_FETCH,
                       "'%s' is no longer in the cache ('%s'): fetch it again",
                       e->name, e->path);
    if ((uint64_t)st.st_size != e->bytes)
        return err_set(err, ERR_FETCH,
                       "'%s' in the cache has %llu bytes, not %llu: fetch it "
                       "again",
                       e->path, (unsigned long long)st.st_size,
                       (unsigned long long)e->bytes);
    return 0;
}

static int read_entry(struct pl_fetched *f, json_t *entry, const char *path,
                      const char *cache, struct err *err)
{
    const char *role, *name, *packed, *hex;
    struct pl_fetched_file *e = &f->file[f->n];
    json_int_t bytes;

    if (json_unpack(entry, "{s:s, s:s, s:s, s:I}", "role", &role, "name", &name,
                    "sha256_unpacked", &hex, "bytes", &bytes) != 0)
        return bad_record(path, f->n, err);
    packed = json_string_value(json_object_get(entry, "sha256"));
    if (strlen(role) >= sizeof e->role || !is_hex(hex) || bytes < 0 ||
        (packed && !is_hex(packed)))
        return bad_record(path, f->n, err);
    f->n++;
    (void)snprintf(e->role, sizeof e->role, "%s", role);
    (void)snprintf(e->packed, sizeof e->packed, "%s", packed ? packed : "");
    (void)snprintf(e->sha256, sizeof e->sha256, "%s", hex);
    e->bytes = (uint64_t)bytes;
    e->name = mem_strdup(name);
    e->path = pl_cache_blob(cache, hex);
    if (!e->name || !e->path)
        return no_memory(path, err);
    return check_blob(e, err);
}

static int read_entries(struct pl_fetched *f, json_t *root, const char *path,
                        const char *cache, struct err *err)
{
    json_t *files = json_object_get(root, "files");
    size_t i, n = json_array_size(files);
    int rc = 0;

    if (!json_is_array(files))
        return err_set(err, ERR_CORRUPT,
                       "'%s' is no record of downloads: it has no list 'files'",
                       path);
    f->file = mem_array(n + 1, sizeof *f->file);
    if (!f->file)
        return no_memory(path, err);
    for (i = 0; rc == 0 && i < n; i++)
        rc = read_entry(f, json_array_get(files, i), path, cache, err);
    return rc;
}

int pl_fetched_read(struct pl_fetched *out, const char *path, const char *cache,
                    struct err *err)
{
    json_t *root = NULL;
    char *dir = NULL;
    int rc = pl_cache_dir(&dir, cache, err);

    memset(out, 0, sizeof *out);
    if (rc == 0)
        rc = pl_json_read(&root, path, err);
    if (rc == 0)
        rc = read_entries(out, root, path, dir, err);
    if (rc != 0)
        pl_fetched_free(out);
    json_decref(root);
    mem_free(dir);
    return rc;
}
