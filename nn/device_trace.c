#include "nn/device_trace.h"

#include "nn/base/mem.h"

void nn_device_trace_free(struct nn_device_trace *t)
{
    if (!t)
        return;
    mem_free(t->event);
    arena_free(&t->arena);
    mem_free(t);
}
