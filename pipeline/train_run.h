/* A training run under way, shared by stage_train.c (the loop), train_state.c
 * (saving), train_resume.c (going on), train_recipe.c (from what), train_say.c
 * (the log) and train_setup.c (from config to nn). */
#ifndef PIPELINE_TRAIN_RUN_H
#define PIPELINE_TRAIN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/base/rng.h"
#include "nn/eval.h"
#include "nn/loader.h"
#include "nn/model.h"
#include "nn/sched.h"
#include "nn/train.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"
#include "pipeline/train_curve.h"

/* The latest evaluation of a set; has is false when there is none yet. */
struct pl_measured {
    struct nn_evaluator *evaluator; /* NULL: none ran yet */
    bool has;
    struct nn_eval_result r;
};

struct pl_train {
    struct pl_stage_ctx *ctx;
    const struct pl_train_with *with;
    struct pl_sets sets;
    struct rng_mt gen; /* PyTorch's default generator after manual_seed */
    struct nn_model *model;
    struct nn_loader *loader;
    struct nn_trainer *trainer;
    struct nn_loss loss;
    struct nn_sched sched;
    int64_t steps_per_epoch;
    /* where the run stands */
    int64_t epoch;         /* epochs done */
    int64_t step_in_epoch; /* steps done in the epoch under way */
    double loss_sum;       /* of the epoch under way: batch loss * samples */
    int64_t loss_samples;
    double train_loss; /* mean of the last whole epoch */
    struct pl_measured validation, test;
    char recipe[65]; /* pl_train_recipe */
    double best;     /* monitored value; NaN: none yet */
    int64_t best_epoch;
    struct pl_curve curve;
    bool step_told; /* pl_train_tell_step is done */
};

/* Adds the place of node (NULL: none) to an error of nn's. */
void pl_err_at_node(struct err *err, const struct pl_node *node);

/* What the tables say, as nn takes it. */
struct nn_optim_spec pl_optimizer_spec(const struct pl_optimizer *o);
struct nn_loss pl_loss_of(const struct pl_config *config,
                          const struct pl_train_with *w,
                          const struct nn_data *data);
/* step_order, and what is wrong with it at its place. */
struct nn_train_order pl_step_order(const struct pl_train_with *w);
void pl_step_order_check(const struct pl_stage *s, struct pl_diag *d);
/* The layers of a named model for samples of this shape, on be. gen NULL:
 * zeros. A layer that does not fit is reported at its place in the file. */
int pl_model_new(struct nn_model **out, const struct pl_config *config,
                 const char *model, struct nn_backend *be,
                 const struct nn_shape *sample, struct rng_mt *gen,
                 struct err *err);

/* One hash over all that the numbers of train stage s hang on: not how many
 * epochs, nor what it begins from. ERR_NOMEM. */
int pl_train_recipe(char hex[65], const struct pl_stage *s, struct err *err);
/* Tells d why s cannot go on from the stage that its resume_from names, at the
 * setting that is in the way. */
void pl_train_check_resume(const struct pl_config *c, const struct pl_stage *s,
                           struct pl_diag *d);

/* Data, model, loader, trainer, schedule. On failure too, end with
 * pl_train_close. */
int pl_train_open(struct pl_train *t, struct pl_stage_ctx *ctx,
                  struct err *err);
void pl_train_close(struct pl_train *t);

/* Fills model from a checkpoint: every parameter must be there in its shape,
 * and nothing else (as load_state_dict(strict=True)). */
int pl_model_load(struct nn_model *model, const char *path, struct err *err);
/* checkpoints/<name>.safetensors: the model alone. */
int pl_train_save_model(struct pl_train *t, const char *name, struct err *err);
/* Whether a run that stands where t does has kept the checkpoint of epoch e
 * (0: best); name gets checkpoints/NAME.safetensors. */
bool pl_train_keeps(const struct pl_train *t, int64_t e, char name[64]);
#define PL_RESUME_FILE "checkpoints/resume.safetensors"
/* PL_RESUME_FILE: all that the rest of the run depends on. */
int pl_train_save_state(struct pl_train *t, struct err *err);
/* Goes on from resume.safetensors when there is one of this recipe, else from
 * that of the stage's last results, a run of fewer epochs, else from that of
 * the stage that resume_from names; the other checkpoints of these two are
 * taken over. *resumed says whether. One that is damaged is an error, and so
 * is one of another recipe if resume_from names it; else that is passed over
 * with a line in the log. */
int pl_train_load_state(struct pl_train *t, bool *resumed, struct err *err);

/* Once a usual step (a full batch, the optimizer at work if it ever is) was
 * recorded: its order to the log and the metrics, its calls to step.md. must:
 * records one now, changing no number of the model, if none was. */
int pl_train_tell_step(struct pl_train *t, bool must, struct err *err);

/* Puts the next step on its way. Its loss may be booked (the epoch's mean, the
 * curve) only some steps later. */
int pl_train_one_step(struct pl_train *t, struct err *err);
/* Waits for the steps that are on their way and books them. */
int pl_train_collect(struct pl_train *t, struct err *err);

int64_t pl_train_steps(const struct pl_train *t); /* of all epochs */
/* Lines of the log: after an epoch, of whose steps the last `steps` took so
 * many seconds; how far a run is that goes on (the epoch, from 1, that is not
 * whole); that a loss takes class labels for numbers, if it does. */
void pl_train_say_epoch(const struct pl_train *t, double seconds,
                        int64_t steps);
void pl_train_say_resumed(const struct pl_train *t);
void pl_train_say_labels(const struct pl_train *t);

#endif
