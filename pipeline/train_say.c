/* What a training run says of itself. */
#include <math.h>
#include <stdio.h>

#include "nn/base/str.h"
#include "pipeline/train_run.h"

int64_t pl_train_steps(const struct pl_train *t)
{
    return t->with->epochs * t->steps_per_epoch;
}

void pl_train_say_epoch(const struct pl_train *t, double seconds, int64_t steps)
{
    struct str s = {0};

    str_addf(&s, "epoch %lld/%lld  train loss %.4f", (long long)t->epoch,
             (long long)t->with->epochs, t->train_loss);
    if (t->validation.has)
        str_addf(&s, "  validation loss %.4f", t->validation.r.loss);
    if (t->validation.has && t->validation.r.has_accuracy)
        str_addf(&s, "  validation accuracy %.2f %%",
                 100.0 * t->validation.r.accuracy);
    if (t->test.has)
        str_addf(&s, "  test loss %.4f", t->test.r.loss);
    if (t->test.has && t->test.r.has_accuracy)
        str_addf(&s, "  test accuracy %.2f %%", 100.0 * t->test.r.accuracy);
    if (steps > 0 && seconds > 0.0)
        str_addf(&s, "  (%.0f steps/s)", (double)steps / seconds);
    if (!s.failed)
        pl_log(t->ctx, "%s", s.text);
    str_free(&s);
}

void pl_train_say_resumed(const struct pl_train *t)
{
    char best[32] = "none";

    if (!isnan(t->best))
        (void)snprintf(best, sizeof best, "%.6g", t->best);
    pl_log(t->ctx, "resuming at epoch %lld, best_val %s (step %lld of %lld)",
           (long long)t->epoch + 1, best, (long long)t->trainer->step,
           (long long)pl_train_steps(t));
}

void pl_train_say_labels(const struct pl_train *t)
{
    long long last = (long long)t->sets.train->classes - 1;
    bool numbers =
        t->loss.type == NN_LOSS_BCE_WITH_LOGITS || t->loss.type == NN_LOSS_MSE;

    if (t->sets.train->label && numbers)
        pl_log(t->ctx,
               "labels 0 %s %lld (integers) are taken as 0.0 %s %lld.0 "
               "(float32) by %s",
               last == 1 ? "and" : "to", last, last == 1 ? "and" : "to", last,
               nn_loss_name(t->loss.type));
}
