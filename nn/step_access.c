#include "nn/step_access.h"

#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"

/* Room for one more of size bytes in an array of n. */
static int room(void **array, size_t n, size_t *cap, size_t size,
                struct err *err)
{
    size_t more = *cap ? *cap * 2 : 32;
    void *p;

    if (n < *cap)
        return 0;
    p = mem_grow(*array, more, size);
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for a memory timeline");
    *array = p;
    *cap = more;
    return 0;
}

static int64_t logical_bytes(const struct nn_tensor *t)
{
    return nn_tensor_numel(t) * (int64_t)nn_dtype_size(t->dtype);
}

/* ---- tensors ---- */

static int add_tensor(struct nn_access_list *a, const struct nn_tensor *t,
                      enum nn_memory_kind kind, enum nn_stay stay,
                      struct err *err)
{
    size_t cap = a->cap_tensor;
    struct nn_memory_tensor *m;
    int rc =
        room((void **)&a->tensor, a->n_tensor, &cap, sizeof *a->tensor, err);

    if (rc == 0)
        rc = room((void **)&a->stay, a->n_tensor, &a->cap_tensor,
                  sizeof *a->stay, err);
    if (rc != 0)
        return rc;
    a->stay[a->n_tensor] = stay;
    m = &a->tensor[a->n_tensor++];
    memset(m, 0, sizeof *m);
    m->shape = t->shape;
    m->dtype = t->dtype;
    m->kind = kind;
    m->bytes = logical_bytes(t);
    return 0;
}

static int add_block(struct nn_access_list *a, const struct nn_storage *st,
                     const struct nn_params *p, int n, struct err *err)
{
    int rc = room((void **)&a->block, a->n_block, &a->cap_block,
                  sizeof *a->block, err);

    if (rc == 0)
        a->block[a->n_block++] =
            (struct nn_block){st, p, (int)a->n_tensor - n, n};
    return rc;
}

/* The views of p, named after names' with suffix behind. */
static int add_params(struct nn_access_list *a, const struct nn_params *p,
                      const struct nn_params *names, const char *suffix,
                      enum nn_memory_kind kind, enum nn_stay stay,
                      struct err *err)
{
    int rc = 0, i;

    for (i = 0; rc == 0 && i < p->n; i++) {
        rc = add_tensor(a, p->t[i], kind, stay, err);
        if (rc == 0)
            (void)snprintf(a->tensor[a->n_tensor - 1].name,
                           sizeof a->tensor->name, "%s%s", names->t[i]->name,
                           suffix);
    }
    if (rc == 0 && p->n > 0)
        rc = add_block(a, p->flat->st, p, p->n, err);
    return rc;
}

static int add_pieces(struct nn_access_list *a, const struct nn_trainer *t,
                      struct err *err)
{
    char suffix[32];
    int rc = 0, i;

    for (i = 0; rc == 0 && i < t->n_piece; i++) {
        (void)snprintf(suffix, sizeof suffix, ".grad of piece %d", i + 1);
        rc = add_params(a, &t->piece[i], &t->model->params, suffix,
                        NN_MEMORY_TEMPORARY, NN_STAY_USED, err);
    }
    return rc;
}

static int add_blocks(struct nn_access_list *a, const struct nn_trainer *t,
                      bool started, struct err *err)
{
    enum nn_stay born = started ? NN_STAY_BEFORE : NN_STAY_ALWAYS;
    const struct nn_model *m = t->model;
    const struct nn_optim *o = t->optim;
    char suffix[32];
    int rc, i;

    rc = add_params(a, &m->params, &m->params, "", NN_MEMORY_PARAMETER,
                    NN_STAY_BEFORE, err);
    if (rc == 0)
        rc = add_params(a, &m->buffers, &m->buffers, "", NN_MEMORY_BUFFER,
                        NN_STAY_BEFORE, err);
    if (rc == 0)
        rc = add_params(a, &m->grads, &m->params, ".grad", NN_MEMORY_GRADIENT,
                        born, err);
    for (i = 0; rc == 0 && i < o->n_state; i++) {
        (void)snprintf(suffix, sizeof suffix, ".%s",
                       nn_optim_state_name(&o->spec, i));
        rc = add_params(a, &o->state[i], &m->params, suffix,
                        NN_MEMORY_OPTIMIZER, born, err);
    }
    return rc == 0 ? add_pieces(a, t, err) : rc;
}

