/* Training steps of a small perceptron on a GPU (or its double) under a
 * profiler and the GPU's own records, of which a process has one set. */
#ifndef TRACE_DEVICE_FIXTURE_H
#define TRACE_DEVICE_FIXTURE_H

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "nn/base/prof.h"
#include "nn/device_trace.h"
#include "nn/train.h"
#include "tests/unit/device_fixture.h"

enum { SAMPLES = 64, IN = 20, HIDDEN = 16, CLASSES = 4, BATCH = 12, LAST = 7 };

struct traced {
    float x[SAMPLES][IN];
    int32_t label[SAMPLES];
    struct nn_data data;
    struct nn_backend *be;
    struct nn_model *model;
    struct nn_trainer *trainer;
    struct prof *prof;
    struct nn_device_trace *t;
    const struct prof_span **span;
    size_t n_span;
};

static inline void traced_open(struct traced *f,
                               const struct nn_backend_config *how)
{
    struct err err = {0};

    memset(f, 0, sizeof *f);
    for (int i = 0; i < SAMPLES; i++) {
        f->label[i] = i % CLASSES;
        for (int k = 0; k < IN; k++)
            f->x[i][k] = (float)((i * 7 + k * 3) % 11) / 11.0f;
    }
    f->data = (struct nn_data){.n = SAMPLES,
                               .sample = nn_shape1(IN),
                               .dtype = NN_F32,
                               .x = f->x,
                               .divide = 1.0f,
                               .label = f->label,
                               .classes = CLASSES};
    assert_int_equal(device_open_as(&f->be, 1, how, &err), 0);
}

/* A model and its trainer, and a profiler of all its steps. */
static inline void traced_train(struct traced *f, enum nn_execution execution)
{
    const struct nn_layer_spec layers[] = {
        {.type = NN_LAYER_LINEAR, .out = HIDDEN, .bias = true},
        {.type = NN_LAYER_RELU},
        {.type = NN_LAYER_LINEAR, .out = CLASSES, .bias = true}};
    const struct nn_model_spec spec = {layers, 3, nn_shape1(IN)};
    struct nn_trainer_opts opts = {.microbatches = 1, .execution = execution};
    struct prof_schedule all = {0};
    struct rng_mt gen;

    opts.loss.type = NN_LOSS_CROSS_ENTROPY;
    opts.loss.pos_weight = 1.0;
    opts.optim = (struct nn_optim_spec){
        .type = NN_OPTIM_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    rng_mt_seed(&gen, 1);
    assert_int_equal(nn_model_new(&f->model, f->be, &spec, &gen, NULL, NULL),
                     0);
    assert_int_equal(
        nn_trainer_new(&f->trainer, f->model, &f->data, &opts, NULL), 0);
    assert_int_equal(prof_new(&f->prof, &all, 1 << 16, NULL), 0);
    prof_device_clock(f->prof);
}

static inline void traced_step(struct traced *f, int64_t batch)
{
    struct err err = {0};
    float loss;

    prof_step_begin(f->prof);
    f->be->prof = f->prof;
    if (nn_trainer_step(f->trainer, NULL, 0, batch, 0.01, &loss, &err) != 0)
        fail_msg("%s", err.msg);
    f->be->prof = NULL;
    prof_step_end(f->prof);
}

static inline void traced_end(struct traced *f)
{
    struct err err = {0};

    if (f->be->ops->trace_end(f->be, &f->t, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(prof_spans(f->prof, &f->span, &f->n_span, NULL), 0);
}

static inline void traced_free(struct traced *f)
{
    nn_device_trace_free(f->t);
    mem_free(f->span);
    prof_free(f->prof);
    nn_trainer_free(f->trainer);
    nn_model_free(f->model);
    nn_backend_close(f->be);
}

static inline void traced_close(struct traced *f)
{
    traced_free(f);
    assert_int_equal(mem_live(), 0);
}

/* The whole of it: the first step alone, then `steps` more. */
static inline void traced_run(struct traced *f,
                              const struct nn_backend_config *how,
                              enum nn_execution execution, int steps)
{
    struct err err = {0};

    traced_open(f, how);
    if (f->be->ops->trace_begin(f->be, &err) != 0)
        fail_msg("%s", err.msg);
    traced_train(f, execution);
    for (int i = 0; i <= steps; i++)
        traced_step(f, BATCH);
    traced_end(f);
}

/* The span under which something was given to the device; NULL: none. */
static inline const struct prof_span *traced_span(const struct traced *f,
                                                  int64_t id)
{
    for (size_t i = 0; id != 0 && i < f->n_span; i++)
        if (f->span[i]->id == id)
            return f->span[i];
    return NULL;
}

/* The calls that gave e, and the last of them. */
static inline int traced_calls_of(const struct traced *f,
                                  const struct nn_device_event *e,
                                  const struct nn_device_event **call)
{
    int n = 0;

    for (size_t i = 0; i < f->t->n; i++)
        if (f->t->event[i].kind == NN_EVENT_CALL &&
            f->t->event[i].correlation == e->correlation) {
            *call = &f->t->event[i];
            n++;
        }
    return n;
}

/* In a child, before anything has been opened: how it exits. */
static inline int status_of(int (*run)(void *arg), void *arg)
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run(arg));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#endif
