/* The checking build's judge: every load and store of a kernel comes here, and
 * the ranges that copies and library work touch. Found are
 *   accesses outside of device memory: beyond an allocation, freed, the host's;
 *   reads of bytes that nobody wrote;
 *   races: two accesses, one a write, that no barrier (of block or warp), no
 *   order of the stream and no event puts in an order, whatever order they came
 *   in here;
 *   float atomics, whose sums depend on the order.
 * For each 4 bytes there is the last write and the last read. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/cuda/check.h"

enum { BYTES = 15, ATOMIC = 16, MANY_THREADS = 32, MANY_BLOCKS = 64 };
enum { HOST_THREAD = 0xffff, LARGE = 1 << 20 };

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

/* The work that runs. */
static struct {
    uint32_t launch;
    uint64_t seq, known[FAKE_CLOCKS];
    unsigned slot;
} check;

bool check_on(void)
{
    return true;
}

void check_begin(const struct fake_op *op, const struct CUstream_st *s)
{
    check.launch++;
    check.slot = s->slot;
    if (op->seq == 0)
        return; /* a graph's node: its launch has said it */
    check.seq = op->seq;
    memcpy(check.known, op->known, sizeof check.known);
}

void check_forget(struct fake_alloc *a)
{
    if (a->shadow)
        (void)munmap(a->shadow, a->shadow_size);
}

static void report_race(const struct access *a, const struct target *t,
                        size_t offset, const struct mark *m)
{
    char place[300], other[400], text[560];

    if (m->thread == HOST_THREAD) {
        (void)snprintf(other, sizeof other, "a copy, fill or library call");
    } else {
        cusim_place(place, sizeof place, __ehdr_start + m->pc);
        (void)snprintf(other, sizeof other, "block %u thread %u%s at %s",
                       m->block, m->thread,
                       m->bits & (MANY_THREADS | MANY_BLOCKS) ? " (and others)"
                                                              : "",
                       place);
    }
    (void)snprintf(text, sizeof text, "%s at byte %zu of %s %u against %s%s",
                   check_verb(a), offset, t->name, t->id, other,
                   m->slot == check.slot ? "" : " of another stream");
    check_report(a, "race", text);
}

/* --- in which order ------------------------------------------------------- */

static bool ordered(const struct mark *m, const struct mark *now, bool shared)
{
    if (m->launch != now->launch)
        return shared || m->slot == now->slot || m->seq <= check.known[m->slot];
    if (m->block != now->block)
        return shared;
    if (m->thread == now->thread || m->epoch < now->epoch)
        return true;
    return m->thread / CUSIM_WARP == now->thread / CUSIM_WARP &&
           m->warp_epoch < now->warp_epoch;
}

/* The last read stands for all since the last barrier. */
static bool reads_ordered(const struct mark *m, const struct mark *now,
                          bool shared)
{
    if (!ordered(m, now, shared))
        return false;
    if (m->launch != now->launch)
        return true;
    if (!shared && (m->bits & MANY_BLOCKS))
        return false;
    return !((m->bits & MANY_THREADS) && m->block == now->block &&
             m->epoch == now->epoch);
}

static const struct mark *conflict(const struct cell *c, const struct mark *now,
                                   const struct access *a, bool shared)
{
    unsigned both = now->bits & ATOMIC, bytes = now->bits & BYTES;

    if ((c->write.bits & bytes) && !(c->write.bits & both) &&
        !ordered(&c->write, now, shared))
        return &c->write;
    if ((a->how & CHECK_WRITE) && (c->read.bits & bytes) &&
        !(c->read.bits & both) && !reads_ordered(&c->read, now, shared))
        return &c->read;
    return NULL;
}

static void note_read(struct mark *m, const struct mark *now, bool shared)
{
    struct mark old = *m;

    *m = *now;
    if (old.launch != now->launch || (shared && old.block != now->block))
        return;
    if (old.block != now->block) {
        m->bits |= MANY_BLOCKS;
    } else {
        m->bits |= old.bits & MANY_BLOCKS;
        if (old.epoch == now->epoch) {
            m->bits |= old.bits & (BYTES | MANY_THREADS);
            if (old.thread != now->thread)
                m->bits |= MANY_THREADS;
        }
    }
    if (!(old.bits & ATOMIC))
        m->bits &= (uint8_t)~ATOMIC;
}

/* --- one access ----------------------------------------------------------- */

static struct mark mark_of(const struct access *a)
{
    struct mark m = {.launch = check.launch,
                     .seq = (uint32_t)check.seq,
                     .thread = HOST_THREAD,
                     .slot = (uint8_t)check.slot};

