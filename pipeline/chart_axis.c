#include "pipeline/chart_axis.h"

#include <math.h>
#include <string.h>

#include "pipeline/number.h"

/* Beyond these, differences and ratios of two values overflow. */
static const double largest = 1e300, smallest = 1e-300;

/* Rounding may put a value this far (in steps) from the tick it is on. */
static const double slack = 1e-6;

bool pl_scale_takes(bool log, double v)
{
    return fabs(v) <= largest && (!log || v >= smallest);
}

static double power10(int k)
{
    double p = 1;
    int i;

    for (i = 0; i < (k < 0 ? -k : k); i++)
        p *= 10;
    return k < 0 ? 1 / p : p;
}

/* The k with 10^k <= v < 10^(k + 1), v > 0. */
static int decade(double v)
{
    int k = (int)floor(log10(v));

    if (power10(k + 1) <= v)
        k++;
    return k;
}

/* The smallest of 1, 2, 5 times a power of ten that is no less than v. */
static double nice_above(double v)
{
    double p = power10(decade(v));
    double m = v / p;

    return p * (m <= 1 + slack   ? 1
                : m <= 2 + slack ? 2
                : m <= 5 + slack ? 5
                                 : 10);
}

static double nice_below(double v)
{
    double p = power10(decade(v));
    double m = v / p;

    return p * (m >= 5 - slack ? 5 : m >= 2 - slack ? 2 : 1);
}

/* ---- linear ---- */

/* Room around equal values, but none past the axis' own bounds. */
static void widen_equal(const struct pl_chart_axis *axis, double *lo,
                        double *hi)
{
    double size = fmax(fabs(*lo), fabs(*hi)), a = *lo, b = *hi;
    double room = size < smallest ? 1 : 0.1 * size;

    room = axis->whole ? fmax(room, 1) : room;
    *lo -= room;
    *hi += room;
    if (axis->most > axis->least) {
        *lo = fmax(*lo, fmin(axis->least, a));
        *hi = fmin(*hi, fmax(axis->most, b));
    }
}

/* Makes lo < hi; a range that almost reaches down to 0 begins there. */
static void widen(const struct pl_chart_axis *axis, double *lo, double *hi)
{
    double size = fmax(fabs(*lo), fabs(*hi));

    if (*lo > *hi) {
        *lo = 0;
        *hi = 1;
    } else if (size < smallest || *hi - *lo <= 1e-9 * size) {
        widen_equal(axis, lo, hi);
    } else if (*lo > 0 && *lo < 0.35 * *hi) {
        *lo = 0;
    }
}

/* How the ticks are written: so many decimals, and for very large or small
 * ones a power of ten (of thousands) that goes to the axis' label. */
static void choose_format(struct pl_scale *s)
{
    double size = fmax(fabs(s->lo), fabs(s->hi));
    int k = decade(size), d;

    s->exponent = 0;
    if (k >= 6 || k < -3)
        s->exponent = (k >= 0 ? k / 3 : -((2 - k) / 3)) * 3;
    d = s->exponent - decade(s->step * (1 + slack));
    s->decimals = d < 0 ? 0 : d > 11 ? 11 : d;
}

static void linear_ticks(struct pl_scale *s, const struct pl_chart_axis *axis)
{
    double first = ceil(s->lo / s->step - slack);
    double last = floor(s->hi / s->step + slack);
    double i;

    s->n_ticks = 0;
    for (i = first; i <= last && s->n_ticks < SCALE_MAX_TICKS; i++) {
        double v = i * s->step;

        if (axis->most > axis->least && (v > axis->most + slack * s->step ||
                                         v < axis->least - slack * s->step))
            continue;
        s->tick[s->n_ticks++] = v;
    }
    choose_format(s);
}

static void linear_fit(struct pl_scale *s, const struct pl_chart_axis *axis,
                       double lo, double hi, int target, bool round)
{
    widen(axis, &lo, &hi);
    s->step = nice_above((hi - lo) / target);
    if (axis->whole)
        s->step = fmax(s->step, 1);
    s->lo = round ? floor(lo / s->step + slack) * s->step : lo;
    s->hi = round ? ceil(hi / s->step - slack) * s->step : hi;
    linear_ticks(s, axis);
}

/* ---- logarithmic ---- */

static void log_ticks(struct pl_scale *s, int target)
{
    static const double mantissa[] = {1, 2, 5};
    int first = decade(s->lo * (1 + slack)), last = decade(s->hi);
    int decades = last - first + 1, every = (decades + target - 1) / target;
    int n = 3 * log10(s->hi / s->lo) <= 2 * target ? 3 : 1, k, i;

    s->n_ticks = 0;
    for (k = first; k <= last; k += every)
        for (i = 0; i < n && s->n_ticks < SCALE_MAX_TICKS; i++) {
            double v = mantissa[i] * power10(k);

            if (v >= s->lo * (1 - slack) && v <= s->hi * (1 + slack))
                s->tick[s->n_ticks++] = v;
        }
}

static void log_fit(struct pl_scale *s, double lo, double hi, int target)
{
    if (lo > hi) {
        lo = 1;
        hi = 10;
    }
    s->lo = nice_below(lo);
    s->hi = nice_above(hi);
    if (s->hi / s->lo > 1e3) { /* ticks at whole decades only */
        s->lo = power10(decade(s->lo * (1 + slack)));
        s->hi = power10(decade(s->hi * (1 - slack)) + 1);
    }
    if (s->hi <= s->lo * (1 + slack)) {
        s->lo = nice_below(s->lo / 2);
        s->hi = nice_above(s->hi * 2);
    }
    s->step = 0;
    s->scientific = s->lo < 1e-4 * (1 - slack) || s->hi > 1e6;
    log_ticks(s, target);
}

