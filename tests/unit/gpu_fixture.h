/* Spans and a device's records as a test puts them together, with made-up
 * times, and the trace that is written of them. */
#ifndef GPU_FIXTURE_H
#define GPU_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "nn/traced.h"
#include "pipeline/profile_gpu.h"
#include "pipeline/trace_check.h"
#include "pipeline/trace_write.h"
#include "tests/unit/kineto_fixture.h"

/* 2026-10-01; a step takes 1000 ns of it. */
static const int64_t t0 = INT64_C(1790862261000000000);
enum { TID = 4243, MOST = 64 };

static char path[64];

/* Spans and records as they are put together by a test. */
static struct {
    struct prof_span span[MOST];
    const struct prof_span *at[MOST], *step[MOST];
    struct pl_traced t;
    struct nn_device_event event[MOST];
    struct nn_device_trace trace;
    struct pl_traced_gpu gpu;
} w;

static const struct nn_call linear = {.op = NN_OP_LINEAR,
                                      .layer = "fc,1",
                                      .role = NN_ROLE_FORWARD,
                                      .phase = NN_PHASE_FORWARD};
static const struct nn_call adam = {.op = NN_OP_ADAM,
                                    .layer = "",
                                    .role = NN_ROLE_UPDATE,
                                    .phase = NN_PHASE_OPTIMIZER};

