/* Which memory an access goes to, and whether it may. */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/cuda/check.h"
#include "tests/cuda/cusim_fiber.h"

enum { SAID = 64, CONSTANTS = 8 };

struct range {
    const char *begin, *end;
};

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static struct {
    struct cell *shared, *dyn;
    uint8_t *shared_init, *dyn_init;
    uint32_t launch, block; /* whose shared memory those are */
    const void *said[SAID]; /* places that a report was made of */
    unsigned n_said;
    struct range constants[CONSTANTS];
    unsigned n_constants;
} check;

/* --- reports -------------------------------------------------------------- */

const char *check_verb(const struct access *a)
{
    return a->how & CHECK_WRITE ? "write" : "read";
}

/* One report a place; true for the first. */
static bool first_time(const struct access *a)
{
    for (unsigned i = 0; i < SAID && i < check.n_said; i++)
        if (check.said[i] == a->pc)
            return false;
    check.said[check.n_said++ % SAID] = a->pc;
    return true;
}

void check_report(const struct access *a, const char *kind, const char *text)
{
    char place[300];

    if (!first_time(a))
        return;
    cusim_place(place, sizeof place, a->pc);
    cusim_report(kind, "%s%s%s, %s", a->who ? a->who : "", a->who ? ": " : "",
                 text, place);
}

/* --- where ---------------------------------------------------------------- */

static void *pages(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) {
        perror("cusim: mmap");
        abort();
    }
    return p;
}

static size_t shadow_size(size_t n)
{
    return (n / 4 + 2) * sizeof(struct cell);
}

/* Another block: what its shared memory held is gone. */
static void renew_shared(size_t n, uint32_t launch)
{
    if (!check.shared) {
        check.shared = pages(shadow_size(n));
        check.shared_init = pages(n / 8 + 1);
        check.dyn = pages(shadow_size(CUSIM_MAX_DYN));
        check.dyn_init = pages(CUSIM_MAX_DYN / 8 + 1);
    }
    if (check.launch == launch && check.block == cusim_blk.lin)
        return;
    memset(check.shared_init, 0, n / 8 + 1);
    memset(check.dyn_init, 0, cusim_blk.dyn_size / 8 + 1);
    check.launch = launch;
    check.block = cusim_blk.lin;
}

static bool in_shared(const struct access *a, uint32_t launch, struct target *t)
{
    char *begin, *end;

    cusim_shared_range(&begin, &end);
    if (a->p < begin || a->p >= end)
        return false;
    renew_shared((size_t)(end - begin), launch);
    *t = (struct target){
        check.shared, check.shared_init, (size_t)(a->p - begin), 0,
        true,         "shared memory"};
    return true;
}

static void outside_dyn(const struct access *a, size_t offset)
{
    char text[200];

    (void)snprintf(text, sizeof text,
                   "%s of %zu bytes at byte %zu of %zu of dynamic shared "
                   "memory",
                   check_verb(a), a->n, offset, cusim_blk.dyn_size);
    check_report(a, "out of bounds", text);
    cusim_kill(cudaErrorIllegalAddress);
}

static bool in_dyn(const struct access *a, uint32_t launch, struct target *t)
{
    const char *dyn = cusim_blk.dyn;
    char *begin, *end;
    size_t offset;

    if (!cusim_cur || a->p < dyn || a->p >= dyn + CUSIM_MAX_DYN)
        return false;
    offset = (size_t)(a->p - dyn);
    if (offset + a->n > cusim_blk.dyn_size)
        outside_dyn(a, offset);
    cusim_shared_range(&begin, &end);
    renew_shared((size_t)(end - begin), launch);
    *t = (struct target){check.dyn, check.dyn_init, offset,
                         0,         true,           "dynamic shared memory"};
    return true;
}

static void outside_global(const struct access *a)
{
    unsigned freed;
    struct fake_alloc *in = fake_mem_find(a->p, &freed), *b;
    const char *kind = "not device memory";
    char text[200];

    b = in ? in : fake_mem_before(a->p);
    if (freed) {
        kind = "use after free";
        (void)snprintf(text, sizeof text, "%s of %zu bytes in allocation %u",
                       check_verb(a), a->n, freed);
    } else if (b && (size_t)(a->p - b->p) < b->n + 4096) {
        kind = "out of bounds";
        (void)snprintf(text, sizeof text,
                       "%s of %zu bytes at byte %zu of %zu of allocation %u",
                       check_verb(a), a->n, (size_t)(a->p - b->p), b->n, b->id);
    } else
        (void)snprintf(text, sizeof text, "%s of %zu bytes at %p",
                       check_verb(a), a->n, (const void *)a->p);
    check_report(a, kind, text);
    if (cusim_cur)
        cusim_kill(cudaErrorIllegalAddress);
}

bool check_locate_global(const struct access *a, struct target *t)
{
    struct fake_alloc *m = fake_mem_find(a->p, NULL);
    size_t offset;

    if (!m || a->n > m->n - (size_t)(a->p - m->p)) {
        outside_global(a);
        return false;
    }
    offset = (size_t)(a->p - m->p);
    if (!m->shadow) {
        m->shadow_size = shadow_size(m->n);
        m->shadow = pages(m->shadow_size);
    }
    *t = (struct target){m->shadow, m->init, offset,
                         m->id,     false,   "global memory"};
    return true;
}

/* The parts of this library that nothing writes to: constants and tables. */
static int find_constants(struct dl_phdr_info *info, size_t size, void *none)
{
    const char *base = (const char *)info->dlpi_addr;
    bool ours = false;

    (void)size;
    (void)none;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        struct range r = {base + h->p_vaddr, base + h->p_vaddr + h->p_memsz};

        ours = ours || (h->p_type == PT_LOAD && __ehdr_start >= r.begin &&
                        __ehdr_start < r.end);
        if (ours && check.n_constants < CONSTANTS &&
            ((h->p_type == PT_LOAD && !(h->p_flags & PF_W)) ||
             h->p_type == PT_GNU_RELRO))
            check.constants[check.n_constants++] = r;
    }
    return ours;
}

static bool is_constant(const char *p)
{
    if (check.n_constants == 0)
        (void)dl_iterate_phdr(find_constants, NULL);
    for (unsigned i = 0; i < check.n_constants; i++)
        if (p >= check.constants[i].begin && p < check.constants[i].end)
            return true;
    return false;
}

/* The running thread's stack and arguments, and the program's constants. */
static bool is_own(const struct access *a)
{
    return fiber_on_stack(a->p) || cusim_is_own(a->p) ||
           (!(a->how & CHECK_WRITE) && is_constant(a->p));
}

bool check_locate(const struct access *a, uint32_t launch, struct target *t)
{
    return !is_own(a) && (in_shared(a, launch, t) || in_dyn(a, launch, t) ||
                          check_locate_global(a, t));
}
