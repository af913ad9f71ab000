#include "nn/base/rng.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* MT19937: M. Matsumoto, T. Nishimura, "Mersenne Twister", ACM TOMACS 8(1),
 * 1998, seeded by the authors' init_genrand of 2002. */
enum { MT_N = 624, MT_M = 397 };

void rng_mt_seed(struct rng_mt *g, uint64_t seed)
{
    uint32_t i;

    memset(g, 0, sizeof *g);
    g->state[0] = (uint32_t)seed;
    for (i = 1; i < MT_N; i++) {
        uint32_t prev = g->state[i - 1];

        g->state[i] = 1812433253u * (prev ^ (prev >> 30)) + i;
    }
    g->next = MT_N;
}

void rng_mt_save(const struct rng_mt *g, uint32_t words[RNG_MT_WORDS])
{
    uint64_t bits;

    memcpy(&bits, &g->spare, sizeof bits);
    memcpy(words, g->state, sizeof g->state);
    words[MT_N] = g->next;
    words[MT_N + 1] = g->has_spare;
    words[MT_N + 2] = (uint32_t)bits;
    words[MT_N + 3] = (uint32_t)(bits >> 32);
}

int rng_mt_load(struct rng_mt *g, const uint32_t words[RNG_MT_WORDS],
                struct err *err)
{
    uint64_t bits = words[MT_N + 2] | (uint64_t)words[MT_N + 3] << 32;

    if (words[MT_N] > MT_N)
        return err_set(err, ERR_CORRUPT,
                       "the generator's position is %lu, at most %d is right",
                       (unsigned long)words[MT_N], MT_N);
    if (words[MT_N + 1] > 1)
        return err_set(err, ERR_CORRUPT,
                       "the generator's spare flag is %lu, not 0 or 1",
                       (unsigned long)words[MT_N + 1]);
    memcpy(g->state, words, sizeof g->state);
    g->next = words[MT_N];
    g->has_spare = words[MT_N + 1];
    memcpy(&g->spare, &bits, sizeof g->spare);
    return 0;
}

static uint32_t mt_mix(uint32_t high, uint32_t low)
{
    uint32_t y = (high & 0x80000000u) | (low & 0x7fffffffu);

    return (y >> 1) ^ ((low & 1) ? 0x9908b0dfu : 0);
}

static void mt_refill(struct rng_mt *g)
{
    uint32_t *s = g->state;
    int i;

    for (i = 0; i < MT_N - MT_M; i++)
        s[i] = s[i + MT_M] ^ mt_mix(s[i], s[i + 1]);
    for (; i < MT_N - 1; i++)
        s[i] = s[i + MT_M - MT_N] ^ mt_mix(s[i], s[i + 1]);
    s[MT_N - 1] = s[MT_M - 1] ^ mt_mix(s[MT_N - 1], s[0]);
    g->next = 0;
}

