/* What the compiler calls for each load and store of a source compiled with
 * -fsanitize=thread. The kernels are, and are linked with these in the place of
 * the sanitizer's own library. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tests/cuda/check.h"

#define PC __builtin_return_address(0)
#define HOOK(name, n, how) \
    void name(void *p); \
    void name(void *p) \
    { \
        check_access(p, n, how, PC); \
    }
HOOK(__tsan_read1, 1, CHECK_READ)
HOOK(__tsan_read2, 2, CHECK_READ)
HOOK(__tsan_read4, 4, CHECK_READ)
HOOK(__tsan_read8, 8, CHECK_READ)
HOOK(__tsan_read16, 16, CHECK_READ)
HOOK(__tsan_write1, 1, CHECK_WRITE)
HOOK(__tsan_write2, 2, CHECK_WRITE)
HOOK(__tsan_write4, 4, CHECK_WRITE)
HOOK(__tsan_write8, 8, CHECK_WRITE)
HOOK(__tsan_write16, 16, CHECK_WRITE)
HOOK(__tsan_unaligned_read2, 2, CHECK_READ)
HOOK(__tsan_unaligned_read4, 4, CHECK_READ)
HOOK(__tsan_unaligned_read8, 8, CHECK_READ)
HOOK(__tsan_unaligned_read16, 16, CHECK_READ)
HOOK(__tsan_unaligned_write2, 2, CHECK_WRITE)
HOOK(__tsan_unaligned_write4, 4, CHECK_WRITE)
HOOK(__tsan_unaligned_write8, 8, CHECK_WRITE)
HOOK(__tsan_unaligned_write16, 16, CHECK_WRITE)
HOOK(__tsan_vptr_read, sizeof(void *), CHECK_READ)

void __tsan_read_range(void *p, unsigned long n);
void __tsan_read_range(void *p, unsigned long n)
{
    check_access(p, n, CHECK_READ, PC);
}

void __tsan_write_range(void *p, unsigned long n);
void __tsan_write_range(void *p, unsigned long n)
{
    check_access(p, n, CHECK_WRITE, PC);
}

void __tsan_vptr_update(void **p, void *value);
void __tsan_vptr_update(void **p, void *value)
{
    (void)value;
    check_access(p, sizeof *p, CHECK_WRITE, PC);
}

/* clang's memcpy and memset. */
void *__tsan_memcpy(void *dst, const void *src, size_t n);
void *__tsan_memcpy(void *dst, const void *src, size_t n)
{
    check_access(src, n, CHECK_READ, PC);
    check_access(dst, n, CHECK_WRITE, PC);
    return memcpy(dst, src, n);
}

void *__tsan_memset(void *dst, int value, size_t n);
void *__tsan_memset(void *dst, int value, size_t n)
{
    check_access(dst, n, CHECK_WRITE, PC);
    return memset(dst, value, n);
}

#define NOTHING(name, params) \
    void name params; \
    void name params \
    { \
    }
NOTHING(__tsan_init, (void))
NOTHING(__tsan_func_exit, (void))

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
    (void)pc;
}

/* What -fsanitize=bounds calls for an index beyond a declared array. The place
 * is the compiler's own record. */
struct bounds_record {
    const char *file;
    uint32_t line, column;
};
void __ubsan_handle_out_of_bounds(const struct bounds_record *at,
                                  unsigned long index);
void __ubsan_handle_out_of_bounds(const struct bounds_record *at,
                                  unsigned long index)
{
    cusim_report("out of bounds", "index %ld is beyond the array, %s:%u",
                 (long)index, at->file, at->line);
    if (cusim_cur)
        cusim_kill(cudaErrorIllegalAddress);
}
