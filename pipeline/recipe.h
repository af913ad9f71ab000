/* The tables that training stages share: optimizer, schedule, and the `with`
 * of train, evaluate, summary, autograd and fetch. */
#ifndef PIPELINE_RECIPE_H
#define PIPELINE_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "pipeline/schema.h"

enum pl_optimizer_type {
    PL_OPT_SGD,
    PL_OPT_SGD_MOMENTUM, /* sgd with momentum 0.9 unless said otherwise */
    PL_OPT_ADAM,
    PL_OPT_ADAMW
};
struct pl_optimizer {
    int type;
    double momentum; /* -1: the type's own default */
    bool nesterov;
    double weight_decay; /* -1: the type's own default (adamw 0.01, else 0) */
    double beta1, beta2, eps;
    const struct pl_node *node;
};
extern const char *const pl_optimizer_types[]; /* NULL-terminated */
extern const struct pl_schema pl_optimizer_schema;

enum pl_schedule_type { PL_SCHED_CONSTANT, PL_SCHED_STEP, PL_SCHED_COSINE };
struct pl_schedule {
    int type;
    int64_t warmup_steps; /* lr(i) = base * (i + 1) / warmup_steps */
    int64_t step_epochs;  /* step: lr *= gamma every so many epochs */
    double gamma;
    double min_lr; /* cosine: reached at the last step */
};
extern const struct pl_schema pl_schedule_schema;

enum pl_loss {
    PL_LOSS_AUTO,
    PL_LOSS_CROSS_ENTROPY,
    PL_LOSS_BCE,
    PL_LOSS_MSE,
    PL_LOSS_OWN /* an operator of the file */
};

struct pl_checkpointing {
    int64_t every_n_epochs; /* epoch-N; 0: only last */
    int64_t keep_last_n;    /* of epoch-N; 0: all */
    int64_t every_n_steps;  /* resume.safetensors within an epoch; 0: none */
};
struct pl_monitor {
    int metric; /* 0 validation.loss, 1 validation.accuracy */
    int mode;   /* 0 auto, 1 min, 2 max */
};

extern const char *const pl_losses[]; /* of enum pl_loss; NULL-terminated */
extern const char *const pl_fusions[];

struct pl_train_with {
    const char *dataset, *model;
    int loss;             /* enum pl_loss */
    const char *own_loss; /* PL_LOSS_OWN: the operator's name; else NULL */
    double label_smoothing, pos_weight;
    int64_t batch_size, epochs, seed, microbatches;
    double lr, clip_grad_norm; /* 0: no clipping */
    struct pl_list step_order; /* const char *: names of enum nn_part; empty:
                                  the usual one */
    struct pl_optimizer optimizer;
    struct pl_schedule schedule;
    bool shuffle, drop_last;
    int64_t torch_extra_iters_per_epoch;
    int64_t eval_every_n_epochs, eval_batch_size;
    struct pl_checkpointing checkpoint;
    const struct pl_monitor *monitor; /* NULL: validation.loss, min */
    const char *init_from;   /* PATH: a checkpoint to begin from, or NULL */
    const char *resume_from; /* a train stage to go on from, or NULL */
    int fusion;              /* 0 none, 1 all */
    int numerics, data;      /* see pipeline/device_settings.h */
    const struct pl_node *node;
};
extern const struct pl_schema pl_train_schema;

struct pl_evaluate_with {
    const char *from;       /* a train stage */
    const char *checkpoint; /* best, last or epoch-N of it */
    int set;                /* 0 test, 1 validation, 2 train */
    int64_t batch_size;
    int numerics; /* see pipeline/device_settings.h */
    const struct pl_node *node;
};
extern const struct pl_schema pl_evaluate_schema;

struct pl_summary_with {
    const char *dataset, *model;
    struct pl_list optimizers; /* names: state sizes are shown for each */
    int64_t batch_size;        /* shown in the shapes */
    const struct pl_node *node;
};
extern const struct pl_schema pl_summary_schema;

/* A value of a program in a table or a plot. */
struct pl_program_column {
    const char *name, *as; /* as: its title; NULL: the name */
    const struct pl_node *node;
};
extern const struct pl_schema pl_program_column_schema;

struct pl_program_plot {
    const char *name;                      /* of NAME.svg */
    const char *x;                         /* a value of the program */
    struct pl_list y;                      /* struct pl_program_column */
    const char *title, *x_label, *y_label; /* or NULL */
    const struct pl_node *node;
};
extern const struct pl_schema pl_program_plot_schema;

struct pl_autograd_with {
    struct pl_list operators; /* const char *: all, own, or own ones by name */
    struct pl_list reference; /* const char *: files of reference numbers */
    const struct pl_node *tensors; /* of the program, or NULL */
    const char *program;           /* or NULL; see pipeline/prog.h */
    struct pl_list table;          /* struct pl_program_column: of table.md */
    struct pl_list plots;          /* struct pl_program_plot: of NAME.svg */
    double eps, gradcheck_tolerance, rtol, atol;
    int64_t seed;
    const struct pl_node *node;
};
extern const struct pl_schema pl_autograd_schema;

struct pl_fetch_with {
    const char *dataset;
    bool offline;
    double connect_timeout, stall_timeout;
    int64_t retries;
    const struct pl_node *node;
};
extern const struct pl_schema pl_fetch_schema;

#endif
