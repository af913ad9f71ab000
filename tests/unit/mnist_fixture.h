/* MNIST for tests: the shipped .gz files unpacked once into a temporary folder
 * that ends with the process, or opened from there. */
#ifndef TESTS_MNIST_FIXTURE_H
#define TESTS_MNIST_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "nn/data.h"

struct mnist {
    char dir[256];
    struct nn_data *train, *test;
};

static inline int mnist_unpack(const char *from, const char *to)
{
    gzFile in = gzopen(from, "rb");
    FILE *out = fopen(to, "wb");
    char buf[65536];
    int n = 0;

    if (in && out)
        while ((n = gzread(in, buf, sizeof buf)) > 0)
            if (fwrite(buf, 1, (size_t)n, out) != (size_t)n)
                n = -1;
    if (in)
        (void)gzclose(in);
    if (!out || fclose(out) != 0)
        return -1;
    return n;
}

static inline int mnist_open_set(struct mnist *m, const char *name,
                                 struct nn_data **out, struct err *err)
{
    char from[128], images[400], labels[400];

    (void)snprintf(from, sizeof from,
                   "examples/data/mnist/%s-images-idx3-ubyte.gz", name);
    (void)snprintf(images, sizeof images, "%s/%s-images", m->dir, name);
    (void)snprintf(labels, sizeof labels, "%s/%s-labels", m->dir, name);
    if (mnist_unpack(from, images) != 0)
        return -1;
    (void)snprintf(from, sizeof from,
                   "examples/data/mnist/%s-labels-idx1-ubyte.gz", name);
    if (mnist_unpack(from, labels) != 0)
        return -1;
    return nn_data_open_idx(out, images, labels, 10, 255.0f, err);
}

static inline int mnist_open(struct mnist *m, struct err *err)
{
    const char *tmp = getenv("TMPDIR");

    memset(m, 0, sizeof *m);
    (void)snprintf(m->dir, sizeof m->dir, "%s/mnist-XXXXXX",
                   tmp ? tmp : "/tmp");
    if (!mkdtemp(m->dir))
        return -1;
    if (mnist_open_set(m, "train", &m->train, err) != 0)
        return -1;
    return mnist_open_set(m, "t10k", &m->test, err);
}

/* The mappings stay valid when the names are gone. */
static inline void mnist_close(struct mnist *m)
{
    static const char *const names[] = {"train-images", "train-labels",
                                        "t10k-images", "t10k-labels"};
    char path[400];
    size_t i;

    nn_data_free(m->train);
    nn_data_free(m->test);
    for (i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", m->dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(m->dir);
}

#endif
