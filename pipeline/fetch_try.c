#include "pipeline/fetch_job.h"

#include <string.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "pipeline/fetch_cache.h"
#include "pipeline/fetch_mirror.h"
#include "pipeline/gunzip.h"
#include "pipeline/hash.h"

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a download");
}

/* Is what a mirror gave what was wanted? ERR_FETCH: no. */
static int check_part(const struct pl_fetch_job *j, char hex[65],
                      uint64_t *bytes, struct err *err)
{
    const char *wanted = j->file->sha256;
    unsigned char head[256];
    size_t n;
    int rc = pl_hash_file(hex, bytes, j->part, err);

    if (rc != 0 || (wanted && strcmp(wanted, hex) == 0))
        return rc;
    rc = pl_fetch_peek(head, sizeof head, &n, j->part, err);
    if (rc != 0)
        return rc;
    if (n == 0)
        return err_set(err, ERR_FETCH, "is empty");
    if (pl_is_html(head, n))
        return err_set(err, ERR_FETCH, "looks like an HTML page, not the file");
    if (wanted)
        return err_set(err, ERR_FETCH, "has sha256 %s, not %s", hex, wanted);
    return 0;
}

/* Fills j->part from a mirror and checks it. After a resumed download a wrong
 * checksum may be the fault of the first half: once more, from the start. */
static int get_part(struct pl_fetch_job *j, const char *place, char hex[65],
                    uint64_t *bytes, struct err *err)
{
    const struct pl_mirror_get get = {.place = place,
                                      .name = j->label,
                                      .part = j->part,
                                      .cache = j->f->cache,
                                      .resume = j->file->sha256 != NULL,
                                      .size = (uint64_t)j->file->size,
                                      .opts = &j->f->opts};
    bool resumed, again = false;
    int rc;

    do {
        err_clear(err);
        rc = pl_mirror_fetch(&get, &resumed, err);
        if (rc != 0)
            return rc;
        rc = check_part(j, hex, bytes, err);
        if (rc == ERR_FETCH)
            (void)unlink(j->part);
        again = !again && resumed;
    } while (rc == ERR_FETCH && again);
    return rc;
}

/* What the config's hash vouches for is kept; anything else has no name under
 * which it would be looked for again. */
static int keep_part(struct pl_fetch_job *j, const char *hex, struct err *err)
{
    if (j->file->sha256 || strcmp(hex, j->out->sha256) == 0)
        return pl_cache_adopt(j->f->cache, j->part, hex, err);
    (void)unlink(j->part);
    return 0;
}

static void note_success(const struct pl_fetch_job *j, const char *mirror,
                         const char *hex, uint64_t bytes)
{
    const struct pl_data_file *file = j->file;

    pl_fetch_note(j->f, "%s from %s (%llu bytes%s)", j->label, mirror,
                  (unsigned long long)bytes,
                  strcmp(hex, j->out->sha256) == 0 ? "" : ", unpacked");
    if (!file->sha256 && !file->sha256_unpacked)
        pl_fetch_note(j->f,
                      "warning: %s is not verified: no sha256 given (it is %s)",
                      j->label, hex);
}

/* 0, ERR_FETCH: the next mirror may do better, or an error that ends it. */
static int try_mirror(struct pl_fetch_job *j, const char *mirror,
                      struct err *err)
{
    char *place = pl_mirror_place(mirror, j->file->path);
    char hex[65];
    uint64_t bytes = 0;
    int rc;

    if (!place)
        return no_memory(err);
    rc = get_part(j, place, hex, &bytes, err);
    if (rc == 0)
        rc = pl_fetch_unpack(j, j->part, hex, bytes, err);
    if (rc == ERR_CORRUPT && !j->file->sha256)
        rc = err->code = ERR_FETCH; /* other mirrors may have other bytes */
    if (rc == 0)
        rc = keep_part(j, hex, err);
    if (rc == ERR_CORRUPT || (rc != 0 && !j->file->sha256))
        (void)unlink(j->part); /* of no use to a later run */
    if (rc == 0 && (j->file->sha256 || !j->file->sha256_unpacked))
        memcpy(j->out->packed, hex, sizeof hex);
    if (rc == 0)
        note_success(j, mirror, hex, bytes);
    mem_free(place);
    return rc;
}

static void give_reason(struct pl_fetch_job *j, const char *mirror,
                        const char *reason)
{
    str_addf(&j->reasons, "\n  %s: %s", mirror, reason);
    pl_fetch_note(j->f, "%s: %s: %s", j->label, mirror, reason);
}

/* One mirror, or its turn is not now: ERR_FETCH. */
static int consider(struct pl_fetch_job *j, size_t m, bool failed_before,
                    struct err *err)
{
    const char *mirror = ((const char *const *)j->f->ds->mirrors.items)[m];
    size_t *failed = &j->f->failed[m];
    int rc;

    if (*failed == j->number || (*failed != 0) != failed_before)
        return ERR_FETCH;
    if (j->f->opts.offline && pl_mirror_is_url(mirror))
        rc = err_set(err, ERR_FETCH, "not tried: offline");
    else
        rc = try_mirror(j, mirror, err);
    if (rc == ERR_FETCH) {
        *failed = j->number;
        give_reason(j, mirror, err->msg);
    }
    return rc;
}

/* Those that have failed for an earlier file, or the others. */
static int try_mirrors(struct pl_fetch_job *j, bool failed_before,
                       struct err *err)
{
    struct err why = {0};
    size_t i;
    int rc = ERR_FETCH;

    for (i = 0; rc == ERR_FETCH && i < j->f->ds->mirrors.n; i++) {
        err_clear(&why);
        rc = consider(j, i, failed_before, &why);
    }
    return rc == 0 || rc == ERR_FETCH ? rc : err_set(err, rc, "%s", why.msg);
}

int pl_fetch_mirrors(struct pl_fetch_job *j, struct err *err)
{
    bool any = j->f->ds->mirrors.n > 0;
    int rc = try_mirrors(j, false, err);

    if (rc == ERR_FETCH)
        rc = try_mirrors(j, true, err);
    if (rc != ERR_FETCH)
        return rc;
    if (j->reasons.failed)
        return no_memory(err);
    return err_set(err, ERR_FETCH, "cannot fetch '%s': %s%s", j->label,
                   any ? "no mirror gave it" : "it has no mirrors",
                   any ? j->reasons.text : "");
}
