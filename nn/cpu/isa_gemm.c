/* The float32 product. Every output is one chain of fused multiply-adds over
 * k, so the tile that computes it, the order of tiles and the instruction set
 * do not show in its bits.
 *
 * A tile is MR rows by NV vectors of accumulators, which stay in registers
 * while k runs: MR and NV are constants after inlining, one function for each
 * pair in use. The right operand lies in panels of 32 columns (cpu_kernels.h):
 * a row of a panel is a few aligned loads, and its end is padded. Between two
 * blocks of k the accumulators rest in c, exactly as they are. */
#include "nn/cpu/isa_parts.h"

#include "nn/cpu/cpu_vmath.h"

#if defined(ISA_AVX512)
enum { MR = 14, NV = 2 };
#elif defined(ISA_AVX2)
enum { MR = 6, NV = 2 };
#else
enum { MR = 4, NV = 1 };
#endif

/* Where a lies in rows, k runs through at once unless a panel would outgrow
 * the cache. Where it lies in columns, a block of it is copied together and
 * meets all panels before the next one. */
enum { K_ROWS = 1024, K_COLUMNS = 128, AHEAD = 8 };

struct tile {
    int64_t k;
    const float *a;
    int64_t a_row, a_col;
    const float *b; /* in the panel */
    float *c;
    int64_t c_row;
    int64_t cols;      /* columns of c from here on */
    const float *bias; /* NULL: go on from c */
    bool last;         /* add 0.0f */
    bool relu;
};

AI V load_some(const float *p, int64_t n)
{
    return n > 0 ? v_load_upto(p, n) : v_zero();
}

AI void tile_begin(const int rows, const int vecs, V acc[MR][NV],
                   const struct tile *t)
{
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < vecs; j++)
            acc[i][j] = t->bias ? v_load(t->bias + j * VL)
                                : load_some(t->c + i * t->c_row + j * VL,
                                            t->cols - j * VL);
    }
}

/* Rows are reached from every third one: base and scaled index, no more
 * registers than there are. */
AI void tile_chain(const int rows, const int vecs, V acc[MR][NV],
                   const struct tile *t)
{
    const int64_t a_row = t->a_row, a_col = t->a_col;
    const float *b = t->b;
    const float *a[(MR + 2) / 3];

    UNROLL
    for (int i = 0; i < rows; i += 3)
        a[i / 3] = t->a + i * a_row;
    for (int64_t k = t->k; k > 0; k--) {
        V vb[NV];

        UNROLL
        for (int j = 0; j < vecs; j++)
            vb[j] = v_load(b + j * VL);
        b += CPU_PANEL;
        UNROLL
        for (int i = 0; i < rows; i++) {
            V va = v_set1(a[i / 3][i % 3 * a_row]);

            UNROLL
            for (int j = 0; j < vecs; j++)
                acc[i][j] = v_fma(va, vb[j], acc[i][j]);
        }
        UNROLL
        for (int i = 0; i < rows; i += 3)
            a[i / 3] += a_col;
    }
}

AI void tile_end(const int rows, const int vecs, V acc[MR][NV],
                 const struct tile *t)
{
    UNROLL
    for (int i = 0; i < rows; i++) {
        UNROLL
        for (int j = 0; j < vecs; j++) {
            int64_t left = t->cols - j * VL;
            V v = acc[i][j];

            if (t->last)
                v = v_add(v, v_zero());
            if (t->relu)
                v = v_relu(v);
            if (left > 0)
                v_store_upto(t->c + i * t->c_row + j * VL, v, left);
        }
    }
}

AI void tile_run(const int rows, const int vecs, const struct tile *t)
{
    V acc[MR][NV];

    tile_begin(rows, vecs, acc, t);
    tile_chain(rows, vecs, acc, t);
    tile_end(rows, vecs, acc, t);
}

/* clang-format off */
#if defined(ISA_AVX512)
#define HEIGHTS(X, vecs) \
    X(1, vecs) X(2, vecs) X(3, vecs) X(4, vecs) X(5, vecs) X(6, vecs) \
    X(7, vecs) X(8, vecs) X(9, vecs) X(10, vecs) X(11, vecs) X(12, vecs) \
    X(13, vecs) X(14, vecs)
#elif defined(ISA_AVX2)
#define HEIGHTS(X, vecs) \
    X(1, vecs) X(2, vecs) X(3, vecs) X(4, vecs) X(5, vecs) X(6, vecs)
#else
#define HEIGHTS(X, vecs) \
    X(1, vecs) X(2, vecs) X(3, vecs) X(4, vecs)
#endif
/* clang-format on */

#define TILE(rows, vecs) \
    static void tile_##rows##x##vecs(const struct tile *t) \
    { \
        tile_run(rows, vecs, t); \
    }
