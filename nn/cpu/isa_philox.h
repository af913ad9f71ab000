/* Philox 4x32-10 (Salmon et al., SC 2011), VL counters at once; the words are
 * those of rng_philox in nn/base/rng.h. */
#ifndef NN_CPU_ISA_PHILOX_H
#define NN_CPU_ISA_PHILOX_H

#include "nn/cpu/cpu_kernels.h"
#include "nn/cpu/cpu_vec.h"

/* c = Philox(key, c), lane by lane */
AI void philox_words(VI c[4], uint32_t key0, uint32_t key1)
{
    const VI m0 = vi_set1(0xd2511f53), m1 = vi_set1(0xcd9e8d57);

    for (int round = 0; round < 10; round++) {
        VI lo0, lo1;
        VI hi0 = vi_mul(&lo0, c[0], m0), hi1 = vi_mul(&lo1, c[2], m1);

        c[0] = vi_xor(vi_xor(hi1, c[1]), vi_set1(key0));
        c[1] = lo1;
        c[2] = vi_xor(vi_xor(hi0, c[3]), vi_set1(key1));
        c[3] = lo0;
        key0 += 0x9e3779b9;
        key1 += 0xbb67ae85;
    }
}

/* The uniforms in [0, 1) of counters (layer, step, sample, block + i), i < VL,
 * four for each, in order. */
AI void philox_uniforms(float out[4 * VL], const struct cpu_dropout *d,
                        uint32_t sample, uint32_t block)
{
    VI c[4];
    uint32_t count[VL];
    float word[VL];

    for (int i = 0; i < VL; i++)
        count[i] = block + (uint32_t)i;
    c[0] = vi_set1(d->layer);
    c[1] = vi_set1(d->step);
    c[2] = vi_set1(sample);
    c[3] = vi_load(count);
    philox_words(c, d->key[0], d->key[1]);
    for (int w = 0; w < 4; w++) {
        v_store(word, v_mul(vi_to_float(vi_shr(c[w], 8)), v_set1(0x1p-24f)));
        for (int i = 0; i < VL; i++)
            out[4 * i + w] = word[i];
    }
}

#endif