uint32_t rng_mt_u32(struct rng_mt *g)
{
    uint32_t y;

    if (g->next >= MT_N)
        mt_refill(g);
    y = g->state[g->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

uint64_t rng_mt_u64(struct rng_mt *g)
{
    uint64_t high = rng_mt_u32(g);

    return high << 32 | rng_mt_u32(g);
}

float rng_mt_uniform(struct rng_mt *g, float from, float to)
{
    float u = (float)(rng_mt_u32(g) & 0xffffff) * 0x1p-24f;

    return fmaf(u, to - from, from);
}

/* Uniform in [0, 1) with all 53 bits of a double. */
static double mt_uniform53(struct rng_mt *g)
{
    return (double)(rng_mt_u64(g) & ((1ull << 53) - 1)) * 0x1p-53;
}

enum { NORMAL_BLOCK = 16 };

/* 16 uniforms to 16 normals in place: pair j is (v[j], v[j + 8]). Every step
 * is rounded to float, as PyTorch's is. 1 - u is exact and never 0. */
static void box_muller_block(float *v)
{
    const float two_pi = 0x1.921fb6p+2f;
    int j;

    for (j = 0; j < NORMAL_BLOCK / 2; j++) {
        float log_u1 = (float)rng_log(1.0 - (double)v[j]);
        float theta = two_pi * v[j + 8];
        float radius = sqrtf(-2.0f * log_u1);

        v[j] = radius * (float)rng_cos((double)theta);
        v[j + 8] = radius * (float)rng_sin((double)theta);
    }
}

static float normal_of_pair(struct rng_mt *g)
{
    const double two_pi = 0x1.921fb54442d18p+2;
    double u1, u2, radius;

    if (g->has_spare) {
        g->has_spare = 0;
        return (float)g->spare;
    }
    u1 = mt_uniform53(g);
    u2 = mt_uniform53(g);
    radius = sqrt(-2.0 * rng_log(1.0 - u2));
    g->spare = radius * rng_sin(two_pi * u1);
    g->has_spare = 1;
    return (float)(radius * rng_cos(two_pi * u1));
}

void rng_mt_normal(struct rng_mt *g, float *out, int64_t n)
{
    int64_t i;

    if (n < NORMAL_BLOCK) {
        for (i = 0; i < n; i++)
            out[i] = normal_of_pair(g);
        return;
    }
    for (i = 0; i < n; i++)
        out[i] = rng_mt_uniform(g, 0.0f, 1.0f);
    for (i = 0; i + NORMAL_BLOCK <= n; i += NORMAL_BLOCK)
        box_muller_block(out + i);
    if (i == n)
        return;
    /* The last 16 are drawn afresh, over normals that were done already. */
    out += n - NORMAL_BLOCK;
    for (i = 0; i < NORMAL_BLOCK; i++)
        out[i] = rng_mt_uniform(g, 0.0f, 1.0f);
    box_muller_block(out);
}

void rng_mt_permutation(struct rng_mt *g, int64_t *out, int64_t n)
{
    int64_t i;

    for (i = 0; i < n; i++)
        out[i] = i;
    for (i = 0; i < n - 1; i++) {
        int64_t j = i + (int64_t)(rng_mt_u32(g) % (uint64_t)(n - i));
        int64_t swap = out[i];

        out[i] = out[j];
        out[j] = swap;
    }
}

/* J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
void rng_philox(uint32_t out[4], const uint32_t key[2],
                const uint32_t counter[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c[4];
    int round;

    memcpy(c, counter, sizeof c);
    for (round = 0; round < 10; round++) {
        uint64_t a = 0xd2511f53ull * c[0];
        uint64_t b = 0xcd9e8d57ull * c[2];

        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    memcpy(out, c, sizeof c);
}

float rng_philox_uniform(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* x = quadrant * pi/2 + (hi + lo), |hi| at most a little over pi/4. pi/2 is
 * held in three doubles; the error of hi + lo stays below 2^-120 for |x| up to
 * 2^30, where a double comes no nearer than 2^-62 to a multiple of pi/2. */
struct angle {
    double hi, lo;
    int quadrant;
};

static struct angle reduce(double x)
{
    const double two_over_pi = 0x1.45f306dc9c883p-1;
    const double p1 = 0x1.921fb54442d18p+0, p2 = 0x1.1a62633145c07p-54,
                 p3 = -0x1.f1976b7ed8fbcp-110;
    const double round = 0x1.8p52; /* adding it rounds to an integer */
    double n = fma(x, two_over_pi, round) - round;
    double r = fma(-n, p1, x); /* exact: a multiple of p1's last bit */
    double b = n * p2, b_lo = fma(n, p2, -b);
    struct angle a;
    double rr;

    /* r - b as a sum of two doubles, then the small terms. */
    a.hi = r - b;
    rr = r - a.hi;
    a.lo = (r - (a.hi + rr)) + (rr - b);
    a.lo = fma(-n, p3, a.lo - b_lo);
    a.quadrant = (int)((int64_t)n & 3);
    return a;
}

/* Taylor series, in z = hi * hi: the term left out is below 2^-63 of the
 * result on |hi| <= pi/4. lo enters by its first derivative. */
static double sin_kernel(struct angle a)
{
    static const double c[] = {1.0 / 355687428096000,
                               -1.0 / 1307674368000,
                               1.0 / 6227020800,
                               -1.0 / 39916800,
                               1.0 / 362880,
                               -1.0 / 5040,
                               1.0 / 120,
                               -1.0 / 6};
    double z = a.hi * a.hi, p = c[0];
    size_t i;

    for (i = 1; i < sizeof c / sizeof *c; i++)
        p = fma(p, z, c[i]);
    return a.hi + fma(a.hi * z, p, a.lo * fma(-0.5, z, 1.0));
}

static double cos_kernel(struct angle a)
{
    static const double c[] = {1.0 / 20922789888000,
                               -1.0 / 87178291200,
                               1.0 / 479001600,
                               -1.0 / 3628800,
                               1.0 / 40320,
                               -1.0 / 720,
                               1.0 / 24};
    double z = a.hi * a.hi, p = c[0];
    double half = 0.5 * z, one = 1.0 - half;
    size_t i;

    for (i = 1; i < sizeof c / sizeof *c; i++)
        p = fma(p, z, c[i]);
    /* (1 - one) - half is what one lost to rounding. */
    return one + (((1.0 - one) - half) + fma(z * z, p, -a.hi * a.lo));
}

/* The sine of x + quarters * pi/2. */
static double sin_shifted(double x, int quarters)
{
    struct angle a;
    double y;
    int q;

    if (!(x >= -0x1p30 && x <= 0x1p30))
        return (double)NAN;
    a = reduce(x);
    q = (a.quadrant + quarters) & 3;
    y = (q & 1) ? cos_kernel(a) : sin_kernel(a);
    return (q & 2) ? -y : y;
}

double rng_cos(double x)
{
    return sin_shifted(x, 1);
}

double rng_sin(double x)
{
    return sin_shifted(x, 0);
}

/* log(2^e * m) = e * log 2 + 2 atanh(s), s = (m - 1) / (m + 1), m between
 * sqrt(1/2) and sqrt(2). With f = m - 1 and atanh's Taylor series,
 * 2 atanh(s) = f - (f^2/2 - s * (f^2/2 + r)), r = 2 s^2 (1/3 + s^2/5 + ...). */
double rng_log(double x)
{
    static const double c[] = {2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17,
                               2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9,
                               2.0 / 7,  2.0 / 5,  2.0 / 3};
    const double ln2_hi = 0x1.62e42fef00000p-1; /* 20 low bits are 0 */
    const double ln2_lo = 0x1.473de6af278edp-34;
    double m, f, s, z, p, half;
    uint64_t bits;
    size_t i;
    int e;

    if (!(x >= DBL_MIN && x <= DBL_MAX))
        return (double)NAN;
    memcpy(&bits, &x, sizeof bits);
    e = (int)(bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        e++;
    }
    f = m - 1.0;
    s = f / (2.0 + f);
    z = s * s;
    p = c[0];
    for (i = 1; i < sizeof c / sizeof *c; i++)
        p = fma(p, z, c[i]);
    half = 0.5 * f * f;
    return e * ln2_hi - ((half - (s * fma(z, p, half) + e * ln2_lo)) - f);
}