#define TILE_NAME(rows, vecs) tile_##rows##x##vecs,

HEIGHTS(TILE, 1)
#if !defined(ISA_SCALAR)
HEIGHTS(TILE, 2)
#endif

static void (*const tiles[NV][MR])(const struct tile *t) = {
    {HEIGHTS(TILE_NAME, 1)},
#if !defined(ISA_SCALAR)
    {HEIGHTS(TILE_NAME, 2)},
#endif
};

/* The part of a product that one call does: rows [i0, i1) of c, terms k to
 * k + some, tiles of height rows. */
struct part {
    const struct cpu_gemm *g;
    int64_t i0, i1, height, k, some;
};

static int64_t panel_cols(const struct cpu_gemm *g, int64_t panel)
{
    int64_t left = g->n - panel * CPU_PANEL;

    return left < CPU_PANEL ? left : CPU_PANEL;
}

static int64_t c_stride(const struct cpu_gemm *g)
{
    return g->c_panels ? CPU_PANEL : g->c_row;
}

static float *c_at(const struct cpu_gemm *g, int64_t i, int64_t panel)
{
    float *c = g->c;

    c += g->c_panels ? panel * g->m * CPU_PANEL : panel * CPU_PANEL;
    return c + i * c_stride(g);
}

/* The bias of a panel; its end is padded in buf. */
static const float *panel_bias(float buf[CPU_PANEL], const struct cpu_gemm *g,
                               int64_t panel)
{
    static const float zeros[CPU_PANEL];
    const float *bias = g->bias;
    int64_t cols = panel_cols(g, panel);

    if (!bias)
        return zeros;
    bias += panel * CPU_PANEL;
    if (cols == CPU_PANEL)
        return bias;
    memset(buf, 0, CPU_PANEL * sizeof *buf);
    memcpy(buf, bias, (size_t)cols * sizeof *buf);
    return buf;
}

/* The tile at row i and the left end of a panel. */
AI struct tile tile_at(const struct part *p, int64_t i, int64_t panel,
                       const float *bias)
{
    const struct cpu_gemm *g = p->g;
    bool last = p->k + p->some == g->k;
    struct tile t = {
        .k = p->some,
        .a = (const float *)g->a + i * g->a_row + p->k * g->a_col,
        .a_row = g->a_row,
        .a_col = g->a_col,
        .b = (const float *)g->b + (panel * g->k + p->k) * CPU_PANEL,
        .c = c_at(g, i, panel),
        .c_row = c_stride(g),
        .cols = panel_cols(g, panel),
        .bias = p->k == 0 && !g->onto ? bias : NULL,
        .last = last,
        .relu = last && g->act == NN_ACT_RELU,
    };

    return t;
}

/* Runs the tile moved by j columns, as wide as fits. */
AI void tile_do(struct tile t, int64_t j, int64_t rows)
{
    t.b += j;
    t.c += j;
    t.cols -= j;
    if (t.bias)
        t.bias += j;
    tiles[t.cols <= VL ? 0 : NV - 1][rows - 1](&t);
}

AI int64_t tile_height(const struct part *p, int64_t i)
{
    return p->i1 - i < p->height ? p->i1 - i : p->height;
}

/* a in rows: half a panel stays near the core while rows pass by. */
static void part_rows(const struct part *p, int64_t panel)
{
    const int64_t cols = panel_cols(p->g, panel);
    float buf[CPU_PANEL];
    const float *bias = panel_bias(buf, p->g, panel);

    for (int64_t j = 0; j < cols; j += NV * VL)
        for (int64_t i = p->i0; i < p->i1; i += p->height)
            tile_do(tile_at(p, i, panel, bias), j, tile_height(p, i));
}

/* Where the copy of the tile at row i begins; a vector of room after each,
 * since whole vectors are written. */
AI int64_t packed_at(const struct part *p, int64_t i)
{
    return (i - p->i0) * p->some + (i - p->i0) / p->height * VL;
}

/* Copies a (columns that lie apart) tile by tile, k by k. */
static void pack_a(float *to, const struct part *p)
{
    const struct cpu_gemm *g = p->g;
    const float *a = (const float *)g->a + p->k * g->a_col;

    for (int64_t k = 0; k < p->some; k++, a += g->a_col) {
        const float *ahead = k + AHEAD < p->some ? a + AHEAD * g->a_col : a;
        float *tile = to;

        for (int64_t i = p->i0; i < p->i1; i += p->height) {
            int64_t n = tile_height(p, i);

            __builtin_prefetch(ahead + i);
            for (int64_t r = 0; r < n; r += VL)
                v_store(tile + k * n + r, v_load_upto(a + i + r, g->m - i - r));
            tile += p->height * p->some + VL;
        }
    }
}