static enum nn_memory_kind kind_of(enum nn_category cat)
{
    static const enum nn_memory_kind kind[] = {
        [NN_CAT_PARAMETER] = NN_MEMORY_PARAMETER,
        [NN_CAT_GRADIENT] = NN_MEMORY_GRADIENT,
        [NN_CAT_OPTIMIZER] = NN_MEMORY_OPTIMIZER,
        [NN_CAT_ACTIVATION] = NN_MEMORY_ACTIVATION,
        [NN_CAT_INPUT] = NN_MEMORY_INPUT,
        [NN_CAT_TEMPORARY] = NN_MEMORY_TEMPORARY,
    };

    return kind[cat];
}

/* A tensor that the step made, first seen at this call. */
static int add_made(struct nn_access_list *a, const struct nn_trainer *trainer,
                    const struct nn_call *c, const struct nn_tensor *t,
                    bool reads, struct err *err)
{
    bool host = t->st == trainer->optim->flag->st;
    struct nn_memory_tensor *m;
    int rc = add_tensor(a, t, kind_of(t->st->cat),
                        host ? NN_STAY_STEP : NN_STAY_USED, err);

    if (rc == 0)
        rc = add_block(a, t->st, NULL, 1, err);
    if (rc != 0)
        return rc;
    m = &a->tensor[a->n_tensor - 1];
    if (t->name && t->name[0])
        (void)snprintf(m->name, sizeof m->name, "%s", t->name);
    else
        (void)snprintf(m->name, sizeof m->name, "%s%s%s%s", c->layer,
                       c->layer[0] ? "." : "", nn_op_name(c->op),
                       host ? ".flag" : "");
    if (reads && !host) { /* a constant, set before the step */
        a->stay[a->n_tensor - 1] = NN_STAY_BEFORE;
        m->kind = NN_MEMORY_BUFFER;
    }
    return 0;
}

/* ---- accesses ---- */

/* A call touches a tensor once, whatever it does to it. */
static int add_access(struct nn_access_list *a, int call, int tensor,
                      unsigned what, struct err *err)
{
    size_t i = a->n_access;
    int rc;

    for (; i > 0 && a->access[i - 1].call == call; i--)
        if (a->access[i - 1].tensor == tensor) {
            a->access[i - 1].what |= what;
            return 0;
        }
    rc = room((void **)&a->access, a->n_access, &a->cap_access,
              sizeof *a->access, err);
    if (rc == 0)
        a->access[a->n_access++] = (struct nn_access){call, tensor, what, 0};
    return rc;
}

static const struct nn_block *find_block(const struct nn_access_list *a,
                                         const struct nn_storage *st)
{
    size_t i;

    for (i = 0; i < a->n_block; i++)
        if (a->block[i].st == st)
            return &a->block[i];
    return NULL;
}

/* The views that lie in t's bytes. */
static int touch_views(struct nn_access_list *a, const struct nn_block *b,
                       int call, const struct nn_tensor *t, unsigned what,
                       struct err *err)
{
    size_t begin = t->offset, end = t->offset + nn_tensor_bytes(t);
    int rc = 0, i;

    for (i = 0; rc == 0 && i < b->n; i++) {
        const struct nn_tensor *v = b->params->t[i];
        size_t last = v->offset + nn_tensor_bytes(v);
        bool part = begin > v->offset || end < last;

        if (v->offset < end && last > begin)
            rc = add_access(a, call, b->first + i,
                            what | (part ? NN_ACCESS_PART : 0), err);
    }
    return rc;
}

static int touch(struct nn_access_list *a, const struct nn_trainer *trainer,
                 const struct nn_step *step, int call,
                 const struct nn_tensor *t, unsigned what, struct err *err)
{
    const struct nn_block *b = find_block(a, t->st);
    struct nn_memory_tensor *m;
    int rc;

    if (b && b->params)
        return touch_views(a, b, call, t, what, err);
    if (!b) {
        rc = add_made(a, trainer, &step->call[call], t, what & NN_ACCESS_READ,
                      err);
        if (rc != 0)
            return rc;
        b = &a->block[a->n_block - 1];
    }
    m = &a->tensor[b->first];
    if (logical_bytes(t) > m->bytes) { /* what was seen first was a view */
        m->bytes = logical_bytes(t);
        m->shape = t->shape;
        m->dtype = t->dtype;
    }
    if (logical_bytes(t) < m->bytes)
        what |= NN_ACCESS_PART;
    return add_access(a, call, b->first, what, err);
}

