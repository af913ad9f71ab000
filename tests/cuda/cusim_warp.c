/* Shuffles, ballots and __syncwarp: an operation is done when every lane that
 * its mask names has come to one with the same mask. */
#include "tests/cuda/cusim_exec.h"

static uint64_t warp_op(unsigned mask, const struct cusim_exchange *x,
                        struct cusim_site site)
{
    struct cusim_thread *t = cusim_cur;

    t->mask = mask;
    t->x = *x;
    if (!(mask >> (t->lin % CUSIM_WARP) & 1)) {
        cusim_report("warp mask", "mask %08x leaves out its own lane %u, %s:%d",
                     mask, t->lin % CUSIM_WARP, site.file, site.line);
        cusim_kill(cudaErrorLaunchFailure);
    }
    cusim_suspend(CUSIM_AT_WARP, site);
    return t->x.value;
}

uint64_t cusim_shuffle(unsigned mask, const struct cusim_exchange *x,
                       struct cusim_site site)
{
    return warp_op(mask, x, site);
}

unsigned cusim_ballot(unsigned mask, int predicate, struct cusim_site site)
{
    struct cusim_exchange x = {CUSIM_BALLOT, 0, CUSIM_WARP,
                               (uint64_t)predicate};

    return (unsigned)warp_op(mask, &x, site);
}

void cusim_warp_barrier(unsigned mask, struct cusim_site site)
{
    struct cusim_exchange x = {CUSIM_SYNC, 0, CUSIM_WARP, 0};

    (void)warp_op(mask, &x, site);
}

/* No two lanes run at once here, which a GPU too may choose. */
unsigned cusim_activemask(void)
{
    return 1u << (cusim_cur->lin % CUSIM_WARP);
}

/* Whether lane l of the warp w has come to t's operation. */
static bool lane_there(struct cusim_thread *t, struct cusim_thread *w,
                       unsigned lanes, unsigned l)
{
    if (l >= lanes || w[l].state == CUSIM_EXITED) {
        cusim_report("warp mask",
                     "mask %08x names lane %u, which has exited, %s:%d",
                     t->mask, l, t->site.file, t->site.line);
        t->mask &= ~(1u << l);
        return true;
    }
    return w[l].state == CUSIM_AT_WARP && w[l].mask == t->mask;
}

static int source_lane(const struct cusim_exchange *x, int lane)
{
    int base = lane & ~(x->width - 1), end = base + x->width, from = lane;

    switch (x->how) {
    case CUSIM_IDX:
        return base + (x->arg & (x->width - 1));
    case CUSIM_UP:
        from = lane - x->arg;
        return from < base ? lane : from;
    case CUSIM_DOWN:
        from = lane + x->arg;
        return from >= end ? lane : from;
    default:
        from = lane ^ x->arg;
        return from < end ? from : lane;
    }
}

static void finish_lane(struct cusim_thread *t, const uint64_t value[],
                        unsigned ballot, unsigned mask)
{
    int lane = (int)(t->lin % CUSIM_WARP), from;

    if (t->x.how == CUSIM_BALLOT)
        t->x.value = ballot;
    else if (t->x.how == CUSIM_SYNC)
        t->warp_epoch++;
    else {
        from = source_lane(&t->x, lane);
        if (mask >> from & 1)
            t->x.value = value[from];
        else
            cusim_report("shuffle source",
                         "lane %d reads lane %d, which takes no part, %s:%d",
                         lane, from, t->site.file, t->site.line);
    }
    cusim_make_ready(t);
}

static void finish(struct cusim_thread *t, struct cusim_thread *w)
{
    uint64_t value[CUSIM_WARP] = {0};
    unsigned l, ballot = 0, mask = t->mask;

    for (l = 0; l < CUSIM_WARP; l++) {
        if (!(mask >> l & 1))
            continue;
        value[l] = w[l].x.value;
        ballot |= (unsigned)(value[l] != 0) << l;
        if (w[l].x.how != t->x.how || w[l].site.line != t->site.line)
            cusim_report("divergent warp operation",
                         "lane %u is at %s:%d, lane %u at %s:%d",
                         t->lin % CUSIM_WARP, t->site.file, t->site.line, l,
                         w[l].site.file, w[l].site.line);
    }
    for (l = 0; l < CUSIM_WARP; l++)
        if (mask >> l & 1)
            finish_lane(&w[l], value, ballot, mask);
}

static bool release(struct cusim_thread *t, struct cusim_thread *w,
                    unsigned lanes)
{
    for (unsigned l = 0; l < CUSIM_WARP; l++)
        if ((t->mask >> l & 1) && !lane_there(t, w, lanes, l))
            return false;
    finish(t, w);
    return true;
}

bool cusim_warps_release(struct cusim_thread *threads, unsigned n)
{
    bool any = false;

    for (unsigned i = 0; i < n; i++) {
        unsigned first = i - i % CUSIM_WARP;

        if (threads[i].state == CUSIM_AT_WARP)
            any = release(&threads[i], threads + first, n - first) || any;
    }
    return any;
}