static inline int set_up(void **state)
{
    int fd;

    (void)state;
    memset(&w, 0, sizeof w);
    w.t.span = w.at;
    w.t.step = w.step;
    w.trace.event = w.event;
    w.trace.device = (struct nn_device_info){
        .name = "SIMULATED (\"quoted\")",
        .simulated = true,
        .major = 9,
        .sms = 4,
        .warp = 32,
        .threads_per_sm = 2048,
        .cupti = 130001,
        .runtime = 13000,
        .driver = 13010,
    };
    (void)snprintf(path, sizeof path, "/tmp/test_profile_gpu-XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static inline int tear_down(void **state)
{
    (void)state;
    pl_gpu_clear(&w.gpu);
    (void)unlink(path);
    return mem_live() == 0 ? 0 : -1;
}

/* ---- what was recorded ---- */

static inline void span(enum prof_kind kind, const char *name, int64_t begin,
                        int64_t end, int64_t id)
{
    struct prof_span *s = &w.span[w.t.n];

    assert_true(w.t.n < MOST);
    *s = (struct prof_span){.begin = t0 + begin,
                            .end = t0 + end,
                            .name = name,
                            .step = (int64_t)w.t.n_steps - (kind != PROF_STEP),
                            .id = id,
                            .tid = TID,
                            .kind = kind};
    w.at[w.t.n++] = s;
    if (kind == PROF_STEP) {
        w.step[w.t.n_steps++] = s;
        w.t.steps_ns += end - begin;
    }
}

static inline void operator_span(const struct nn_call *call, int64_t begin,
                                 int64_t end, int64_t id)
{
    span(PROF_OP, nn_op_name(call->op), begin, end, id);
    w.span[w.t.n - 1].arg = call;
}

static inline struct nn_device_event *event(enum nn_event_kind kind,
                                            const char *name, int64_t begin,
                                            int64_t end, uint32_t correlation)
{
    struct nn_device_event *e = &w.event[w.trace.n++];

    assert_true(w.trace.n <= MOST);
    *e = (struct nn_device_event){.kind = kind,
                                  .begin = t0 + begin,
                                  .end = t0 + end,
                                  .name = name,
                                  .correlation = correlation};
    if (kind == NN_EVENT_CALL) {
        e->tid = TID;
        e->cbid = 211;
        return e;
    }
    e->stream = 7;
    e->context = 1;
    if (kind != NN_EVENT_KERNEL) {
        e->bytes = 4000;
        return e;
    }
    e->grid[0] = 2;
    e->grid[1] = e->grid[2] = e->block[1] = e->block[2] = 1;
    e->block[0] = 96;
    e->registers = 40;
    e->shared = 1024;
    e->blocks_per_sm = 16;
    return e;
}

/* Step i, from `from` on: a copy in h2d, two kernels in forward, one in the
 * optimizer's phase, the result read. */
static inline void eager_step(int i, int64_t from)
{
    uint32_t c = 10 * (uint32_t)i;
    int64_t id = 10 * i;

    span(PROF_STEP, "ProfilerStep", from, from + 1000, 0);
    span(PROF_PHASE, "h2d", from + 10, from + 100, 0);
    span(PROF_PHASE, "forward", from + 100, from + 300, 0);
    operator_span(&linear, from + 110, from + 290, id + 1);
    span(PROF_PHASE, "optimizer", from + 300, from + 400, 0);
    operator_span(&adam, from + 310, from + 390, id + 2);
    span(PROF_PHASE, "read loss", from + 400, from + 1000, 0);

    event(NN_EVENT_CALL, "cudaMemcpyAsync", from + 20, from + 60, c + 1);
    event(NN_EVENT_COPY, "Memcpy HtoD (Pageable -> Device)", from + 70,
          from + 110, c + 1);
    event(NN_EVENT_CALL, "cudaLaunchKernel", from + 120, from + 140, c + 2)
        ->span = id + 1;
    event(NN_EVENT_KERNEL, "gemm<float>", from + 130, from + 400, c + 2)->span =
        id + 1;
    event(NN_EVENT_CALL, "cudaLaunchKernel", from + 150, from + 170, c + 3)
        ->span = id + 1;
    event(NN_EVENT_KERNEL, "bias", from + 400, from + 450, c + 3)->span =
        id + 1;
    event(NN_EVENT_CALL, "cudaLaunchKernel", from + 320, from + 340, c + 4)
        ->span = id + 2;
    event(NN_EVENT_KERNEL, "adam", from + 460, from + 700, c + 4)->span =
        id + 2;
    event(NN_EVENT_CALL, "cudaStreamSynchronize", from + 410, from + 710,
          c + 5);
}

static inline void read_all(void)
{
    struct err err = {0};

    assert_int_equal(pl_gpu_read(&w.gpu, &w.t, &w.trace, &err), 0);
}

/* ---- what becomes of it ---- */

/* Writes the trace; no rule may be broken. */
static inline json_t *written(void)
{
    const struct pl_trace_fact fact = {.key = "execution", .text = "eager"};
    const struct pl_traced_more more = {.gpu = &w.gpu};
    struct str report = {0};
    uint64_t broken;
    json_t *root;
    struct err err = {0};

    read_all();
    assert_int_equal(pl_traced_write(&w.t, &more, path, &fact, 1, &err), 0);
    assert_int_equal(
        pl_trace_check_file(&report, &broken, path, NULL, false, &err), 0);
    if (broken)
        fail_msg("%s", report.text);
    str_free(&report);
    root = trace_load(path);
    expect_schema(root);
    return root;
}

static inline json_t *find(json_t *root, const char *cat, const char *name,
                           size_t nth)
{
    json_t *e;
    size_t i;

    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        if (strcmp(event_text(e, "cat"), cat) == 0 &&
            (!name || strcmp(event_text(e, "name"), name) == 0) && nth-- == 0)
            return e;
    }
    return NULL;
}

static inline size_t events_of(json_t *root, const char *cat)
{
    size_t n = 0;

    while (find(root, cat, NULL, n))
        n++;
    return n;
}

static inline const json_t *arg(const json_t *e, const char *key)
{
    return json_object_get(json_object_get(e, "args"), key);
}

/* What one launch gives, each for an operator of its own. */
static inline void recorded_step(int i, int64_t from)
{
    uint32_t c = 10 * (uint32_t)i;
    int k;

    span(PROF_STEP, "ProfilerStep", from, from + 1000, 0);
    span(PROF_PHASE, "h2d", from + 10, from + 50, 0);
    span(PROF_PHASE, nn_traced_replay, from + 50, from + 100, 0);
    event(NN_EVENT_CALL, "cudaGraphLaunch", from + 60, from + 90, c + 1);
    for (k = 0; k < 4; k++) {
        struct nn_device_event *e =
            event(NN_EVENT_KERNEL, k < 3 ? "gemm" : "adam",
                  from + 100 * (k + 1), from + 100 * (k + 1) + 50, c + 1);

        e->call = k < 3 ? &linear : &adam;
        e->graph = 3;
        e->node = 70 + (uint64_t)k;
    }
}

#endif