/* Parameters and state are changed by the call that takes them; the state is
 * written whole the first time. */
static unsigned of_input(const struct nn_call *c, int k)
{
    if ((c->op != NN_OP_SGD && c->op != NN_OP_ADAM) || k == 1)
        return NN_ACCESS_READ;
    return k == 0 ? NN_ACCESS_READ | NN_ACCESS_WRITE : NN_ACCESS_WRITE;
}

static unsigned of_output(const struct nn_call *c)
{
    if (c->op == NN_OP_CLEAR_GRAD)
        return c->attrs.set_to_none ? NN_ACCESS_DROP : NN_ACCESS_ZERO;
    return c->op == NN_OP_ADD_INTO ? NN_ACCESS_READ | NN_ACCESS_WRITE
                                   : NN_ACCESS_WRITE;
}

static int add_call(struct nn_access_list *a, const struct nn_trainer *t,
                    const struct nn_step *step, int call, struct err *err)
{
    const struct nn_call *c = &step->call[call];
    int rc = 0, k;

    for (k = 0; rc == 0 && k < c->n_in; k++)
        rc = touch(a, t, step, call, c->in[k], of_input(c, k), err);
    for (k = 0; rc == 0 && k < c->n_out; k++)
        rc = touch(a, t, step, call, c->out[k], of_output(c), err);
    if (c->op == NN_OP_CLIP_GRAD_NORM)
        for (k = 0; rc == 0 && k < c->attrs.clip.n; k++)
            rc = touch(a, t, step, call, c->attrs.clip.grads[k],
                       NN_ACCESS_READ | NN_ACCESS_WRITE, err);
    return rc;
}

/* ---- lives ---- */

static bool begins_anew(unsigned what)
{
    return (what & NN_ACCESS_WRITE) &&
           !(what & (NN_ACCESS_READ | NN_ACCESS_PART));
}

static int find_last(struct nn_access_list *a, struct err *err)
{
    bool *dead = mem_array(a->n_tensor + 1, sizeof *dead); /* from here on */
    size_t i;

    if (!dead)
        return err_set(err, ERR_NOMEM, "out of memory for a memory timeline");
    for (i = 0; i < a->n_tensor; i++)
        dead[i] = true;
    for (i = a->n_access; i > 0; i--) {
        struct nn_access *x = &a->access[i - 1];

        x->last = dead[x->tensor];
        dead[x->tensor] = begins_anew(x->what);
    }
    mem_free(dead);
    return 0;
}

static int64_t find_padding(const struct nn_access_list *a)
{
    int64_t sum = 0;
    size_t i;
    int k;

    for (i = 0; i < a->n_block; i++) {
        const struct nn_block *b = &a->block[i];

        sum += (int64_t)b->st->size;
        for (k = 0; k < b->n; k++)
            sum -= a->tensor[b->first + k].bytes;
    }
    return sum;
}

/* The host reads the loss of the whole batch after the step. */
static void keep_loss(struct nn_access_list *a, const struct nn_trainer *t,
                      const struct nn_step *step)
{
    int i;

    for (i = 0; i < NN_STEP_CACHE; i++)
        if (t->cache[i].step == step && t->cache[i].loss) {
            const struct nn_block *b = find_block(a, t->cache[i].loss->st);

            if (b)
                a->stay[b->first] = NN_STAY_STEP;
        }
}

int nn_access_find(struct nn_access_list *out, const struct nn_trainer *t,
                   const struct nn_step *step, bool started, struct err *err)
{
    int rc, i;

    memset(out, 0, sizeof *out);
    rc = add_blocks(out, t, started, err);
    for (i = 0; rc == 0 && i < step->n_call; i++)
        rc = add_call(out, t, step, i, err);
    if (rc == 0)
        rc = find_last(out, err);
    if (rc != 0) {
        nn_access_free(out);
        return rc;
    }
    keep_loss(out, t, step);
    out->padding = find_padding(out);
    return 0;
}

void nn_access_free(struct nn_access_list *a)
{
    mem_free(a->tensor);
    mem_free(a->stay);
    mem_free(a->access);
    mem_free(a->block);
    memset(a, 0, sizeof *a);
}
