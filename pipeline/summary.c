#include "pipeline/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/arena.h"
#include "nn/optim.h"
#include "pipeline/layer_parts.h"
#include "pipeline/number.h"
#include "pipeline/table.h"

#define TIMES " \xc3\x97 "
#define CHECK_MARK "\xe2\x9c\x94"

enum { FLOAT_BYTES = 4 };

static const struct {
    const char *name;
    struct nn_optim_spec spec;
} optimizers[] = {
    {"sgd", {.type = NN_OPTIM_SGD}},
    {"sgd_momentum", {.type = NN_OPTIM_SGD, .momentum = 0.9}},
    {"adam", {.type = NN_OPTIM_ADAM}},
    {"adamw", {.type = NN_OPTIM_ADAMW}},
};

static const struct nn_optim_spec *find_optimizer(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
        if (strcmp(optimizers[i].name, name) == 0)
            return &optimizers[i].spec;
    return NULL;
}

static int64_t weights_of(const struct nn_layer *l)
{
    return pl_layer_numbers(l, false);
}

static int64_t biases_of(const struct nn_layer *l)
{
    return pl_layer_numbers(l, true);
}

int64_t pl_summary_parameters(const struct nn_model *m)
{
    int64_t n = 0;
    int i;

    for (i = 0; i < m->n_layers; i++)
        n += weights_of(&m->layer[i]) + biases_of(&m->layer[i]);
    return n;
}

int64_t pl_summary_state_bytes(const char *optimizer, int64_t n)
{
    const struct nn_optim_spec *spec = find_optimizer(optimizer);

    return spec ? n * FLOAT_BYTES * nn_optim_state_blocks(spec) : -1;
}

/* ---- texts; NULL means out of memory ---- */

/* A piece of text that is moved into the arena. */
static const char *keep(struct arena *a, struct str *s)
{
    const char *text = s->failed ? NULL : arena_strdup(a, s->text);

    str_free(s);
    return text;
}

static const char *count_text(struct arena *a, int64_t n)
{
    struct str s = {0};

    pl_add_number(&s, (double)n, 0, true);
    return keep(a, &s);
}

static void add_count(struct str *out, int64_t n)
{
    pl_add_number(out, (double)n, 0, true);
}

static const char *kib_text(struct arena *a, int64_t bytes)
{
    struct str s = {0};

    pl_add_number(&s, (double)bytes / 1024, 2, true);
    return keep(a, &s);
}

static const char *shape_text(struct arena *a, int64_t batch,
                              const struct nn_shape *shape)
{
    struct str s = {0};
    int i;

    str_addf(&s, "(%" PRId64, batch);
    for (i = 0; i < shape->ndim; i++)
        str_addf(&s, ", %" PRId64, shape->dim[i]);
    str_addc(&s, ')');
    return keep(a, &s);
}

/* ---- the account ---- */

struct writer {
    struct str *out;
    const struct pl_summary *s;
    struct arena arena;
    bool markdown;
    bool failed; /* out of memory */
};

static void heading(struct writer *w, const char *text)
{
    str_addf(w->out, w->markdown ? "\n## %s\n\n" : "\n%s\n", text);
}

/* Begins a line of the working. */
static void item(struct writer *w)
{
    str_add(w->out, w->markdown ? "- " : "  ");
}

static void add_table(struct writer *w, const struct pl_table *t)
{
    size_t i;

    for (i = 0; i < t->rows * t->columns; i++)
        if (!t->cell[i]) {
            w->failed = true;
            return;
        }
    pl_table_add(w->out, t, w->markdown);
}

static void write_layers(struct writer *w)
{
    static const char *const head[] = {"layer", "type", "input", "output",
                                       "parameters"};
    const struct nn_model *m = w->s->model;
    struct pl_table t = {head, "llllr", NULL, 5, (size_t)m->n_layers};
    const char **cell =
        arena_array(&w->arena, t.rows * t.columns + 1, sizeof *cell);
    int i;

    if (!cell) {
        w->failed = true;
        return;
    }
    t.cell = cell;
    for (i = 0; i < m->n_layers; i++) {
        const struct nn_layer *l = &m->layer[i];

        *cell++ = l->name;
        *cell++ = nn_layer_kind(l);
        *cell++ = shape_text(&w->arena, w->s->batch, &l->in);
        *cell++ = shape_text(&w->arena, w->s->batch, &l->out);
        *cell++ = count_text(&w->arena, weights_of(l) + biases_of(l));
    }
    add_table(w, &t);
}

static void write_part(struct writer *w, const struct nn_layer *l,
                       const struct pl_layer_part *p)
{
    int k;

    item(w);
    str_addf(w->out, "%s.%s: ", l->name, p->name);
    for (k = 0; !p->bias && k < p->shape.ndim; k++) {
        str_add(w->out, k > 0 ? TIMES : "");
        add_count(w->out, p->shape.dim[k]);
    }
    if (!p->bias && p->shape.ndim > 1)
        str_add(w->out, " = ");
    if (p->bias || p->shape.ndim > 1)
        add_count(w->out, nn_shape_numel(&p->shape));
    str_addc(w->out, '\n');
}

