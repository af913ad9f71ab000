/* The double of the CUDA runtime inside: state and services that its files
 * share. Functions that begin with cuda, cublas, cupti are NVIDIA's, declared
 * by NVIDIA's headers, so that a wrong prototype does not compile.
 *
 * It stands for a library that has state of one process, and so has state of
 * its own, under one lock: fake_enter takes it, fake_leave gives it back. */
#ifndef FAKE_H
#define FAKE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/cuda/cusim_exec.h"
#include "tests/cuda/fake_inject.h"

/* --- one call of the API -------------------------------------------------- */

struct fake_call {
    const char *fn;
    uint32_t corr;
    uint64_t start;
    bool driver;    /* a library's launch, by the driver's own function */
    cudaError_t rc; /* what to return at once, 0: go on */
};
struct fake_call fake_enter(const char *fn);
cudaError_t fake_leave(const struct fake_call *call, cudaError_t rc);
#define ENTER(name) \
    struct fake_call call = fake_enter(#name); \
    if (call.rc) \
    return fake_leave(&call, call.rc)
#define LEAVE(result) return fake_leave(&call, (result))
/* For what gives back: it does so even if it must say that something failed. */
#define ENTER_RELEASE(name) struct fake_call call = fake_enter(#name)
#define LEAVE_RELEASE(result) \
    do { \
        cudaError_t released = (result); \
        return fake_leave(&call, call.rc ? call.rc : released); \
    } while (0)

/* A fault on the device stays: every later call returns it. */
void fake_fault(cudaError_t rc);
cudaError_t fake_faulted(void);
cudaError_t fake_take_last_error(bool clear);
uint64_t fake_now(void); /* nanoseconds */
void *fake_zalloc(size_t size);

/* --- work ----------------------------------------------------------------- */

enum fake_kind {
    FAKE_KERNEL,
    FAKE_LIBRARY,
    FAKE_COPY,
    FAKE_SET,
    FAKE_HOST,
    FAKE_EVENT,
    FAKE_WAIT,
    FAKE_GRAPH
};

struct fake_copy {
    void *dst;
    const void *src;
    size_t n;
    int dir, value; /* value: of a memset */
    bool pinned, staged;
    const void *pc; /* of the caller */
    uint64_t hash;  /* of what a pinned source held at the call */
};

enum { FAKE_CLOCKS = 16 };

struct fake_op {
    struct fake_op *next;
    enum fake_kind kind;
    uint64_t seq; /* order of all enqueued work */
    uint32_t corr;
    const char *name;
    const void *func;
    void (*run)(const void *blob);
    dim3 grid, block;
    size_t shared, size;
    cudaEvent_t event;
    uint64_t wanted; /* FAKE_WAIT: the record to wait for */
    struct fake_body *body;
    uint32_t id; /* as a graph's node */
    size_t n_deps;
    struct fake_op **deps;       /* as a graph's node: what comes before */
    uint64_t known[FAKE_CLOCKS]; /* a stream: its work known to be done */
    _Alignas(16) unsigned char blob[];
};

struct CUevent_st {
    uint64_t wanted, done; /* sequence number of the last record */
    uint64_t when;
    unsigned flags, refs;
    bool recorded;
    uint64_t known[FAKE_CLOCKS];
    struct CUgraph_st *capture;
    struct fake_op **front; /* recorded in a capture: what it stands for */
    size_t n_front;
};

struct CUstream_st {
    struct CUstream_st *next;
    struct fake_op *head, **tail;
    unsigned id, flags, slot; /* slot: its place in known */
    bool closing;
    uint64_t last; /* work enqueued */
    uint64_t known[FAKE_CLOCKS];
    struct CUgraph_st *capture;
    bool origin; /* of the capture */
    enum cudaStreamCaptureMode mode;
    struct fake_op **front; /* the nodes that the next one comes after */
    size_t n_front;
};

/* The nodes of a graph; shared, and never written to once captured. */
struct fake_body {
    unsigned refs;
    uint32_t graph, first_id;
    struct fake_op **nodes;
    size_t n;
};
struct CUgraph_st {
    struct fake_body *body;
    bool spoilt;
};
struct CUgraphExec_st {
    struct fake_body *body;
};

/* Adds work to a stream, or a node to the graph that it captures. op and its
 * blob are copied. */
cudaError_t fake_enqueue(cudaStream_t stream, const struct fake_op *op,
                         const void *blob, size_t size);
/* Runs all of a stream (NULL: of every stream) up to a sequence number. */
void fake_drain(struct CUstream_st *s, uint64_t seq);
/* One piece of work, s's own if it can run: what a query lets happen. */
void fake_progress(struct CUstream_st *s);
struct CUstream_st *fake_stream(cudaStream_t handle); /* NULL: no such */
struct CUstream_st *fake_streams(void);               /* a list */
void fake_stream_add(struct CUstream_st *s);
void fake_stream_close(struct CUstream_st *s); /* gone when its work is done */
void fake_op_free(struct fake_op *op);
void fake_event_release(cudaEvent_t e);
/* What the host has waited for: that much of a stream, or a record. */
void fake_host_waited(const struct CUstream_st *s);
void fake_host_knows(const uint64_t known[FAKE_CLOCKS]);
void fake_known_join(uint64_t to[FAKE_CLOCKS],
                     const uint64_t from[FAKE_CLOCKS]);
/* The op runs now; corr of the call that asked for it. */
void fake_op_run(struct fake_op *op, const struct CUstream_st *s, uint32_t corr,
                 uint32_t graph);
enum fake_order { FAKE_LAZY, FAKE_EAGER, FAKE_RANDOM };
enum fake_order fake_order(void);
/* Library work (cuBLAS): C code under a kernel's name. */
cudaError_t fake_library(const char *name, void (*run)(const void *),
                         const void *blob, size_t size, cudaStream_t stream);

/* --- capture and graphs (fake_capture.c, fake_graph.c) -------------------- */

/* If any capture forbids calls like this one: spoils it, returns the error. */
cudaError_t fake_capture_forbids(void);
cudaError_t fake_capture_add(struct CUstream_st *s, struct fake_op *op);
cudaError_t fake_capture_spoil(struct CUstream_st *s);
void fake_front_set(struct fake_op ***front, size_t *n, struct fake_op *op);
void fake_front_join(struct fake_op ***front, size_t *n,
                     struct fake_op *const *more, size_t n_more);
void fake_body_run(struct fake_body *b, const struct CUstream_st *s,
                   uint32_t corr);
void fake_body_release(struct fake_body *b);
struct fake_body *fake_body_new(void);
uint32_t fake_node_ids(size_t n); /* takes n numbers, returns the first */

/* --- memory (fake_memory.c) ----------------------------------------------- */

struct fake_alloc {
    char *p;
    size_t n;
    unsigned id;
    uint8_t *init;      /* a bit a byte: written to (checking build) */
    void *shadow;       /* the checker's marks */
    size_t shadow_size; /* in bytes */
};
cudaError_t fake_mem_alloc(void **out, size_t n);
cudaError_t fake_mem_free(void *p);
/* The allocation that holds p; else NULL, with the number of a freed one. */
struct fake_alloc *fake_mem_find(const void *p, unsigned *freed);
struct fake_alloc *fake_mem_before(const void *p);
bool fake_mem_holds(const void *p, size_t n); /* all of it device memory */
bool fake_mem_is_pinned(const void *p);
void fake_mem_open(bool open); /* nests; closed to the host otherwise */
size_t fake_mem_capacity(void);
size_t fake_mem_used(void);

/* --- objects not given back, told at exit --------------------------------- */

enum fake_object {
    FAKE_MEMORY,
    FAKE_PINNED,
    FAKE_STREAMS,
    FAKE_EVENTS,
    FAKE_GRAPHS,
    FAKE_EXECS,
    FAKE_HANDLES,
    FAKE_OBJECTS
};
void fake_count(enum fake_object what, int change);

/* --- the checker (check_access.c; check_none.c in the plain build) -------- */

bool check_on(void);
/* Work of the host's kind (copy, library) touches device memory. */
void check_range(const void *p, size_t n, bool write, const char *who,
                 const void *pc);
/* Copies what is known of the bytes: a copy of nothing written stays so. */
void check_copied(void *dst, const void *src, size_t n);
void check_pinned(const struct fake_copy *c);
/* The work that runs from now on. */
void check_begin(const struct fake_op *op, const struct CUstream_st *s);
void check_forget(struct fake_alloc *a);

/* --- the tracer (fake_cupti.c) -------------------------------------------- */

struct fake_work {
    const struct fake_op *op;
    uint32_t corr, stream, graph, node;
    uint64_t start, end;
};
struct fake_tracer {
    void (*api)(const struct fake_call *call, uint64_t end, cudaError_t rc);
    void (*work)(const struct fake_work *w);
    /* A node was made (of is NULL) or cloned from of. */
    void (*node)(const struct fake_op *node, const struct fake_op *of);
};
void fake_set_tracer(const struct fake_tracer *t);
const struct fake_tracer *fake_tracer(void);

#endif