/* ---- given ticks ---- */

/* Room beyond the first and the last of what is shown, as a share. */
static const double given_room = 0.05;

/* Those ticks, on a scale that reaches over them and over lo..hi. */
static void given_fit(struct pl_scale *s, const struct pl_chart_axis *axis,
                      double lo, double hi)
{
    double room;
    size_t i;

    s->given = true;
    for (i = 0; i < axis->n_ticks && i < SCALE_MAX_TICKS; i++)
        if (pl_scale_takes(s->log, axis->tick[i])) {
            s->tick[s->n_ticks++] = axis->tick[i];
            lo = fmin(lo, axis->tick[i]);
            hi = fmax(hi, axis->tick[i]);
        }
    if (s->log) {
        room = hi > lo * (1 + slack) ? pow(hi / lo, given_room) : 2;
        s->lo = lo / room;
        s->hi = hi * room;
        return;
    }
    if (hi - lo <= 1e-9 * fmax(fabs(lo), fabs(hi))) {
        widen_equal(axis, &lo, &hi);
    } else {
        room = given_room * (hi - lo);
        lo -= room;
        hi += room;
    }
    s->lo = lo;
    s->hi = hi;
    s->step = (hi - lo) / 10;
}

static bool has_given(const struct pl_chart_axis *axis)
{
    size_t i;

    for (i = 0; i < axis->n_ticks; i++)
        if (pl_scale_takes(axis->log, axis->tick[i]))
            return true;
    return false;
}

void pl_scale_fit(struct pl_scale *s, const struct pl_chart_axis *axis,
                  double lo, double hi, int target, bool round)
{
    memset(s, 0, sizeof *s);
    s->log = axis->log;
    if (has_given(axis))
        given_fit(s, axis, lo, hi);
    else if (axis->log)
        log_fit(s, lo, hi, target);
    else
        linear_fit(s, axis, lo, hi, target, round);
}

/* Where the n steps begin that cover lo..hi; NAN if they do not. */
static double first_step(const struct pl_chart_axis *axis, double step,
                         double lo, double hi, double n)
{
    double first = floor(lo / step + slack), down;

    if ((first + n) * step < hi - slack * step)
        return NAN;
    /* Steps past the upper bound show nothing: let them stand below instead,
     * as far as the lower bound allows. */
    if (axis->most > axis->least && hi <= axis->most && lo >= axis->least) {
        down = fmax(ceil(axis->most / step - slack) - n,
                    floor(axis->least / step + slack));
        first = fmin(first, down);
    }
    return first;
}

void pl_scale_align(struct pl_scale *s, const struct pl_chart_axis *axis,
                    double lo, double hi, const struct pl_scale *left)
{
    double n = round((left->hi - left->lo) / left->step), first;

    if (n < 2) { /* too few to cover any range from a multiple of a step on */
        pl_scale_fit(s, axis, lo, hi, 2, true);
        return;
    }
    memset(s, 0, sizeof *s);
    widen(axis, &lo, &hi);
    s->step = nice_above((hi - lo) / n);
    first = first_step(axis, s->step, lo, hi, n);
    while (isnan(first)) { /* once: twice the step covers any range */
        s->step = nice_above(1.5 * s->step);
        first = first_step(axis, s->step, lo, hi, n);
    }
    s->lo = first * s->step;
    s->hi = (first + n) * s->step;
    linear_ticks(s, axis);
}

double pl_scale_at(const struct pl_scale *s, double v)
{
    if (s->log)
        return (log(v) - log(s->lo)) / (log(s->hi) - log(s->lo));
    return (v - s->lo) / (s->hi - s->lo);
}

/* ---- texts ---- */

static void add_superscript(struct str *out, int k)
{
    static const char *const digit[] = {
        "\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",
        "\xe2\x81\xb4", "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7",
        "\xe2\x81\xb8", "\xe2\x81\xb9"};
    int unit = 100;

    if (k < 0)
        str_add(out, "\xe2\x81\xbb");
    k = k < 0 ? -k : k;
    while (unit > 1 && unit > k)
        unit /= 10;
    for (; unit > 0; unit /= 10)
        str_add(out, digit[k / unit % 10]);
}

static void add_log_tick(struct str *out, const struct pl_scale *s, double v)
{
    int k = decade(v * (1 + slack));
    double m = v / power10(k);

    if (!s->scientific) {
        pl_add_number(out, v, k < 0 ? -k : 0, true);
        return;
    }
    if (m > 1.5) {
        pl_add_number(out, m, 0, false);
        str_add(out, "\xc3\x97"); /* times */
    }
    str_add(out, "10");
    add_superscript(out, k);
}

/* In full: it is no round number. */
static void add_given_tick(struct str *out, double v)
{
    if (v == floor(v) && fabs(v) < 1e9)
        pl_add_number(out, v, 0, true);
    else
        str_add_double(out, v);
}

void pl_scale_add_tick(struct str *out, const struct pl_scale *s, int i)
{
    if (s->given)
        add_given_tick(out, s->tick[i]);
    else if (s->log)
        add_log_tick(out, s, s->tick[i]);
    else
        pl_add_number(out, s->tick[i] / power10(s->exponent), s->decimals,
                      true);
}

void pl_scale_add_label(struct str *out, const struct pl_scale *s,
                        const char *label)
{
    str_add(out, label ? label : "");
    if (s->exponent == 0)
        return;
    str_add(out, label && label[0] ? " (\xc3\x97"
                                     "10"
                                   : "\xc3\x97"
                                     "10");
    add_superscript(out, s->exponent);
    if (label && label[0])
        str_addc(out, ')');
}
