/* What `datasets:` says, and opening it as nn_data. */
#ifndef PIPELINE_DATASET_H
#define PIPELINE_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/data.h"
#include "pipeline/node.h"
#include "pipeline/schema.h"

enum pl_dataset_type { PL_DATA_IDX, PL_DATA_CSV, PL_DATA_SYNTHETIC };

/* One file of a data set: fetched from the mirrors by its name. */
struct pl_data_file {
    const char *role;   /* the key: train_images, train_labels, test_images,
                           test_labels (idx); train, test (csv) */
    const char *path;   /* name below a mirror, no '/' at its start, no '..' */
    const char *sha256; /* of the file as fetched; or NULL */
    const char *sha256_unpacked; /* after gunzip; or NULL */
    int64_t size;                /* bytes as fetched; 0: unknown */
    const struct pl_node *node;
};

struct pl_split {
    int64_t validation; /* samples taken from the training set; 0: none */
    int64_t seed;
};

struct pl_dataset {
    const char *name;
    const struct pl_node *node;
    int type;               /* enum pl_dataset_type */
    struct pl_list mirrors; /* const char *: folders (relative to the file) or
                               http(s) addresses, tried in turn */
    struct pl_list files;   /* struct pl_data_file */
    int64_t classes;        /* 0: from the data */
    double divide;          /* idx: byte / divide */
    struct pl_split split;
    const char *target;                  /* csv */
    struct pl_list features;             /* csv: const char * */
    int synthetic;                       /* enum nn_synthetic: blobs, moons */
    int64_t n_train, n_test, n_features; /* synthetic */
    double noise;
    int64_t seed;
};

extern const struct pl_schema pl_dataset_schema;

/* Checks that go past the table: the files a type needs, what applies to it. */
void pl_dataset_check(const struct pl_dataset *ds, struct pl_diag *d);
bool pl_dataset_needs_fetch(const struct pl_dataset *ds);
/* Whether there will be a test set. */
bool pl_dataset_has_test(const struct pl_dataset *ds);

/* The opened sets; validation is NULL without a split, test NULL when the
 * config has none. */
struct pl_sets {
    struct nn_data *base; /* the whole training file; train may borrow it */
    struct nn_data *train, *validation, *test;
};
/* Opens a data set whose files are in the cache (by the hashes that the fetch
 * stage recorded, see fetch.h). End with pl_sets_close. */
struct pl_fetched; /* pipeline/fetch.h */
int pl_dataset_open(struct pl_sets *out, const struct pl_dataset *ds,
                    const struct pl_fetched *files, struct err *err);
void pl_sets_close(struct pl_sets *s);

#endif
