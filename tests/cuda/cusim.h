/* CUDA C++ on the CPU: forced in front of a kernel source that g++ compiles
 * (-x c++ -include tests/cuda/cusim.h). Types, vector types and the fp16 and
 * bf16 conversions come from NVIDIA's own headers, which a plain host compiler
 * takes; here is what nvcc itself supplies. A launch becomes an entry in a
 * stream of the double, a thread a coroutine of cusim_exec.c. */
#ifndef CUSIM_H
#define CUSIM_H

#define CUSIM 1

/* Shared arrays lie together, known by range, filled anew for each block. The
 * thread-local segment of the library is that range: a section of our own would
 * be, but g++ puts no variable of a template into one. */
#define __shared__ static thread_local
#define __constant__ static const

#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <math.h>
#include <string.h>
#include <tuple>
#include <type_traits>

#include "tests/cuda/cusim_exec.h"

#undef __launch_bounds__
#define __launch_bounds__(...)

#define threadIdx (cusim_cur->tid)
#define blockIdx (cusim_blk.idx)
#define blockDim (cusim_blk.dim)
#define gridDim (cusim_blk.grid)
#define warpSize 32

#define KERNEL extern "C" void
#define SHARED_DYN(type, name) type *const name = (type *)cusim_blk.dyn
#define LAUNCH(kernel, grid, block, shared, stream, ...) \
    cusim_go({#kernel, dim3(grid), dim3(block), shared, stream}, kernel, \
             ##__VA_ARGS__)

struct cusim_where {
    const char *name;
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

/* The arguments, copied now as the kernel's own types; the call comes when the
 * stream gets there, or each time that a graph is launched. */
template <class... P> struct cusim_call {
    void (*kernel)(P...);
    std::tuple<P...> args;

    static void run(const void *blob)
    {
        const cusim_call *c = (const cusim_call *)blob;

        std::apply(c->kernel, c->args);
    }
};

template <class... P, class... A>
static inline cudaError_t cusim_go(const cusim_where &w, void (*kernel)(P...),
                                   A... args)
{
    static_assert((std::is_trivially_copyable_v<P> && ...),
                  "kernel parameters must be plain data");
    cusim_call<P...> call{kernel, std::tuple<P...>(args...)};
    cusim_launch l = {w.name,
                      (const void *)kernel,
                      cusim_call<P...>::run,
                      &call,
                      sizeof call,
                      w.grid,
                      w.block,
                      w.shared,
                      w.stream};

    return cusim_launch_kernel(&l);
}

#define CUSIM_HERE (cusim_site{__FILE__, __LINE__})

#define __syncthreads() cusim_barrier(CUSIM_HERE)
#define __syncwarp(...) cusim_warp_barrier(cusim_mask(__VA_ARGS__), CUSIM_HERE)
#define __threadfence() ((void)0)
#define __threadfence_block() ((void)0)
#define __ballot_sync(mask, p) cusim_ballot(mask, (p) != 0, CUSIM_HERE)
#define __any_sync(mask, p) (__ballot_sync(mask, p) != 0)
#define __all_sync(mask, p) (__ballot_sync(mask, !(p)) == 0)
#define __activemask() cusim_activemask()
#define __shfl_sync(...) cusim_shfl(CUSIM_IDX, CUSIM_HERE, __VA_ARGS__)
#define __shfl_up_sync(...) cusim_shfl(CUSIM_UP, CUSIM_HERE, __VA_ARGS__)
#define __shfl_down_sync(...) cusim_shfl(CUSIM_DOWN, CUSIM_HERE, __VA_ARGS__)
#define __shfl_xor_sync(...) cusim_shfl(CUSIM_XOR, CUSIM_HERE, __VA_ARGS__)

static inline unsigned cusim_mask(unsigned mask = 0xffffffffu)
{
    return mask;
}

template <class T, class A>
static inline T cusim_shfl(int how, cusim_site site, unsigned mask, T value,
                           A arg, int width = 32)
{
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    cusim_exchange x = {how, (int)arg, width, 0};

    memcpy(&x.value, &value, sizeof value);
    x.value = cusim_shuffle(mask, &x, site);
    memcpy(&value, &x.value, sizeof value);
    return value;
}

/* Atomics. All threads share one OS thread, so plain code is atomic; the
 * checker is told that it is meant to be. */
template <class T, class F> static inline T cusim_rmw(T *p, F f)
{
    T old, now;

    cusim_atomic(p, sizeof *p, std::is_floating_point_v<T>);
    cusim_copy(&old, p, sizeof old);
    now = f(old);
    cusim_copy(p, &now, sizeof now);
    return old;
}
#define CUSIM_ATOMIC(name, result) \
    template <class T> static inline T name(T *p, std::common_type_t<T> v) \
    { \
        return cusim_rmw(p, [=](T old) { return (T)(result); }); \
    }
CUSIM_ATOMIC(atomicAdd, old + v)
CUSIM_ATOMIC(atomicSub, old - v)
CUSIM_ATOMIC(atomicMax, old > v ? old : v)
CUSIM_ATOMIC(atomicMin, old < v ? old : v)
CUSIM_ATOMIC(atomicOr, old | v)
CUSIM_ATOMIC(atomicAnd, old &v)
CUSIM_ATOMIC(atomicXor, old ^ v)
CUSIM_ATOMIC(atomicExch, v)
template <class T>
static inline T atomicCAS(T *p, std::common_type_t<T> compare,
                          std::common_type_t<T> v)
{
    return cusim_rmw(p, [=](T old) { return old == compare ? v : old; });
}

/* Device functions that no host header has. */
template <class T> static inline T __ldg(const T *p)
{
    return *p;
}
template <class To, class From> static inline To cusim_bits(From x)
{
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To y;

    memcpy(&y, &x, sizeof y);
    return y;
}
#define CUSIM_MATH(type, name, params, result) \
    static inline type name params \
    { \
        return result; \
    }
CUSIM_MATH(int, __float_as_int, (float x), cusim_bits<int>(x))
CUSIM_MATH(float, __int_as_float, (int x), cusim_bits<float>(x))
CUSIM_MATH(unsigned, __float_as_uint, (float x), cusim_bits<unsigned>(x))
CUSIM_MATH(float, __uint_as_float, (unsigned x), cusim_bits<float>(x))
CUSIM_MATH(long long, __double_as_longlong, (double x),
           cusim_bits<long long>(x))
CUSIM_MATH(double, __longlong_as_double, (long long x), cusim_bits<double>(x))
CUSIM_MATH(float, __fmaf_rn, (float a, float b, float c), fmaf(a, b, c))
CUSIM_MATH(double, __fma_rn, (double a, double b, double c), fma(a, b, c))
CUSIM_MATH(float, __fadd_rn, (float a, float b), a + b)
CUSIM_MATH(float, __fsub_rn, (float a, float b), a - b)
CUSIM_MATH(float, __fmul_rn, (float a, float b), a *b)
CUSIM_MATH(float, __fdiv_rn, (float a, float b), a / b)
CUSIM_MATH(float, __fsqrt_rn, (float a), sqrtf(a))
CUSIM_MATH(double, __dadd_rn, (double a, double b), a + b)
CUSIM_MATH(double, __dmul_rn, (double a, double b), a *b)
CUSIM_MATH(int, __popc, (unsigned x), __builtin_popcount(x))
CUSIM_MATH(int, __popcll, (unsigned long long x), __builtin_popcountll(x))
CUSIM_MATH(int, __clz, (int x), x ? __builtin_clz((unsigned)x) : 32)
CUSIM_MATH(int, __clzll, (long long x),
           x ? __builtin_clzll((unsigned long long)x) : 64)
CUSIM_MATH(int, __ffs, (int x), __builtin_ffs(x))
CUSIM_MATH(unsigned, __umulhi, (unsigned a, unsigned b),
           (unsigned)((uint64_t)a *b >> 32))
CUSIM_MATH(uint64_t, __umul64hi, (uint64_t a, uint64_t b),
           (uint64_t)((unsigned __int128)a *b >> 64))

#endif
