#include "pipeline/fetch_job.h"

#include <string.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "pipeline/fetch_cache.h"
#include "pipeline/fetch_mirror.h"
#include "pipeline/gunzip.h"
#include "pipeline/hash.h"
#include "pipeline/url.h"

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
static int get_part(struct pl_fetch_job *j,
                    const struct pl_fetch_source *source, const char *place,
                    char hex[65], uint64_t *bytes, struct err *err)
{
    const struct pl_fetch_opts *o = &j->f->opts;
    const struct pl_mirror_get get = {.place = place,
                                      .shown = source->shown,
                                      .name = j->label,
                                      .part = j->part,
                                      .cache = j->f->cache,
                                      .resume = j->file->sha256 != NULL,
                                      .size = (uint64_t)j->file->size,
                                      .public_only = o->public_only &&
                                                     source->place != o->mirror,
                                      .opts = o};
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
static int try_mirror(struct pl_fetch_job *j,
                      const struct pl_fetch_source *source, struct err *err)
{
    char *place = pl_mirror_place(source->place, j->file->path);
    char hex[65];
    uint64_t bytes = 0;
    int rc;

    if (!place)
        return no_memory(err);
    rc = get_part(j, source, place, hex, &bytes, err);
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
        note_success(j, source->shown, hex, bytes);
    mem_free(place);
    return rc;
}

static int give_reason(const struct pl_fetch_job *j,
                       struct pl_fetch_source *source, const struct err *why,
                       struct err *err)
{
    mem_free(source->reason);
    source->reason = mem_strdup(why->msg);
    pl_fetch_note(j->f, "%s: %s: %s", j->label, source->shown, why->msg);
    return source->reason ? ERR_FETCH : no_memory(err);
}

/* One mirror, or its turn is not now: ERR_FETCH, and *err is left alone. */
static int consider(struct pl_fetch_job *j, struct pl_fetch_source *source,
                    bool failed_before, struct err *err)
{
    struct err why = {0};
    int rc;

    if (source->failed == j->number || (source->failed != 0) != failed_before)
        return ERR_FETCH;
    if (j->f->opts.offline && pl_url_is(source->place))
        rc = err_set(&why, ERR_FETCH, "not tried: offline");
    else
        rc = try_mirror(j, source, &why);
    if (rc == ERR_FETCH) {
        source->failed = j->number;
        return give_reason(j, source, &why, err);
    }
    return rc == 0 ? 0 : err_set(err, rc, "%s", why.msg);
}

/* Those that have failed for an earlier file, or the others. */
static int try_mirrors(struct pl_fetch_job *j, bool failed_before,
                       struct err *err)
{
    size_t i;
    int rc = ERR_FETCH;

    for (i = 0; rc == ERR_FETCH && i < j->f->n_sources; i++)
        rc = consider(j, &j->f->source[i], failed_before, err);
    return rc;
}

int pl_fetch_mirrors(struct pl_fetch_job *j, struct err *err)
{
    int rc = try_mirrors(j, false, err);

    if (rc == ERR_FETCH)
        rc = try_mirrors(j, true, err);
    return rc == ERR_FETCH ? pl_fetch_sources_error(j, err) : rc;
}
