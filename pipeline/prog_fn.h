/* The functions of a program: one table row each. */
#ifndef PIPELINE_PROG_FN_H
#define PIPELINE_PROG_FN_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/op.h"
#include "pipeline/prog.h"

struct prog_run;
struct prog_value;

enum { PROG_MAX_PARAMS = 6 };

/* A call on its way: operands, then parameters, which are numbers. */
struct prog_call {
    const struct prog_fn *fn;
    struct prog_pos pos;
    struct prog_value *in[PROG_MAX_ARGS];
    int n_in;
    double param[PROG_MAX_PARAMS];
    bool given[PROG_MAX_PARAMS];
    int n_param; /* of functions that take any number of them */
    struct nn_tensor *out;
    double truth;     /* the result of a PROG_FN_TRUTH */
    const char *rule; /* set by apply where it is not the operator's */
    double attr;      /* see struct prog_value */
    const char *attr_name;
};

enum prog_fn_flags {
    PROG_FN_STATEMENT = 1, /* gives no value */
    PROG_FN_TRUTH = 2,     /* gives c->truth */
    PROG_FN_CUT = 4,       /* no gradient flows back */
    PROG_FN_LIST = 8,      /* parameters are any number of whole numbers */
    PROG_FN_INDEX = 16,    /* operand 1 is of class indices */
    PROG_FN_PARAM = 32     /* the first parameter must be given */
};

struct prog_fn {
    const char *name;
    int lo, hi;         /* operands */
    const char *params; /* names, with blanks between; NULL: none */
    unsigned flags;
    enum nn_op_id op; /* NN_OP_COUNT: none of its own */
    int (*apply)(struct prog_run *r, struct prog_call *c, struct err *err);
    const char *help; /* "exp(x)" */
};

/* NULL: there is no such function (or no operator for it). */
const struct prog_fn *prog_fn_find(const char *name);
/* The names of all that there are; returns how many. */
size_t prog_fn_names(const char **names, size_t cap);
/* Which of fn's parameters is called name; -1: none. */
int prog_fn_param(const struct prog_fn *fn, const char *name);
int prog_fn_params(const struct prog_fn *fn); /* how many there are */
/* The number of a parameter: a number, -number, true, false, a type's name. */
bool prog_fn_constant(const struct prog_expr *e, double *out);

#endif
