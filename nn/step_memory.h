/* What a run of recorded steps keeps in memory, tensor by tensor, as PyTorch
 * would account for it: an exact list of births, changes and deaths. A tensor's
 * bytes are logical, its numbers in rows; padding counts apart.
 *
 * Parameters and buffers are there before the run. A gradient is born where
 * backward first writes it and dies in clear grad (set_to_none) or stays. An
 * optimizer's state is born in the first update. Inputs, activations and
 * temporaries live from the call that writes them to the last that reads them;
 * the loss and the optimizer's flag, which the host reads, to the end of the
 * step. A piece of a batch (microbatches) has its gradients as temporaries. */
#ifndef NN_STEP_MEMORY_H
#define NN_STEP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/op.h"

struct nn_trainer;

/* In the order of torch.profiler's memory timeline, whose eighth category is
 * "unknown": what it cannot tell is here the model's buffers. */
enum nn_memory_kind {
    NN_MEMORY_PARAMETER,
    NN_MEMORY_OPTIMIZER,
    NN_MEMORY_INPUT,
    NN_MEMORY_TEMPORARY,
    NN_MEMORY_ACTIVATION,
    NN_MEMORY_GRADIENT,
    NN_MEMORY_AUTOGRAD, /* torch's; nothing here is of it */
    NN_MEMORY_BUFFER,
    NN_MEMORY_KINDS
};
const char *nn_memory_kind_name(enum nn_memory_kind k); /* "parameters" */

/* torch's numbers. */
enum nn_memory_action {
    NN_MEMORY_PREEXISTING = 1,
    NN_MEMORY_CREATE,
    NN_MEMORY_NEW_VERSION, /* changed in place: no bytes come or go */
    NN_MEMORY_DESTROY
};
const char *nn_memory_action_name(enum nn_memory_action a); /* "create" */

struct nn_memory_tensor {
    char name[128]; /* "0.weight", "0.weight.grad", "1.relu", ... */
    struct nn_shape shape;
    enum nn_dtype dtype;
    enum nn_memory_kind kind;
    int64_t bytes;
};

/* step and call are -1, phase is NN_PHASE_NONE for what was there before. */
struct nn_memory_event {
    int64_t at; /* ns; see nn_step_memory_new */
    int tensor; /* index into nn_step_memory.tensor */
    int step, call;
    enum nn_memory_action action;
    enum nn_phase phase;
};

/* Calls of one phase that follow each other. */
struct nn_memory_span {
    int step;
    enum nn_phase phase;
    int call, n_call;   /* of the step */
    int64_t begin, end; /* ns */
};

struct nn_step_memory {
    struct nn_memory_tensor *tensor;
    size_t n_tensor;
    struct nn_memory_event *event; /* in order; at never falls */
    size_t n_event, cap_event;
    struct nn_memory_span *span;
    size_t n_span, cap_span;
    int first_step, n_step, n_call; /* n_call: of one step */
    int64_t begin, end;             /* ns */
    bool timed;                     /* else at counts calls, 1000 each */
    int64_t padding; /* bytes of layout and alignment beyond the tensors' */
    int64_t held;    /* bytes that the backend holds, in use or not */
};

struct nn_step_memory_opts {
    int64_t batch;
    int first_step; /* 0: gradients and state are not there yet */
    int n_step;     /* >= 1 */
    /* Begin and end of each call in ns, pairs in order, n_step * n_call of
     * them; a time before the one that precedes it is taken for equal to it.
     * NULL: call i of all begins at i us and ends at i + 1 us. */
    const int64_t *ns;
};

/* The events of steps as the trainer recorded them for this batch size. *out is
 * the caller's (nn_step_memory_free). ERR_CONFIG where none was recorded or
 * n_step is below 1, ERR_NOMEM. */
int nn_step_memory_new(struct nn_step_memory **out, const struct nn_trainer *t,
                       const struct nn_step_memory_opts *opts, struct err *err);
void nn_step_memory_free(struct nn_step_memory *m); /* NULL is fine */

/* Bytes that an event adds to its kind: negative for a death. */
int64_t nn_memory_change(const struct nn_step_memory *m, size_t event);

struct nn_memory_sums {
    int64_t live[NN_MEMORY_KINDS]; /* at the peak */
    int64_t most[NN_MEMORY_KINDS]; /* each at its own */
    int64_t peak;                  /* bytes */
    size_t peak_event;             /* the first after which peak is live */
    int64_t first, last;           /* live at the last step's begin and end */
};
void nn_memory_sum_up(const struct nn_step_memory *m,
                      struct nn_memory_sums *out);

#endif
