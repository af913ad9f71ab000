#include "cuda/cuda_trace_buffers.h"

#include <pthread.h>
#include <string.h>

#include "nn/base/mem.h"

enum { BUFFER = 4 << 20, SPARE = 4, KEPT = 32 };

/* CUPTI's callbacks reach nothing else. Under the lock. */
static struct {
    pthread_mutex_t lock;
    const struct cupti *cupti; /* NULL: nothing is recorded */
    bool used;
    uint8_t *spare[SPARE];
    size_t n_spare;
    struct {
        uint8_t *data;
        size_t valid;
    } kept[KEPT];
    size_t n_kept;
    uint64_t dropped;
} buffers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With its pages touched: not in the middle of a step. */
static uint8_t *buffer_new(void)
{
    uint8_t *data = mem_alloc(BUFFER);

    if (data)
        memset(data, 0, BUFFER);
    return data;
}

static void put_back(uint8_t *data)
{
    if (data && buffers.n_spare < SPARE)
        buffers.spare[buffers.n_spare++] = data;
    else
        mem_free(data);
}

int cuda_trace_buffers_begin(const struct cupti *c, bool *used, struct err *err)
{
    int rc = 0;

    pthread_mutex_lock(&buffers.lock);
    *used = buffers.used;
    for (int i = 0; !*used && rc == 0 && i < SPARE; i++) {
        uint8_t *data = buffer_new();

        put_back(data);
        if (!data)
            rc = err_set(err, ERR_NOMEM,
                         "out of memory for the records of the GPU");
    }
    while (rc != 0 && buffers.n_spare > 0)
        mem_free(buffers.spare[--buffers.n_spare]);
    if (rc == 0 && !*used) {
        buffers.used = true;
        buffers.cupti = c;
    }
    pthread_mutex_unlock(&buffers.lock);
    return rc;
}

void cuda_trace_buffer_request(uint8_t **data, size_t *size, size_t *most)
{
    pthread_mutex_lock(&buffers.lock);
    *data = buffers.n_spare > 0 ? buffers.spare[--buffers.n_spare]
                                : mem_alloc(BUFFER);
    pthread_mutex_unlock(&buffers.lock);
    *size = *data ? BUFFER : 0;
    *most = 0; /* as many as fit */
}

static uint64_t count_records(const struct cupti *c, uint8_t *data,
                              size_t valid)
{
    CUpti_Activity *record = NULL;
    uint64_t n = 0;

    while (c->cuptiActivityGetNextRecord(data, valid, &record) == CUPTI_SUCCESS)
        n++;
    return n;
}

/* Under the lock: kept, given again, or at the end given up. */
static void settle(uint8_t *data, size_t valid, uint64_t not_kept)
{
    if (!buffers.cupti) {
        mem_free(data);
        return;
    }
    buffers.dropped += not_kept;
    if (valid == 0 || buffers.n_kept == KEPT) {
        put_back(data);
        return;
    }
    buffers.kept[buffers.n_kept].data = data;
    buffers.kept[buffers.n_kept++].valid = valid;
}

/* By a thread of CUPTI's own, or by who flushes: a new buffer in place of the
 * one that is kept is made here, and no launch waits for it. CUPTI is never
 * asked under the lock: it may hold one of its own while it wants a buffer. */
void cuda_trace_buffer_complete(CUcontext context, uint32_t stream,
                                uint8_t *data, size_t size, size_t valid)
{
    const struct cupti *c;
    uint64_t not_kept = 0;
    size_t dropped = 0;
    bool full, bare;

    (void)size;
    pthread_mutex_lock(&buffers.lock);
    c = buffers.cupti;
    full = buffers.n_kept == KEPT;
    pthread_mutex_unlock(&buffers.lock);
    if (c && c->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) ==
                 CUPTI_SUCCESS)
        not_kept = dropped;
    if (c && full)
        not_kept += count_records(c, data, valid);
    pthread_mutex_lock(&buffers.lock);
    settle(data, valid, not_kept);
    bare = c && buffers.n_spare == 0;
    pthread_mutex_unlock(&buffers.lock);
    if (bare) {
        data = buffer_new();
        pthread_mutex_lock(&buffers.lock);
        put_back(data);
        pthread_mutex_unlock(&buffers.lock);
    }
}

void cuda_trace_buffers_stop(void)
{
    const struct cupti *c = buffers.cupti;
    size_t dropped = 0;

    if (c->cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) !=
        CUPTI_SUCCESS)
        dropped = 0;
    pthread_mutex_lock(&buffers.lock);
    buffers.dropped += dropped;
    buffers.cupti = NULL;
    pthread_mutex_unlock(&buffers.lock);
}

uint8_t *cuda_trace_buffer(size_t i, size_t *valid)
{
    if (i >= buffers.n_kept)
        return NULL;
    *valid = buffers.kept[i].valid;
    return buffers.kept[i].data;
}

uint64_t cuda_trace_buffers_dropped(void)
{
    return buffers.dropped;
}

void cuda_trace_buffers_free(void)
{
    pthread_mutex_lock(&buffers.lock);
    while (buffers.n_kept > 0)
        mem_free(buffers.kept[--buffers.n_kept].data);
    while (buffers.n_spare > 0)
        mem_free(buffers.spare[--buffers.n_spare]);
    pthread_mutex_unlock(&buffers.lock);
}
