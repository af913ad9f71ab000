/* PyTorch's CPU generator (MT19937) and Philox. */
#ifndef NN_BASE_RNG_H
#define NN_BASE_RNG_H

#include <stdint.h>

#include "nn/base/err.h"

/* Copyable. To save one, copy the struct or its words (rng_mt_save). */
struct rng_mt {
    uint32_t state[624];
    uint32_t next;      /* 624: a new block is due */
    uint32_t has_spare; /* 1: spare is the next normal of a short fill */
    double spare;       /* kept from call to call, as in PyTorch */
};

void rng_mt_seed(struct rng_mt *g, uint64_t seed); /* low 32 bits are used */

/* state, next, has_spare and the low and high word of spare. */
enum { RNG_MT_WORDS = 624 + 4 };
void rng_mt_save(const struct rng_mt *g, uint32_t words[RNG_MT_WORDS]);
/* ERR_CORRUPT, and *g as it was, if the words cannot come from rng_mt_save. */
int rng_mt_load(struct rng_mt *g, const uint32_t words[RNG_MT_WORDS],
                struct err *err);

uint32_t rng_mt_u32(struct rng_mt *g);
uint64_t rng_mt_u64(struct rng_mt *g); /* two draws, the first one high */
/* fmaf((u32 & 0xffffff) * 2^-24, to - from, from) */
float rng_mt_uniform(struct rng_mt *g, float from, float to);
/* torch.randn(n). From 16 on, float32 Box-Muller on blocks of 16 uniforms;
 * fewer are made in double, in pairs whose second half waits in g->spare. Our
 * own log, cos and sin: within 1e-6 of PyTorch, the same bits everywhere. */
void rng_mt_normal(struct rng_mt *g, float *out, int64_t n);
/* torch.randperm(n): out[0..n) holds 0 .. n - 1. One 32-bit draw an element,
 * so n is at most RNG_MT_MAX_PERMUTATION. */
#define RNG_MT_MAX_PERMUTATION (INT64_C(1) << 32)
void rng_mt_permutation(struct rng_mt *g, int64_t *out, int64_t n);

/* Philox 4x32-10 (Salmon et al., SC 2011): four words for key and counter. */
void rng_philox(uint32_t out[4], const uint32_t key[2],
                const uint32_t counter[4]);
/* The word as a uniform in [0, 1): (word >> 8) * 2^-24. */
float rng_philox_uniform(uint32_t word);

/* Double-precision functions made of +, -, *, / and fma alone: the same bits
 * on every machine, within 2 ulp of exact. For schedules and synthetic data.
 * Outside the domain they return NaN. */
double rng_cos(double x); /* |x| <= 2^30 */
double rng_sin(double x); /* |x| <= 2^30 */
double rng_log(double x); /* x > 0, finite and normal */

#endif
