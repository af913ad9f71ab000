#include "pipeline/untrusted.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/fetch_cache.h"
#include "pipeline/real_path.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"
#include "pipeline/url.h"

/* --- paths --- */

static bool may_read(struct pl_loader *l, const char *path)
{
    char real[PATH_MAX], *cache = NULL;
    struct err none = {0};
    bool good;

    if (!pl_real_path(real, path))
        return false;
    if (pl_is_below(real, l->session->main->dir) ||
        pl_is_below(real, l->session->out))
        return true;
    good = pl_cache_dir(&cache, NULL, &none) == 0 && pl_is_below(real, cache);
    mem_free(cache);
    return good;
}

bool pl_untrusted_path(struct pl_loader *l, const char *path, struct pl_loc loc)
{
    struct stat st;

    if (!l->session->untrusted)
        return true;
    if (!may_read(l, path)) {
        pl_diag_error(l->d, loc,
                      "an untrusted file may not reach '%s': it is neither in "
                      "the file's folder nor in the cache",
                      path);
        return false;
    }
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        pl_diag_error(l->d, loc, "'%s' is neither a file nor a folder", path);
        return false;
    }
    return true;
}

struct paths {
    struct pl_loader *l;
    const struct pl_node *with; /* where they stand */
    struct pl_loc loc;          /* of the stage */
};

static void on_path(void *user, const char *path)
{
    const struct paths *p = user;
    const struct pl_node *n =
        p->with ? pl_load_find_path(p->l, p->with, path) : NULL;

    (void)pl_untrusted_path(p->l, path, n ? n->loc : p->loc);
}

/* --- addresses --- */

bool pl_internal_host(const char *host, size_t len)
{
    static const char *const local[] = {
        ".localhost", ".local", ".internal", ".lan", ".home.arpa", ".intranet"};
    size_t i;

    if (len > 0 && host[len - 1] == '.') /* a name that ends at the root */
        len--;
    if (len == 0 || !memchr(host, '.', len) || host[0] == '[' ||
        isdigit((unsigned char)host[0]) ||
        isdigit((unsigned char)host[len - 1]))
        return true;
    for (i = 0; i < sizeof local / sizeof *local; i++) {
        size_t n = strlen(local[i]);

        if (len > n && strncasecmp(host + len - n, local[i], n) == 0)
            return true;
    }
    return memchr(host, '%', len) != NULL;
}

static void check_address(struct pl_loader *l, const char *url,
                          struct pl_loc loc)
{
    static const char https[] = "https://";
    const char *host = url + sizeof https - 1;
    size_t len;

    if (strncmp(url, https, sizeof https - 1) != 0) {
        struct str shown = {0};

        pl_url_mask(&shown, url);
        pl_diag_error(l->d, loc,
                      "an untrusted file fetches by https:// only, not '%s'",
                      shown.text ? shown.text : "");
        str_free(&shown);
        return;
    }
    len = strcspn(host, "/?#");
    if (memchr(host, '@', len) || memchr(host, '\\', len)) {
        pl_diag_error(l->d, loc,
                      "an untrusted file may not send a name or password");
        return;
    }
    if (host[0] != '[')
        len = strcspn(host, ":/?#");
    if (pl_internal_host(host, len))
        pl_diag_error(l->d, loc,
                      "an untrusted file may not reach '%.*s': it is no public "
                      "host's name",
                      (int)len, host);
}

/* --- data sets and models --- */

static struct pl_loc mirror_loc(const struct pl_dataset *ds, size_t i)
{
    const struct pl_node *m = pl_node_get(ds->node, "mirrors");

    if (m && m->kind == PL_SEQ && i < m->n)
        return m->items[i]->loc;
    return m ? m->loc : ds->node->loc;
}

/* A folder, and the files that may be links in it. */
static void check_folder(struct pl_loader *l, const struct pl_dataset *ds,
                         const char *folder, struct pl_loc loc)
{
    const struct pl_data_file *f = ds->files.items;
    size_t i;

    if (!pl_untrusted_path(l, folder, loc))
        return;
    for (i = 0; i < ds->files.n; i++) {
        char *path = io_join(folder, f[i].path);

        if (path)
            (void)pl_untrusted_path(l, path, f[i].node->loc);
        l->d->nomem = l->d->nomem || !path;
        mem_free(path);
    }
}