static void write_working(struct writer *w)
{
    const struct nn_model *m = w->s->model;
    struct pl_layer_part part[NN_MAX_IN];
    int i, k, n;

    heading(w, "Working");
    for (i = 0; i < m->n_layers; i++) {
        n = pl_layer_parts(&m->layer[i], part);
        for (k = 0; k < n; k++)
            write_part(w, &m->layer[i], &part[k]);
    }
}

static void write_sum(struct writer *w, int64_t total)
{
    const struct nn_model *m = w->s->model;
    struct pl_layer_part part[NN_MAX_IN];
    const char *plus = "";
    int i, k, n;

    item(w);
    str_add(w->out, "sum: ");
    for (i = 0; i < m->n_layers; i++) {
        n = pl_layer_parts(&m->layer[i], part);
        for (k = 0; k < n; k++) {
            str_add(w->out, plus);
            add_count(w->out, nn_shape_numel(&part[k].shape));
            plus = " + ";
        }
    }
    str_add(w->out, *plus ? " = " : "");
    add_count(w->out, total);
    str_add(w->out, " parameters\n");
}

static void write_bytes(struct writer *w, int64_t n)
{
    int64_t bytes = n * FLOAT_BYTES;

    item(w);
    str_add(w->out, "memory: ");
    add_count(w->out, n);
    str_add(w->out, TIMES "4 bytes (float32) = ");
    add_count(w->out, bytes);
    str_add(w->out, " bytes = ");
    pl_add_number(w->out, (double)bytes / 1024, 2, true);
    str_add(w->out, " KiB (\xc3\xb7 1024) = ");
    pl_add_number(w->out, (double)bytes / 1000, 2, true);
    str_add(w->out, " kB (\xc3\xb7 1000)\n");
}

/* The two linear layers of a network with one hidden layer and nothing else to
 * train. */
static bool one_hidden_layer(const struct nn_model *m,
                             const struct nn_layer *l[2])
{
    int i, n = 0;

    for (i = 0; i < m->n_layers; i++) {
        if (m->layer[i].n_params > 0 && m->layer[i].type != NN_LAYER_LINEAR)
            return false;
        if (m->layer[i].type == NN_LAYER_LINEAR && n++ < 2)
            l[n - 1] = &m->layer[i];
    }
    return n == 2;
}

/* h hidden units: in * h + h (bias) + h * out + out (bias). */
static void write_formula(struct writer *w)
{
    const struct nn_layer *l[2];
    int64_t in, h, out, slope, rest;

    if (!one_hidden_layer(w->s->model, l))
        return;
    in = nn_shape_numel(&l[0]->in);
    h = nn_shape_numel(&l[0]->out);
    out = nn_shape_numel(&l[1]->out);
    slope = in + (l[0]->has_bias ? 1 : 0) + out;
    rest = biases_of(l[1]);
    item(w);
    str_addf(w->out,
             "formula for h hidden units: (%" PRId64 "%s + %" PRId64 ")"
             "\xc2\xb7h",
             in, l[0]->has_bias ? " + 1" : "", out);
    if (rest > 0)
        str_addf(w->out, " + %" PRId64, rest);
    str_addf(w->out, " = %" PRId64 "\xc2\xb7h", slope);
    if (rest > 0)
        str_addf(w->out, " + %" PRId64, rest);
    str_addf(w->out, "; h = %" PRId64 ": ", h);
    add_count(w->out, slope * h + rest);
    str_addc(w->out, '\n');
}

static void write_check(struct writer *w, int64_t built)
{
    item(w);
    str_add(w->out,
            CHECK_MARK " counted over the tensors of the built model: ");
    add_count(w->out, built);
    str_addc(w->out, '\n');
}

/* ---- memory of training ---- */

struct memory_row {
    const char *what, *how;
    int64_t bytes;
};

static const char *state_how(struct arena *a, const char *name, int64_t n)
{
    const struct nn_optim_spec *spec = find_optimizer(name);
    int blocks = nn_optim_state_blocks(spec), i;
    struct str s = {0};

    if (blocks == 0)
        return "keeps none";
    for (i = 0; i < blocks; i++)
        str_addf(&s, "%s%s", i ? ", " : "", nn_optim_state_name(spec, i));
    str_add(&s, ": ");
    if (blocks > 1)
        str_addf(&s, "%d" TIMES, blocks);
    add_count(&s, n);
    str_add(&s, TIMES "4");
    return keep(a, &s);
}

static int64_t activation_numbers(const struct nn_model *m)
{
    int64_t n = 0;
    int i;

    for (i = 0; i < m->n_layers; i++)
        if (m->layer[i].type != NN_LAYER_FLATTEN &&
            m->layer[i].type != NN_LAYER_SQUEEZE) /* views */
            n += nn_shape_numel(&m->layer[i].out);
    return n;
}

