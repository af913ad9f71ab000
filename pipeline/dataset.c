#include "pipeline/dataset.h"

#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/fetch.h"

enum { HEADER_MAX = 1 << 16 };

/* ERR_CONFIG when the config names no file of that role. */
static int need_path(const char **out, const struct pl_dataset *ds,
                     const struct pl_fetched *files, const char *role,
                     struct err *err)
{
    *out = files ? pl_fetched_path(files, role) : NULL;
    if (*out)
        return 0;
    return err_set(err, ERR_CONFIG, "dataset '%s' has no file '%s'", ds->name,
                   role);
}

static int open_idx_set(struct nn_data **out, const struct pl_dataset *ds,
                        const struct pl_fetched *files,
                        const char *const role[2], int64_t classes,
                        struct err *err)
{
    const char *images, *labels;
    int rc = need_path(&images, ds, files, role[0], err);

    if (rc == 0)
        rc = need_path(&labels, ds, files, role[1], err);
    if (rc != 0)
        return rc;
    return nn_data_open_idx(out, images, labels, classes, (float)ds->divide,
                            err);
}

static int open_idx(struct pl_sets *s, const struct pl_dataset *ds,
                    const struct pl_fetched *files, struct err *err)
{
    static const char *const train[2] = {"train_images", "train_labels"};
    static const char *const test[2] = {"test_images", "test_labels"};
    int rc = open_idx_set(&s->base, ds, files, train, ds->classes, err);

    if (rc != 0 ||
        (!pl_fetched_path(files, test[0]) && !pl_fetched_path(files, test[1])))
        return rc;
    return open_idx_set(&s->test, ds, files, test, s->base->classes, err);
}

static int read_line(char *buf, size_t size, const char *path, struct err *err)
{
    FILE *f = fopen(path, "re");

    if (!f)
        return err_sys(err, "cannot open '%s'", path);
    if (!fgets(buf, (int)size, f))
        buf[0] = '\0';
    (void)fclose(f);
    if (strlen(buf) + 1 == size)
        return err_set(err, ERR_CORRUPT,
                       "'%s': the header line is longer than %zu bytes: name "
                       "the columns under 'features'",
                       path, size - 2);
    buf[strcspn(buf, "\r\n")] = '\0';
    if (memcmp(buf, "\xef\xbb\xbf", 3) == 0) /* a byte-order mark */
        memmove(buf, buf + 3, strlen(buf + 3) + 1);
    return 0;
}

/* "All other columns" means the same only if they stand in the same order. */
static int check_headers(const char *train, const char *test, struct err *err)
{
    char *line = mem_alloc(2 * (size_t)HEADER_MAX);
    int rc;

    if (!line)
        return err_set(err, ERR_NOMEM, "out of memory reading '%s'", train);
    rc = read_line(line, HEADER_MAX, train, err);
    if (rc == 0)
        rc = read_line(line + HEADER_MAX, HEADER_MAX, test, err);
    if (rc == 0 && strcmp(line, line + HEADER_MAX) != 0)
        rc = err_set(err, ERR_CORRUPT,
                     "'%s' and '%s' have different header lines: name the "
                     "columns under 'features'",
                     train, test);
    mem_free(line);
    return rc;
}

static int open_csv(struct pl_sets *s, const struct pl_dataset *ds,
                    const struct pl_fetched *files, struct err *err)
{
    struct nn_csv_opts o = {.target = ds->target,
                            .features = ds->features.items,
                            .n_features = (int)ds->features.n,
                            .classes = ds->classes};
    const char *train, *test;
    int rc = need_path(&train, ds, files, "train", err);

    if (rc == 0)
        rc = nn_data_open_csv(&s->base, train, &o, err);
    if (rc != 0)
        return rc;
    test = pl_fetched_path(files, "test");
    if (!test)
        return 0;
    if (ds->features.n == 0)
        rc = check_headers(train, test, err);
    if (rc == 0)
        rc = nn_data_open_csv(&s->test, test, &o, err);
    return rc;
}

static int make_synthetic(struct pl_sets *s, const struct pl_dataset *ds,
                          struct err *err)
{
    struct nn_synthetic_opts o = {.kind = (enum nn_synthetic)ds->synthetic,
                                  .n = ds->n_train,
                                  .classes = ds->classes ? ds->classes : 2,
                                  .features = ds->n_features,
                                  .noise = ds->noise,
                                  .seed = (uint64_t)ds->seed};
    int rc = nn_data_new_synthetic(&s->base, &o, err);

    if (rc != 0 || ds->n_test == 0)
        return rc;
    o.n = ds->n_test;
    o.seed = (uint64_t)ds->seed + 1;
    return nn_data_new_synthetic(&s->test, &o, err);
}

/* A test set that a model of the training set could not be run on. */
static int check_alike(const struct pl_sets *s, const struct pl_dataset *ds,
                       struct err *err)
{
    char a[64], b[64];

    if (!s->test || nn_shape_eq(&s->base->sample, &s->test->sample))
        return 0;
    return err_set(err, ERR_CORRUPT,
                   "dataset '%s': a test sample has shape %s, a training "
                   "sample %s",
                   ds->name, nn_shape_text(&s->test->sample, a, sizeof a),
                   nn_shape_text(&s->base->sample, b, sizeof b));
}

static int split(struct pl_sets *s, const struct pl_dataset *ds,
                 struct err *err)
{
    int64_t n = ds->split.validation;

    if (n == 0) {
        s->train = s->base;
        return 0;
    }
    if (n < 0 || n >= s->base->n)
        return err_set(err, ERR_CONFIG,
                       "dataset '%s': split.validation must be below the "
                       "%lld training samples, not %lld",
                       ds->name, (long long)s->base->n, (long long)n);
    return nn_data_split(&s->train, &s->validation, s->base, n,
                         (uint64_t)ds->split.seed, err);
}

static void add_place(struct err *err, const struct pl_node *node)
{
    if (node && node->loc.file)
        err_at(err, "%s:%d:%d", node->loc.file->path, node->loc.line,
               node->loc.col);
}

/* The user knows a file by its name, not by where the cache keeps it. */
static void show_names(struct err *err, const struct pl_fetched *files)
{
    char tail[sizeof err->msg];
    size_t i;

    for (i = 0; files && i < files->n; i++) {
        const struct pl_fetched_file *f = &files->file[i];
        char *at = strstr(err->msg, f->path);

        if (!at || !f->name)
            continue;
        (void)snprintf(tail, sizeof tail, "%s", at + strlen(f->path));
        (void)snprintf(at, sizeof err->msg - (size_t)(at - err->msg), "%s%s",
                       f->name, tail);
    }
}

int pl_dataset_open(struct pl_sets *out, const struct pl_dataset *ds,
                    const struct pl_fetched *files, struct err *err)
{
    int rc;

    memset(out, 0, sizeof *out);
    if (ds->type == PL_DATA_IDX)
        rc = open_idx(out, ds, files, err);
    else if (ds->type == PL_DATA_CSV)
        rc = open_csv(out, ds, files, err);
    else
        rc = make_synthetic(out, ds, err);
    if (rc == 0)
        rc = check_alike(out, ds, err);
    if (rc == 0)
        rc = split(out, ds, err);
    if (rc != 0) {
        if (err)
            show_names(err, files);
        add_place(err, ds->node);
        pl_sets_close(out);
    }
    return rc;
}

void pl_sets_close(struct pl_sets *s)
{
    if (s->train != s->base)
        nn_data_free(s->train);
    nn_data_free(s->validation);
    nn_data_free(s->test);
    nn_data_free(s->base);
    memset(s, 0, sizeof *s);
}
