#include "pipeline/dataset.h"

#include <string.h>

#define MAX_COUNT 1e9
#define MAX_SEED 4294967295.0 /* the generator takes 32 bits */

static const char *const roles[] = {
    "train_images", "train_labels", "test_images", "test_labels",
    "train",        "test",         NULL};

#define AT(m) offsetof(struct pl_data_file, m)
static const struct pl_field file_fields[] = {
    {.name = "path",
     .type = PL_T_STRING,
     .offset = AT(path),
     .flags = PL_F_REQUIRED,
     .help = "its name below a mirror; .gz is unpacked",
     .example = "train-images-idx3-ubyte.gz"},
    {.name = "size",
     .type = PL_T_SIZE,
     .offset = AT(size),
     .min = 1,
     .max = 1e15,
     .help = "bytes of the file as it is fetched"},
    {.name = "sha256",
     .type = PL_T_SHA256,
     .offset = AT(sha256),
     .help = "of the file as it is fetched"},
    {.name = "sha256_unpacked",
     .type = PL_T_SHA256,
     .offset = AT(sha256_unpacked),
     .help = "of its contents"},
};
static const struct pl_schema file_schema = {
    .name = "file",
    .help = "one file of a data set",
    PL_FIELDS(file_fields),
    .size = sizeof(struct pl_data_file),
    .short_key = "path",
    .name_offset = AT(role),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

#define AT(m) offsetof(struct pl_split, m)
static const struct pl_field split_fields[] = {
    {.name = "validation",
     .type = PL_T_INT,
     .offset = AT(validation),
     .def = "0",
     .max = MAX_COUNT,
     .help = "samples taken out of the training set for choosing a model",
     .example = "5000"},
    {.name = "seed",
     .type = PL_T_INT,
     .offset = AT(seed),
     .def = "0",
     .max = MAX_SEED,
     .help = "which samples, as torch.utils.data.random_split"},
};
static const struct pl_schema split_schema = {
    .name = "split",
    .help = "a validation set cut from the training set",
    PL_FIELDS(split_fields),
    .size = sizeof(struct pl_split),
};
#undef AT

static const char *const types[] = {"idx", "csv", "synthetic", NULL};
static const char *const kinds[] = {"blobs", "moons", NULL};

#define AT(m) offsetof(struct pl_dataset, m)
static const struct pl_field dataset_fields[] = {
    {.name = "type",
     .type = PL_T_ENUM,
     .offset = AT(type),
     .flags = PL_F_REQUIRED,
     .choices = types,
     .help = "idx (as MNIST), csv, or synthetic: made from a seed",
     .example = "idx"},
    {.name = "mirrors",
     .type = PL_T_LIST,
     .offset = AT(mirrors),
     .flags = PL_F_REQUIRED | PL_F_ONE,
     .elem = PL_T_PLACE,
     .when = "idx csv",
     .help = "folders and addresses that have the files, tried in turn",
     .example = "[data, https://example.org/mnist]"},
    {.name = "files",
     .type = PL_T_NAMED,
     .offset = AT(files),
     .flags = PL_F_REQUIRED,
     .choices = roles,
     .sub = &file_schema,
     .when = "idx csv",
     .help = "the files by what they hold",
     .example = "{train: points.csv}"},
    {.name = "classes",
     .type = PL_T_INT,
     .offset = AT(classes),
     .def = "0",
     .max = 65536,
     .help = "how many; 0: as many as the labels say, and for csv none: "
             "number targets"},
    {.name = "divide",
     .type = PL_T_NUMBER,
     .offset = AT(divide),
     .def = "255",
     .flags = PL_F_OPEN_MIN,
     .max = 1e9,
     .when = "idx",
     .help = "every byte is divided by it"},
    {.name = "split",
     .type = PL_T_STRUCT,
     .offset = AT(split),
     .sub = &split_schema,
     .help = "a validation set cut from the training set",
     .example = "{validation: 5000, seed: 0}"},
    {.name = "target",
     .type = PL_T_STRING,
     .offset = AT(target),
     .flags = PL_F_REQUIRED,
     .when = "csv",
     .help = "the column to learn",
     .example = "label"},
    {.name = "features",
     .type = PL_T_LIST,
     .offset = AT(features),
     .flags = PL_F_ONE,
     .elem = PL_T_STRING,
     .when = "csv",
     .help = "the columns to learn from; without it, all others",
     .example = "[x, y]"},
    {.name = "kind",
     .type = PL_T_ENUM,
     .offset = AT(synthetic),
     .def = "blobs",
     .choices = kinds,
     .when = "synthetic",
     .help = "clouds around centres on a circle, or two half moons"},
    {.name = "n_train",
     .type = PL_T_INT,
     .offset = AT(n_train),
     .def = "1000",
     .min = 1,
     .max = MAX_COUNT,
     .when = "synthetic",
     .help = "samples to train on"},
    {.name = "n_test",
     .type = PL_T_INT,
     .offset = AT(n_test),
     .def = "1000",
     .max = MAX_COUNT,
     .when = "synthetic",
     .help = "samples to test on"},
    {.name = "n_features",
     .type = PL_T_INT,
     .offset = AT(n_features),
     .def = "2",
     .min = 2,
     .max = 65536,
     .when = "synthetic",
     .help = "numbers of a sample"},
    {.name = "noise",
     .type = PL_T_NUMBER,
     .offset = AT(noise),
     .def = "0.1",
     .max = 1e6,
     .when = "synthetic",
     .help = "standard deviation around a centre or moon"},
    {.name = "seed",
     .type = PL_T_INT,
     .offset = AT(seed),
     .def = "0",
     .max = MAX_SEED,
     .when = "synthetic",
     .help = "of the samples"},
};
const struct pl_schema pl_dataset_schema = {
    .name = "dataset",
    .help = "samples to learn from",
    PL_FIELDS(dataset_fields),
    .size = sizeof(struct pl_dataset),
    .name_offset = AT(name),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

bool pl_dataset_needs_fetch(const struct pl_dataset *ds)
{
    return ds->type != PL_DATA_SYNTHETIC;
}

/* The place of a key of the data set, else of the data set. */
static struct pl_loc loc_of(const struct pl_dataset *ds, const char *key)
{
    const struct pl_pair *p = pl_node_pair(ds->node, key);

    return p ? p->key_loc : ds->node->loc;
}

static const struct pl_data_file *file_of(const struct pl_dataset *ds,
                                          const char *role)
{
    const struct pl_data_file *f = ds->files.items;
    size_t i;

    for (i = 0; i < ds->files.n; i++)
        if (strcmp(f[i].role, role) == 0)
            return &f[i];
    return NULL;
}

/* A path that stays below its mirror. */
static bool is_below(const char *path)
{
    const char *p = path;

    if (*p == '/' || *p == '\0' || strchr(p, '\\'))
        return false;
    while (p) {
        const char *slash = strchr(p, '/');
        size_t n = slash ? (size_t)(slash - p) : strlen(p);

        if (n == 0 || p[0] == '.' || p[0] == '-')
            return false;
        p = slash ? slash + 1 : NULL;
    }
    return true;
}

static void check_path(const struct pl_data_file *f, struct pl_diag *d)
{
    const struct pl_node *n = pl_node_get(f->node, "path");

    if (!f->path || is_below(f->path))
        return;
    pl_diag_error(d, n ? n->loc : f->node->loc,
                  "'%s' is no name below a mirror", f->path);
    pl_diag_help(d, "no part of it may be empty or begin with '.' or '-'");
}

static void check_role(const struct pl_dataset *ds,
                       const struct pl_data_file *f, struct pl_diag *d)
{
    bool idx = strchr(f->role, '_') != NULL;

    if (idx == (ds->type == PL_DATA_IDX))
        return;
    pl_diag_error(d, f->node->loc, "a data set of type %s has no file '%s'",
                  types[ds->type], f->role);
    pl_diag_help(d, ds->type == PL_DATA_IDX
                        ? "its files are train_images, train_labels, "
                          "test_images and test_labels"
                        : "its files are train and test");
}

static void check_needed(const struct pl_dataset *ds, const char *role,
                         struct pl_diag *d)
{
    if (!file_of(ds, role))
        pl_diag_error(d, loc_of(ds, "files"),
                      "data set '%s' lacks the file '%s'", ds->name, role);
}

static void check_files(const struct pl_dataset *ds, struct pl_diag *d)
{
    const struct pl_data_file *f = ds->files.items;
    size_t i;

    for (i = 0; i < ds->files.n; i++) {
        check_role(ds, &f[i], d);
        check_path(&f[i], d);
    }
    if (ds->mirrors.n == 0)
        pl_diag_error(d, loc_of(ds, "mirrors"), "data set '%s' has no mirror",
                      ds->name);
    if (ds->type == PL_DATA_CSV) {
        check_needed(ds, "train", d);
        return;
    }
    check_needed(ds, "train_images", d);
    check_needed(ds, "train_labels", d);
    if (file_of(ds, "test_images") || file_of(ds, "test_labels")) {
        check_needed(ds, "test_images", d);
        check_needed(ds, "test_labels", d);
    }
}

static void check_synthetic(const struct pl_dataset *ds, struct pl_diag *d)
{
    bool moons = ds->synthetic == NN_SYN_MOONS;

    if (moons && ds->n_features != 2)
        pl_diag_error(d, loc_of(ds, "n_features"),
                      "moons have 2 features, not %lld",
                      (long long)ds->n_features);
    if (moons ? ds->classes != 0 && ds->classes != 2 : ds->classes == 1)
        pl_diag_error(d, loc_of(ds, "classes"), "%s, not %lld classes",
                      moons ? "moons have 2" : "blobs have 2 or more",
                      (long long)ds->classes);
    if (ds->split.validation >= ds->n_train)
        pl_diag_error(d, loc_of(ds, "split"),
                      "a split of %lld leaves nothing of %lld samples to "
                      "train on",
                      (long long)ds->split.validation, (long long)ds->n_train);
}

void pl_dataset_check(const struct pl_dataset *ds, struct pl_diag *d)
{
    if (ds->type == PL_DATA_SYNTHETIC)
        check_synthetic(ds, d);
    else
        check_files(ds, d);
}

bool pl_dataset_has_test(const struct pl_dataset *ds)
{
    const struct pl_data_file *f = ds->files.items;
    size_t i;

    if (ds->type == PL_DATA_SYNTHETIC)
        return ds->n_test > 0;
    for (i = 0; i < ds->files.n; i++)
        if (strncmp(f[i].role, "test", 4) == 0)
            return true;
    return false;
}