    if (!cusim_cur)
        return m;
    m.block = cusim_blk.lin;
    m.pc = (uint32_t)((const char *)a->pc - __ehdr_start);
    m.epoch = (uint16_t)cusim_cur->epoch;
    m.warp_epoch = (uint16_t)cusim_cur->warp_epoch;
    m.thread = (uint16_t)cusim_cur->lin;
    return m;
}

static bool all_written(const struct target *t, size_t n)
{
    for (size_t i = t->offset; i < t->offset + n; i++)
        if (!(t->init[i / 8] >> i % 8 & 1))
            return false;
    return true;
}

static void set_written(const struct target *t, size_t n)
{
    size_t i = t->offset, end = t->offset + n;

    for (; i < end && i % 8 != 0; i++)
        t->init[i / 8] |= (uint8_t)(1u << i % 8);
    if (end > i) {
        memset(t->init + i / 8, 0xff, (end - i) / 8);
        i += (end - i) / 8 * 8;
    }
    for (; i < end; i++)
        t->init[i / 8] |= (uint8_t)(1u << i % 8);
}

/* Which of the 4 bytes from at on lie in [offset, offset + n). */
static uint8_t byte_bits(size_t at, size_t offset, size_t n)
{
    unsigned bits = BYTES;

    if (at < offset)
        bits &= (unsigned)BYTES << (offset - at);
    if (at + 4 > offset + n)
        bits &= (unsigned)BYTES >> (at + 4 - offset - n);
    return (uint8_t)bits;
}

static void visit_cells(const struct access *a, const struct target *t)
{
    struct mark now = mark_of(a);
    size_t at = t->offset & ~(size_t)3;

    for (; at < t->offset + a->n; at += 4) {
        struct cell *c = &t->cells[at / 4];
        const struct mark *other;

        now.bits = byte_bits(at, t->offset, a->n);
        if (a->how & CHECK_ATOMIC)
            now.bits |= ATOMIC;
        other = conflict(c, &now, a, t->shared);
        if (other)
            report_race(a, t, at, other);
        if (a->how & CHECK_WRITE)
            c->write = now;
        if (a->how & CHECK_READ)
            note_read(&c->read, &now, t->shared);
    }
}

static void visit(const struct access *a, const struct target *t)
{
    char text[160];

    if ((a->how & CHECK_READ) && !all_written(t, a->n)) {
        (void)snprintf(text, sizeof text,
                       "%zu bytes at byte %zu of %s %u, never written", a->n,
                       t->offset, t->name, t->id);
        check_report(a, "uninitialised read", text);
    }
    if (!cusim_cur && a->n > LARGE) /* spares memory: no marks */
        (void)madvise((void *)(((uintptr_t)(t->cells + t->offset / 4) + 4095) &
                               ~(uintptr_t)4095),
                      a->n / 4 * sizeof(struct cell) - 8192, MADV_DONTNEED);
    else
        visit_cells(a, t);
    if (a->how & CHECK_WRITE)
        set_written(t, a->n);
}

/* A kernel's access; called by the hooks. */
void check_access(const void *p, size_t n, int how, const void *pc)
{
    struct access a = {p, n, how, pc, NULL};
    struct target t;

    if (!cusim_cur || n == 0)
        return;
    if (check_locate(&a, check.launch, &t))
        visit(&a, &t);
}

void cusim_atomic(const void *p, size_t n, bool is_float)
{
    const void *pc = __builtin_return_address(0);
    struct access a = {p, n, CHECK_READ | CHECK_WRITE, pc, NULL};

    if (is_float)
        check_report(&a, "float atomic",
                     "its sum depends on the order of threads");
    check_access(p, n, CHECK_READ | CHECK_WRITE | CHECK_ATOMIC, pc);
}

void check_range(const void *p, size_t n, bool write, const char *who,
                 const void *pc)
{
    struct access a = {p, n, write ? CHECK_WRITE : CHECK_READ, pc, who};
    struct target t;

    if (n > 0 && check_locate_global(&a, &t))
        visit(&a, &t);
}

/* Bits of dst where src has none are taken back. */
void check_copied(void *dst, const void *src, size_t n)
{
    const struct fake_alloc *from = fake_mem_find(src, NULL);
    struct fake_alloc *to = fake_mem_find(dst, NULL);
    size_t i, s, d;

    if (!from || !to)
        return;
    s = (size_t)((const char *)src - from->p);
    d = (size_t)((const char *)dst - to->p);
    for (i = 0; i < n; i++, s++, d++)
        if (!(from->init[s / 8] >> s % 8 & 1))
            to->init[d / 8] &= (uint8_t) ~(1u << d % 8);
}
