/* The machine that a unit test runs on: the CPU, unless TEST_DEVICE=cuda names
 * a GPU (or the double of one, tests/cuda). */
#ifndef DEVICE_FIXTURE_H
#define DEVICE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "nn/backend.h"
#include "nn/base/mem.h"

/* NULL: the CPU. */
static inline const char *test_device(void)
{
    const char *name = getenv("TEST_DEVICE");

    return name && *name ? name : NULL;
}

/* Whether as much memory is in use as before: a GPU's backend keeps, until it
 * is closed, what its arenas have grown by. */
static inline bool test_live_is(long before)
{
    return test_device() ? mem_live() >= before : mem_live() == before;
}

/* Opens it, a CPU with that many threads; a GPU works as how says. */
static inline int device_open_as(struct nn_backend **out, int threads,
                                 const struct nn_backend_config *how,
                                 struct err *err)
{
    const struct nn_device_opts opts = {.device = test_device()};
    int rc;

    if (!opts.device)
        return nn_cpu_open(out, threads, NULL, err);
    rc = nn_backend_open(out, &opts, NULL, err);
    if (rc == 0 && (*out)->ops->configure)
        rc = (*out)->ops->configure(*out, how, err);
    if (rc != 0)
        (void)fprintf(stderr, "%s: %s\n", opts.device, err ? err->msg : "");
    return rc;
}

/* With strict numerics: the CPU's bits are asked of it. */
static inline int device_open(struct nn_backend **out, int threads,
                              struct err *err)
{
    const struct nn_backend_config strict = {.numerics = NN_NUMERICS_STRICT};

    return device_open_as(out, threads, &strict, err);
}

#endif
