/* The executor of kernels: what the shim (C++), the executor, the checker and
 * the runtime's double (C) know of each other. */
#ifndef CUSIM_EXEC_H
#define CUSIM_EXEC_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUSIM_WARP = 32, CUSIM_MAX_THREADS = 1024, CUSIM_MAX_DYN = 227 << 10 };

struct cusim_site {
    const char *file;
    int line;
};

/* What a lane brings to a warp operation; value is the result behind it. */
struct cusim_exchange {
    int how, arg, width;
    uint64_t value;
};
enum { CUSIM_IDX, CUSIM_UP, CUSIM_DOWN, CUSIM_XOR, CUSIM_BALLOT, CUSIM_SYNC };

enum cusim_state {
    CUSIM_NEW,
    CUSIM_READY,
    CUSIM_AT_BARRIER,
    CUSIM_AT_WARP,
    CUSIM_EXITED
};

struct cusim_fiber;
struct cusim_thread {
    uint3 tid;
    unsigned lin; /* place in the block */
    enum cusim_state state;
    unsigned epoch, warp_epoch; /* barriers passed */
    struct cusim_fiber *fiber;
    struct cusim_site site; /* of what it waits for */
    unsigned mask;
    struct cusim_exchange x;
};

struct cusim_block {
    uint3 idx;
    dim3 dim, grid;
    char *dyn; /* dynamic shared memory */
    size_t dyn_size;
    unsigned lin;    /* place in the grid */
    unsigned launch; /* number of the kernel's execution */
    const char *kernel;
};

/* threadIdx and its kin; NULL outside of kernels. */
extern struct cusim_thread *cusim_cur;
extern struct cusim_block cusim_blk;

struct cusim_launch {
    const char *name;
    const void *func; /* the kernel: a key */
    void (*run)(const void *blob);
    const void *blob;
    size_t size;
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

/* Puts a launch on its stream (the runtime's double). */
cudaError_t cusim_launch_kernel(const struct cusim_launch *l);
/* Runs a whole grid now. Returns what the device would raise. */
cudaError_t cusim_run(const struct cusim_launch *l);
/* Abandons the launch that runs; does not return. */
void cusim_kill(cudaError_t rc);

void cusim_barrier(struct cusim_site site);
void cusim_warp_barrier(unsigned mask, struct cusim_site site);
uint64_t cusim_shuffle(unsigned mask, const struct cusim_exchange *x,
                       struct cusim_site site);
unsigned cusim_ballot(unsigned mask, int predicate, struct cusim_site site);
unsigned cusim_activemask(void);

/* cusim_warp.c: releases the waiting warps that can go on; whether any did. */
bool cusim_warps_release(struct cusim_thread *threads, unsigned n);
void cusim_make_ready(struct cusim_thread *t);
/* Waits, in the given state, until made ready. */
void cusim_suspend(enum cusim_state state, struct cusim_site site);

/* memcpy that the checker does not see. */
void cusim_copy(void *dst, const void *src, size_t n);
/* What an atomic is about to touch: for the checker, else nothing. */
void cusim_atomic(const void *p, size_t n, bool is_float);

/* Where shared arrays lie; whether p is one of threadIdx and its kin or of the
 * kernel's arguments. */
void cusim_shared_range(char **begin, char **end);
bool cusim_is_own(const void *p);

/* "cusim: KIND in KERNEL block B thread T: ..." on stderr. */
void cusim_report(const char *kind, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
unsigned cusim_reports(void);
/* "FILE:LINE" of a code address. */
void cusim_place(char *out, size_t size, const void *pc);

/* Order of threads and blocks, from FAKE_CUDA_THREADS; and the numbers that
 * random orders are drawn from. */
enum cusim_order { CUSIM_FORWARD, CUSIM_REVERSE, CUSIM_RANDOM };
void cusim_set_order(enum cusim_order order, uint64_t seed);
uint64_t cusim_random(void);

#ifdef __cplusplus
}
#endif
#endif