static const char *product_text(struct arena *a, int64_t x, int64_t y)
{
    struct str s = {0};

    if (y > 0) {
        add_count(&s, y);
        str_add(&s, TIMES);
    }
    add_count(&s, x);
    str_add(&s, TIMES "4");
    return keep(a, &s);
}

/* rows has room for three more than there are optimizers. */
static size_t memory_rows(struct writer *w, int64_t n, struct memory_row *row)
{
    int64_t each = activation_numbers(w->s->model);
    size_t i, k = 0;

    row[k++] = (struct memory_row){"parameters", product_text(&w->arena, n, 0),
                                   n * FLOAT_BYTES};
    row[k++] = (struct memory_row){"gradients", product_text(&w->arena, n, 0),
                                   n * FLOAT_BYTES};
    for (i = 0; i < w->s->n_optimizers; i++) {
        const char *name = w->s->optimizers[i];

        row[k++] = (struct memory_row){
            arena_printf(&w->arena, "state of %s", name),
            state_how(&w->arena, name, n), pl_summary_state_bytes(name, n)};
    }
    row[k++] = (struct memory_row){
        arena_printf(&w->arena, "outputs, batch of %" PRId64, w->s->batch),
        product_text(&w->arena, each, w->s->batch),
        w->s->batch * each * FLOAT_BYTES};
    return k;
}

static void write_memory(struct writer *w, int64_t n)
{
    static const char *const head[] = {"what", "how", "bytes", "KiB"};
    struct pl_table t = {head, "llrr", NULL, 4, 0};
    struct memory_row *row =
        arena_array(&w->arena, w->s->n_optimizers + 3, sizeof *row);
    const char **cell = arena_array(
        &w->arena, (w->s->n_optimizers + 3) * t.columns, sizeof *cell);
    size_t i;

    if (!row || !cell) {
        w->failed = true;
        return;
    }
    heading(w, "Memory of training");
    t.cell = cell;
    t.rows = memory_rows(w, n, row);
    for (i = 0; i < t.rows; i++) {
        *cell++ = row[i].what;
        *cell++ = row[i].how;
        *cell++ = count_text(&w->arena, row[i].bytes);
        *cell++ = kib_text(&w->arena, row[i].bytes);
    }
    add_table(w, &t);
    str_add(w->out, w->markdown ? "\n" : "");
    str_add(w->out, "Outputs are those of each layer, for one batch. Adam and "
                    "AdamW also keep one step counter.\n");
}

/* ---- the whole ---- */

static int check(const struct pl_summary *s, struct err *err)
{
    int64_t worked_out = pl_summary_parameters(s->model);
    int64_t built = nn_model_count(s->model);
    size_t i;

    if (worked_out != built)
        return err_set(err, ERR_CORRUPT,
                       "model '%s' has %" PRId64 " parameters by its shapes, "
                       "but %" PRId64 " were built",
                       s->name, worked_out, built);
    for (i = 0; i < s->n_optimizers; i++)
        if (!find_optimizer(s->optimizers[i]))
            return err_set(err, ERR_CONFIG,
                           "'%s' is no optimizer: sgd, sgd_momentum, adam and "
                           "adamw are",
                           s->optimizers[i]);
    return 0;
}

int pl_summary_write(struct str *out, const struct pl_summary *s, bool markdown,
                     struct err *err)
{
    struct writer w = {.out = out, .s = s, .markdown = markdown};
    int64_t n = nn_model_count(s->model);
    int rc = check(s, err);

    if (rc != 0)
        return rc;
    str_addf(out, markdown ? "# Model `%s` on `%s`\n\n" : "Model %s on %s\n",
             s->name, s->dataset);
    write_layers(&w);
    write_working(&w);
    write_sum(&w, n);
    write_formula(&w);
    write_check(&w, n);
    write_bytes(&w, n);
    write_memory(&w, n);
    arena_free(&w.arena);
    if (w.failed || out->failed)
        return err_set(err, ERR_NOMEM, "out of memory for a summary");
    return 0;
}

static void add_csv_shape(struct str *out, const struct nn_shape *s)
{
    char text[160];

    str_addf(out, "\"%s\",", nn_shape_text(s, text, sizeof text));
}

void pl_summary_csv(struct str *out, const struct pl_summary *s)
{
    int i;

    str_add(out, "layer,type,input,output,weights,biases,parameters\n");
    for (i = 0; i < s->model->n_layers; i++) {
        const struct nn_layer *l = &s->model->layer[i];

        str_addf(out, "%s,%s,", l->name, nn_layer_kind(l));
        add_csv_shape(out, &l->in);
        add_csv_shape(out, &l->out);
        str_addf(out, "%" PRId64 ",%" PRId64 ",%" PRId64 "\n", weights_of(l),
                 biases_of(l), weights_of(l) + biases_of(l));
    }
}
