/* Running a program on a tape, and what is kept of the run: every value with
 * what made it, and every backward. */
#ifndef PIPELINE_PROG_RUN_H
#define PIPELINE_PROG_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/base/str.h"
#include "nn/tape.h"
#include "pipeline/name_index.h"
#include "pipeline/prog.h"
#include "pipeline/prog_fn.h"

enum {
    PROG_MAX_STMTS = 10000,
    PROG_MAX_IN = 4,
    PROG_MAX_ELEMENTS = 50000000, /* of all values together */
    PROG_MAX_SHOWN = 16           /* numbers of a value that are shown */
};

enum prog_value_kind {
    PROG_V_NUMBER, /* written in the program: of no type yet */
    PROG_V_TENSOR,
    PROG_V_TRUTH /* of shares_storage and the like: number 0 or 1 */
};

/* One value. Lives in the run's arena; its tensor belongs to the tape, or to
 * the run (what the program was given). */
struct prog_value {
    enum prog_value_kind kind;
    double number;
    struct nn_tensor *t; /* PROG_V_TENSOR; a number's once it was used */
    const char *name;    /* unique in the run; NULL: has none */
    bool given;          /* one of the program's tensors */
    size_t index;        /* in the run's values */
    int line;            /* of the program, from 0 */
    /* what made it: name, or a formula over its operands */
    const struct prog_expr *formula;
    const struct prog_fn *fn; /* NULL: given, a number, a gradient read */
    const char *rule;         /* of the function or operator; NULL: none */
    struct prog_value *in[PROG_MAX_IN];
    int n_in;
    double attr; /* p of a power, n of a mean: what the rule calls by name */
    const char *attr_name; /* NULL: none */
    double *grad;          /* of the last backward that came by, or NULL */
    double *first;         /* its first numbers, as it was made, if its memory
                              was written to later; else NULL */
    const struct prog_stmt *change; /* what changed x in place to this value */
};

struct prog_var {
    const char *name;
    struct prog_value *value;
    int times; /* that the name was set to something new */
};

/* What one backward gave one leaf. */
struct prog_share {
    struct prog_value *leaf;
    double *grad; /* numel numbers */
    bool reached; /* it holds a gradient after this backward */
};

struct prog_backward {
    struct prog_value *root;
    struct prog_pos pos;
    double loss; /* the root's number */
    struct prog_share *share;
    size_t n_share;
    size_t n_values; /* that there were by then */
};

/* Numbers of values that gradients do not flow through (detached, made below
 * no_grad, read gradients), in the order of the run: a second run takes them
 * from here, so that a difference quotient sees what backward sees. */
struct prog_frozen {
    double **data;
    size_t n, cap;
};

struct prog_run {
    struct nn_backend *be;
    struct nn_tape *tape;
    struct arena *arena; /* of everything that ends with the run */
    const struct prog_source *source;
    struct prog_var *var;
    size_t n_var, cap_var;
    struct name_index names;   /* of var, at the same places */
    struct prog_value **value; /* in the order in which they were made */
    size_t n_value, cap_value;
    struct prog_backward *backward;
    size_t n_backward, cap_backward;
    struct nn_tensor **own; /* tensors that the tape does not end */
    size_t n_own, cap_own;
    int64_t elements; /* so far */
    struct prog_frozen *frozen;
    size_t at_frozen;
    bool borrowed;         /* the tape is the caller's, and may run again: what
                              a tensor holds now is not to be looked at */
    bool replay;           /* takes from frozen, and does no backward */
    const char *moved;     /* the tensor that a second run has moved, or NULL */
    int64_t moved_at;      /* which element */
    double moved_by;       /* how far */
    struct prog_pos where; /* of the error */
    /* What a statement has to say; may be NULL. */
    void (*say)(void *user, const char *line);
    void *user;
};

/* One tensor that a program is given. */
struct prog_tensor {
    const char *name;
    struct nn_shape shape;
    enum nn_dtype dtype;
    bool requires_grad;
    double *data;
};

int prog_run_begin(struct prog_run *r, struct nn_backend *be,
                   const struct prog_source *source, struct arena *arena,
                   struct err *err);
/* The same on a tape that is the caller's and outlives the run. */
void prog_run_borrow(struct prog_run *r, struct nn_tape *tape,
                     const struct prog_source *source, struct arena *arena);
/* Ends the tape, unless it is borrowed, and every tensor; the arena is the
 * caller's. */
void prog_run_end(struct prog_run *r);
/* Gives the program a tensor that there is already: it is borrowed. */
int prog_run_bind(struct prog_run *r, const char *name, struct nn_tensor *t,
                  struct err *err);
int prog_run_give(struct prog_run *r, const struct prog_tensor *t,
                  struct err *err);
/* Runs statements. On an error r->where is its place, and err->at too. */
int prog_run_stmts(struct prog_run *r, const struct prog_stmt *s,
                   struct err *err);
struct prog_value *prog_run_get(const struct prog_run *r, const char *name);

/* ---- for functions (prog_fn.c) and statements ---- */

/* A new value of the run; NULL: out of memory, *err says so. */
struct prog_value *prog_new_value(struct prog_run *r, enum prog_value_kind kind,
                                  const struct prog_expr *formula,
                                  struct err *err);
/* How a value stands in the formula of another one: by name, or in full. NULL:
 * out of memory. */
const struct prog_expr *prog_in_formula(struct arena *arena,
                                        const struct prog_value *v);
int prog_own(struct prog_run *r, struct nn_tensor *t, struct err *err);
int prog_set_var(struct prog_run *r, const char *name, struct prog_value *v,
                 struct err *err);
/* The number as a tensor without dimensions, of type dtype. */
int prog_materialise(struct prog_run *r, struct prog_value *v,
                     enum nn_dtype dtype, struct err *err);
int prog_eval(struct prog_run *r, const struct prog_expr *e,
              struct prog_value **out, struct err *err);
/* Applies fn to operands that are there. */
int prog_apply(struct prog_run *r, struct prog_call *c,
               const struct prog_expr *e, struct prog_value **out,
               struct err *err);
/* Hands v's numbers to the frozen ones, or takes them from there. */
int prog_freeze(struct prog_run *r, struct prog_value *v, struct err *err);
/* The numbers of a float tensor, of any type, as doubles; memory from a. */
double *prog_numbers(const struct nn_tensor *t, struct arena *a,
                     struct err *err);
/* The same of a value as it was made, whatever was written to its memory since:
 * at least its first PROG_MAX_SHOWN numbers. */
const double *prog_first_numbers(const struct prog_value *v, struct arena *a,
                                 struct err *err);
/* Before st is written to: its values keep their first numbers. */
int prog_keep_first(struct prog_run *r, const struct nn_storage *st,
                    struct err *err);
int prog_set_numbers(struct nn_tensor *t, const double *v, struct err *err);

int prog_new_backward(struct prog_run *r, struct prog_backward **out,
                      struct err *err);
int prog_do_backward(struct prog_run *r, struct prog_value *root, bool retain,
                     struct prog_pos pos, struct err *err);
int prog_do_zero_grad(struct prog_run *r, struct prog_value *const *leaf, int n,
                      struct err *err);
int prog_do_inplace(struct prog_run *r, const struct prog_stmt *s,
                    struct err *err);

#endif