/* Bytes that it may fetch. */
static double check_files(struct pl_loader *l, const struct pl_dataset *ds)
{
    const struct pl_data_file *f = ds->files.items;
    double bytes = 0;
    size_t i;

    for (i = 0; i < ds->files.n; i++) {
        if (!f[i].sha256)
            pl_diag_error(l->d, f[i].node->loc,
                          "an untrusted file must say the sha256 of '%s'",
                          f[i].path);
        if (f[i].size == 0)
            pl_diag_error(l->d, f[i].node->loc,
                          "an untrusted file must say the size of '%s'",
                          f[i].path);
        bytes += (double)f[i].size;
    }
    return bytes;
}

static void check_datasets(struct pl_loader *l)
{
    const struct pl_config *c = l->c;
    size_t i, k;

    for (i = 0; i < c->n_datasets; i++) {
        const struct pl_dataset *ds = &c->datasets[i];
        const char *const *mirror = ds->mirrors.items;

        for (k = 0; k < ds->mirrors.n; k++) {
            if (strstr(mirror[k], "://"))
                check_address(l, mirror[k], mirror_loc(ds, k));
            else
                check_folder(l, ds, mirror[k], mirror_loc(ds, k));
        }
        l->session->bytes += check_files(l, ds);
        if (l->session->bytes > PL_UNTRUSTED_BYTES) {
            pl_diag_error(l->d, ds->node->loc,
                          "an untrusted file may fetch at most %d MiB in all",
                          PL_UNTRUSTED_BYTES >> 20);
            return;
        }
        if (ds->type == PL_DATA_SYNTHETIC &&
            (double)(ds->n_train + ds->n_test) * (double)ds->n_features >
                PL_UNTRUSTED_SAMPLES)
            pl_diag_error(l->d, ds->node->loc,
                          "an untrusted file may make up at most %d numbers",
                          PL_UNTRUSTED_SAMPLES);
    }
}

/* Weights of a layer into which `in` numbers go, as far as the file tells. */
static double layer_weights(const struct pl_layer *l, double in)
{
    const struct nn_own_layer *own = l->own ? &l->own->layer : NULL;
    double sum = 0;
    int i, k;

    if (!own)
        return in * (double)l->out;
    for (i = 0; i < own->n_param; i++) {
        const struct nn_own_param *p = &own->param[i];
        double n = 1;

        for (k = 0; k < p->ndim; k++)
            n *= p->dim[k] == NN_DIM_IN    ? in
                 : p->dim[k] == NN_DIM_OUT ? (double)l->out
                                           : (double)p->dim[k];
        sum += n;
    }
    return sum;
}

static void check_models(struct pl_loader *l)
{
    size_t i, k;

    for (i = 0; i < l->c->n_models; i++) {
        const struct pl_model *m = &l->c->models[i];
        const struct pl_layer *layer = m->layers.items;
        double in = 1, weights = 0;

        for (k = 0; k < m->layers.n; k++) {
            weights += layer_weights(&layer[k], in);
            if (layer[k].out > 0)
                in = (double)layer[k].out;
        }
        if (weights > PL_UNTRUSTED_WEIGHTS)
            pl_diag_error(l->d, m->node->loc,
                          "a model of an untrusted file may have at most %d "
                          "weights",
                          PL_UNTRUSTED_WEIGHTS);
    }
}

/* --- stages --- */

static void check_stages(struct pl_loader *l)
{
    struct pl_config *c = l->c;
    double epochs = 0;
    size_t i;

    for (i = 0; i < c->n_stages; i++) {
        struct pl_stage *s = &c->stages[i];
        struct paths p = {l, s->node, s->loc};

        if (s->timeout <= 0 || s->timeout > PL_UNTRUSTED_SECONDS)
            s->timeout = PL_UNTRUSTED_SECONDS;
        if (s->retries > PL_UNTRUSTED_RETRIES)
            s->retries = PL_UNTRUSTED_RETRIES;
        pl_schema_visit(s->kind->with, s->with, PL_T_PATH, on_path, &p);
        if (s->kind != &pl_kind_train)
            continue;
        epochs += (double)((const struct pl_train_with *)s->with)->epochs;
        if (epochs <= PL_UNTRUSTED_EPOCHS)
            continue;
        pl_diag_error(l->d, s->loc,
                      "an untrusted file may train at most %d epochs in all",
                      PL_UNTRUSTED_EPOCHS);
        return;
    }
}

void pl_untrusted_check(struct pl_loader *l)
{
    struct pl_config *c = l->c;

    if (!l->session->untrusted)
        return;
    c->untrusted = true;
    if (c->n_stages > PL_UNTRUSTED_STAGES) {
        pl_diag_error(l->d, c->root->loc,
                      "an untrusted file may have at most %d stages and cells, "
                      "not %zu",
                      PL_UNTRUSTED_STAGES, c->n_stages);
        return;
    }
    check_datasets(l);
    check_models(l);
    check_stages(l);
}
