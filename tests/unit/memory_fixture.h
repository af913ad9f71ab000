/* A trainer of 784-256-10 on a few made-up digits, and its memory. */
#ifndef MEMORY_FIXTURE_H
#define MEMORY_FIXTURE_H

#include <string.h>

#include "nn/base/mem.h"
#include "nn/step_memory.h"
#include "nn/train.h"

enum { DIGITS = 24, MEMORY_P = 203530 };

struct memory_fixture {
    uint8_t x[DIGITS][784];
    int32_t label[DIGITS];
    struct nn_data data;
    struct nn_backend *be;
    struct nn_model *model;
    struct nn_trainer *trainer;
};

/* Takes `steps` steps of `batch` samples. Layer names are free text. */
static inline void memory_open(struct memory_fixture *f, const char *name,
                               const struct nn_trainer_opts *opts, int steps,
                               int64_t batch)
{
    const struct nn_layer_spec layers[] = {
        {.type = NN_LAYER_LINEAR, .name = name, .out = 256, .bias = true},
        {.type = NN_LAYER_RELU},
        {.type = NN_LAYER_LINEAR, .out = 10, .bias = true}};
    struct nn_model_spec spec = {layers, 3, nn_shape2(28, 28)};
    struct rng_mt gen;
    struct err err = {0};
    float loss;
    int i;

    memset(f, 0, sizeof *f);
    for (i = 0; i < DIGITS; i++) {
        f->x[i][i] = 255;
        f->label[i] = i % 10;
    }
    f->data.n = DIGITS;
    f->data.sample = nn_shape2(28, 28);
    f->data.dtype = NN_U8;
    f->data.x = f->x;
    f->data.divide = 255.0f;
    f->data.label = f->label;
    f->data.classes = 10;
    rng_mt_seed(&gen, 0);
    assert_int_equal(nn_cpu_open(&f->be, 1, NULL, &err), 0);
    assert_int_equal(nn_model_new(&f->model, f->be, &spec, &gen, NULL, &err),
                     0);
    assert_int_equal(
        nn_trainer_new(&f->trainer, f->model, &f->data, opts, &err), 0);
    for (i = 0; i < steps; i++)
        assert_int_equal(
            nn_trainer_step(f->trainer, NULL, 0, batch, 0.01, &loss, &err), 0);
}

static inline void memory_close(struct memory_fixture *f)
{
    nn_trainer_free(f->trainer);
    nn_model_free(f->model);
    nn_backend_close(f->be);
}

static inline struct nn_step_memory *memory_of(const struct memory_fixture *f,
                                               int64_t batch, int first,
                                               int steps, const int64_t *ns)
{
    const struct nn_step_memory_opts opts = {batch, first, steps, ns};
    struct nn_step_memory *m;
    struct err err = {0};

    assert_int_equal(nn_step_memory_new(&m, f->trainer, &opts, &err), 0);
    return m;
}

#endif
