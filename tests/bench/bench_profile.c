/* What the profiler costs, on one thread, for a step of 784-256-10 with Adam at
 * batch 32, run operator by operator:
 *
 *   bench_profile step N        N pairs of 20 steps, one with a recorder and
 * one without, in turns: the medians and their ratio bench_profile off N N
 * steps without one: to count instructions of bench_profile write N PATH  a
 * trace of N operators: seconds, and the memory that writing takes beyond the
 * records
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "nn/base/mem.h"
#include "nn/base/prof.h"
#include "nn/train.h"
#include "pipeline/profile_traced.h"

enum { SAMPLES = 640, PIXELS = 784, BATCH = 32, STEPS = 20, MOST = 1 << 16 };

struct bench {
    struct nn_data data;
    struct nn_backend *be;
    struct nn_model *model;
    struct nn_trainer *trainer;
    struct err err;
};

/* Of this process's own time: what else runs on the machine does not count. */
static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const struct bench *b)
{
    (void)fprintf(stderr, "bench_profile: %s\n", b->err.msg);
    return 1;
}

/* Pixels of which four in five are 0, as MNIST's. */
static int make_data(struct bench *b)
{
    uint8_t *x = mem_array((size_t)SAMPLES * PIXELS, 1);
    int32_t *label = mem_array(SAMPLES, sizeof *label);

    if (!x || !label)
        return err_set(&b->err, ERR_NOMEM, "out of memory for a data set");
    for (int i = 0; i < SAMPLES * PIXELS; i++)
        x[i] = i * 7 % 5 == 0 ? (uint8_t)(i * 31 % 256) : 0;
    for (int i = 0; i < SAMPLES; i++)
        label[i] = i % 10;
    b->data = (struct nn_data){.n = SAMPLES,
                               .sample = nn_shape1(PIXELS),
                               .dtype = NN_U8,
                               .x = x,
                               .divide = 255.0f,
                               .label = label,
                               .classes = 10};
    return 0;
}

static int open_all(struct bench *b)
{
    static const struct nn_layer_spec layers[] = {
        {.type = NN_LAYER_LINEAR, .out = 256, .bias = true},
        {.type = NN_LAYER_RELU},
        {.type = NN_LAYER_LINEAR, .out = 10, .bias = true},
    };
    const struct nn_trainer_opts opts = {
        .loss = {.type = NN_LOSS_CROSS_ENTROPY, .pos_weight = 1.0},
        .optim = {.type = NN_OPTIM_ADAM,
                  .beta1 = 0.9,
                  .beta2 = 0.999,
                  .eps = 1e-8},
        .microbatches = 1,
        .execution = NN_EXEC_EAGER};
    struct rng_mt gen;
    int rc = make_data(b);

    rng_mt_seed(&gen, 0);
    if (rc == 0)
        rc = nn_cpu_open(&b->be, 1, NULL, &b->err);
    if (rc == 0)
        rc = nn_model_new(&b->model, b->be,
                          &(struct nn_model_spec){layers, 3, b->data.sample},
                          &gen, NULL, &b->err);
    if (rc == 0)
        rc = nn_trainer_new(&b->trainer, b->model, &b->data, &opts, &b->err);
    return rc;
}

static int take_steps(struct bench *b, int64_t n)
{
    struct prof *p = b->be->prof;
    int rc = 0;
    float loss;

    for (int64_t i = 0; rc == 0 && i < n; i++) {
        if (p)
            prof_step_begin(p);
        rc = nn_trainer_step(b->trainer, NULL,
                             b->trainer->step % (SAMPLES / BATCH) * BATCH,
                             BATCH, 1e-3, &loss, &b->err);
        if (p)
            prof_step_end(p);
    }
    return rc;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int bench_step(struct bench *b, int64_t n)
{
    const struct prof_schedule all = {0};
    double *time[2], begin;
    struct prof *p = NULL;
    int rc = take_steps(b, STEPS);

    for (int k = 0; k < 2; k++)
        time[k] = mem_array((size_t)n, sizeof *time[k]);
    if (rc == 0)
        rc = prof_new(&p, &all, (size_t)1 << 22, &b->err);
    for (int64_t i = 0; rc == 0 && i < 2 * n; i++) {
        b->be->prof = i % 2 ? p : NULL;
        begin = now();
        rc = take_steps(b, STEPS);
        time[i % 2][i / 2] = now() - begin;
    }
    b->be->prof = NULL;
    if (rc != 0)
        return rc;
    for (int k = 0; k < 2; k++)
        qsort(time[k], (size_t)n, sizeof *time[k], by_size);
    (void)printf("step %.2f us, profiled %.2f us, ratio %.4f\n",
                 1e6 * time[0][n / 2] / STEPS, 1e6 * time[1][n / 2] / STEPS,
                 time[1][n / 2] / time[0][n / 2]);
    prof_free(p);
    mem_free(time[0]);
    mem_free(time[1]);
    return 0;
}

static long peak_kib(void)
{
    struct rusage r;

    (void)getrusage(RUSAGE_SELF, &r);
    return r.ru_maxrss;
}

/* n operators of the recorded step, over and over, 1 us each. */
static int make_up(struct bench *b, struct prof *p, int64_t n)
{
    int rc = take_steps(b, 1);
    const struct nn_step *s = nn_trainer_recorded(b->trainer, BATCH);
    int64_t at = prof_now(p);

    for (int64_t i = 0; rc == 0 && i < n;) {
        prof_step_begin(p);
        for (int k = 0; k < s->n_call; k++, i++, at += 1000)
            prof_add(p, PROF_OP, nn_op_name(s->call[k].op), &s->call[k], at,
                     at + 1000);
        prof_step_end(p);
    }
    return rc;
}

static int bench_write(struct bench *b, int64_t n, const char *path)
{
    const struct prof_schedule all = {0};
    struct pl_traced t;
    struct prof *p;
    double begin;
    long before;
    int rc = prof_new(&p, &all, (size_t)(2 * n) + MOST, &b->err);

    if (rc != 0)
        return rc;
    rc = make_up(b, p, n);
    if (rc == 0)
        rc = pl_traced_read(&t, p, &b->err);
    if (rc != 0)
        return rc;
    before = peak_kib();
    begin = now();
    rc = pl_traced_write(&t, path, NULL, 0, &b->err);
    (void)printf(
        "%zu events in %.3f s, %ld KiB beyond the records, %llu lost\n", t.n,
        now() - begin, peak_kib() - before, (unsigned long long)t.lost);
    pl_traced_clear(&t);
    prof_free(p);
    return rc;
}

int main(int argc, char **argv)
{
    static struct bench b;
    int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
    int rc;

    if (n < 1 || (strcmp(argv[1], "write") == 0 && argc < 4)) {
        (void)fprintf(stderr, "usage: bench_profile step|off|write N [PATH]\n");
        return 2;
    }
    rc = open_all(&b);
    if (rc == 0 && strcmp(argv[1], "step") == 0)
        rc = bench_step(&b, n);
    else if (rc == 0 && strcmp(argv[1], "write") == 0)
        rc = bench_write(&b, n, argv[3]);
    else if (rc == 0)
        rc = take_steps(&b, n);
    if (rc != 0)
        return fail(&b);
    nn_trainer_free(b.trainer);
    nn_model_free(b.model);
    nn_backend_close(b.be);
    return 0;
}
