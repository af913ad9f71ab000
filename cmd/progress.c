#include "cmd/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmd/cmd.h"
#include "cmd/term.h"

/* Seconds between two updates, and what must be known before a rate is. */
static const double bar_period = 0.1, plain_period = 10, rate_after = 0.3;

static double clock_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void add_bytes(struct str *out, double n)
{
    if (n < 1e6)
        str_addf(out, "%.0f kB", n / 1e3);
    else
        str_addf(out, "%.1f MB", n / 1e6);
}

static void add_rate(struct str *out, double rate, const char *unit)
{
    str_add(out, "  ");
    if (strcmp(unit, "B") == 0) {
        add_bytes(out, rate);
        str_add(out, "/s");
    } else
        str_addf(out, rate < 10 ? "%.1f %ss/s" : "%.0f %ss/s", rate, unit);
}

static void add_time(struct str *out, double seconds)
{
    long s = seconds < 1e7 ? (long)(seconds + 0.5) : 10000000;

    if (s >= 3600)
        str_addf(out, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        str_addf(out, "%ld:%02ld", s / 60, s % 60);
}

void progress_text(struct str *out, const char *stage,
                   const struct pl_progress *now, double elapsed, double since)
{
    double rate = elapsed >= rate_after ? since / elapsed : 0;

    str_addf(out, "%s  %s", stage, now->text);
    if (now->total > 0)
        str_addf(out, "  %.0f%%", 100 * now->done / now->total);
    if (rate > 0) {
        add_rate(out, rate, now->unit);
        if (now->total > now->done) {
            str_add(out, "  ETA ");
            add_time(out, (now->total - now->done) / rate);
        }
    }
}

/* Another stage, another unit or a smaller number: the rate begins anew. */
static void follow(struct progress *p, const char *stage,
                   const struct pl_progress *now, double t)
{
    if (strcmp(p->stage, stage) != 0 || strcmp(p->unit, now->unit) != 0 ||
        now->done < p->done) {
        (void)snprintf(p->stage, sizeof p->stage, "%s", stage);
        (void)snprintf(p->unit, sizeof p->unit, "%s", now->unit);
        p->begin = t;
        p->begin_done = now->done;
        if (p->mode == PROGRESS_PLAIN)
            p->last = t;
    }
    p->done = now->done;
}

/* As many characters as fit, whole ones. */
static void print_fitting(const char *text, size_t columns)
{
    size_t n = 0, bytes = 0;

    while (text[bytes]) {
        n += ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (n > columns)
            break;
        bytes++;
    }
    (void)fprintf(stderr, "\r%.*s\033[K", (int)bytes, text);
    (void)fflush(stderr);
}

void progress_show(struct progress *p, const char *stage,
                   const struct pl_progress *now)
{
    struct str s = {0};
    double t;

    if (p->mode == PROGRESS_NONE)
        return;
    t = clock_now();
    follow(p, stage, now, t);
    if (t - p->last < (p->mode == PROGRESS_BAR ? bar_period : plain_period))
        return;
    p->last = t;
    progress_text(&s, stage, now, t - p->begin, now->done - p->begin_done);
    if (s.failed)
        ; /* a line less harms nobody */
    else if (p->mode == PROGRESS_BAR) {
        print_fitting(s.text, term_columns(stderr) - 1);
        p->shown = true;
    } else
        (void)fprintf(stderr, "%s\n", s.text);
    str_free(&s);
}

void progress_clear(struct progress *p)
{
    if (p->shown)
        (void)fprintf(stderr, "\r\033[K");
    p->shown = false;
}