/* a in columns: each tile's share of it, copied, stays while panels pass. */
static void part_columns(const struct part *p, int64_t p0, int64_t p1)
{
    float a[CPU_ROWS * (K_COLUMNS + VL)], buf[CPU_PANEL];

    pack_a(a, p);
    for (int64_t i = p->i0; i < p->i1; i += p->height) {
        int64_t rows = tile_height(p, i);

        for (int64_t panel = p0; panel < p1; panel++) {
            const float *bias = panel_bias(buf, p->g, panel);
            struct tile t = tile_at(p, i, panel, bias);

            t.a = a + packed_at(p, i);
            t.a_row = 1;
            t.a_col = rows;
            for (int64_t j = 0; j < t.cols; j += NV * VL)
                tile_do(t, j, rows);
        }
    }
}

/* tanh and sigmoid, while the block is in the cache */
static void activate(const struct part *p, int64_t panel)
{
    const struct cpu_gemm *g = p->g;
    int64_t cols = panel_cols(g, panel);

    for (int64_t i = p->i0; i < p->i1; i++) {
        float *c = c_at(g, i, panel);

        if (g->act == NN_ACT_TANH)
            v_map(c, c, cols, v_tanh);
        else
            v_map(c, c, cols, v_sigmoid);
    }
}

static void gemm(const struct cpu_gemm *g, int64_t i0, int64_t i1, int64_t p0,
                 int64_t p1)
{
    const bool rows = g->a_col == 1;
    const int64_t step = rows ? K_ROWS : K_COLUMNS;
    const int64_t n = (i1 - i0 + MR - 1) / MR; /* tiles, of nearly one height */
    struct part p = {
        .g = g, .i0 = i0, .i1 = i1, .height = (i1 - i0 + n - 1) / n};

    do {
        p.some = g->k - p.k < step ? g->k - p.k : step;
        if (!rows)
            part_columns(&p, p0, p1);
        for (int64_t panel = p0; rows && panel < p1; panel++)
            part_rows(&p, panel);
        p.k += p.some;
    } while (p.k < g->k);
    for (int64_t panel = p0; panel < p1; panel++)
        if (g->act == NN_ACT_TANH || g->act == NN_ACT_SIGMOID)
            activate(&p, panel);
}

#if defined(ISA_AVX512) || defined(ISA_AVX2)
/* dst (8 rows of 32) = the transpose of 8 columns from 8 rows of src */
AI void transpose_8x8(float *dst, const float *src, int64_t ld)
{
    __m256 r[8], t[8];

    UNROLL
    for (int i = 0; i < 8; i++)
        r[i] = _mm256_loadu_ps(src + i * ld);
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(dst + i * CPU_PANEL,
                         _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(dst + (i + 4) * CPU_PANEL,
                         _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}
#else
AI void transpose_8x8(float *dst, const float *src, int64_t ld)
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            dst[i * CPU_PANEL + j] = src[j * ld + i];
}
#endif

/* Of fewer than 8 rows, the others taken for zeros. */
AI void transpose_some(float *dst, const float *src, int64_t ld, int64_t rows)
{
    float block[64] = {0};

    for (int64_t i = 0; i < rows; i++)
        memcpy(block + i * 8, src + i * ld, 8 * sizeof *block);
    transpose_8x8(dst, block, 8);
}

static void pack_transposed(float *dst, const float *src, int64_t ld,
                            int64_t rows, int64_t cols)
{
    int64_t whole = cols / 8 * 8;

    for (int64_t j = 0; j < CPU_PANEL; j += 8) {
        const float *from = src + j * ld;
        int64_t left = rows - j < 0 ? 0 : rows - j, i = 0;

        for (; left >= 8 && i < whole; i += 8)
            transpose_8x8(dst + i * CPU_PANEL + j, from + i, ld);
        for (; i < whole; i += 8)
            transpose_some(dst + i * CPU_PANEL + j, from + i, ld, left);
        for (; i < cols; i++)
            for (int64_t jj = j; jj < j + 8; jj++)
                dst[i * CPU_PANEL + jj] = jj < rows ? src[jj * ld + i] : 0.0f;
    }
}

static void pack(float *dst, const float *src, int64_t ld, int64_t rows,
                 int64_t cols)
{
    for (int64_t i = 0; i < rows; i++, dst += CPU_PANEL, src += ld)
        for (int64_t j = 0; j < CPU_PANEL; j += VL)
            v_store(dst + j, load_some(src + j, cols - j));
}

const struct cpu_gemm_kernels ISA(cpu_gemm) = {
    .gemm = gemm,
    .pack_transposed = pack_transposed,
    .pack = pack,
};
