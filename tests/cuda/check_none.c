/* The plain build: nothing is checked. */
#include "tests/cuda/fake.h"

bool check_on(void)
{
    return false;
}

void cusim_atomic(const void *p, size_t n, bool is_float)
{
    (void)p;
    (void)n;
    (void)is_float;
}

void check_range(const void *p, size_t n, bool write, const char *who,
                 const void *pc)
{
    (void)p;
    (void)n;
    (void)write;
    (void)who;
    (void)pc;
}

void check_copied(void *dst, const void *src, size_t n)
{
    (void)dst;
    (void)src;
    (void)n;
}

void check_begin(const struct fake_op *op, const struct CUstream_st *s)
{
    (void)op;
    (void)s;
}

void check_forget(struct fake_alloc *a)
{
    (void)a;
}
