#include "pipeline/compare_tracks.h"

#include <math.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/op.h"
#include "pipeline/chart_svg.h"
#include "pipeline/compare_text.h"
#include "pipeline/csv_table.h"
#include "pipeline/profile_track.h"

/* Pixels. */
enum { MARGIN = 14, LINE = 20, ROW_GAP = 6, BLOCK_GAP = 14 };
enum { MAX_LANES = 12 }; /* of one profile */

/* A row of last_step.csv. */
struct slice {
    const char *track, *name, *layer, *phase;
    double begin, end; /* us */
};

struct lane {
    const char *name;
    bool shown;
};

struct profile {
    const char *label;
    struct slice *slice;
    size_t n;
    struct lane lane[MAX_LANES]; /* in the order of the file */
    size_t n_lanes;
    double step; /* us that it takes */
};

struct picture {
    struct track track;
    struct profile *profile;
    size_t n;
    bool device; /* of streams, not of operators */
    double end;  /* us: where the scale ends */
};

/* ---- reading ---- */

static bool is_stream(const char *track)
{
    return strncmp(track, "stream", 6) == 0;
}

static int find_columns(const struct pl_csv *t, size_t at[6], struct err *err)
{
    static const char *const names[] = {"track", "name",     "layer",
                                        "phase", "begin_us", "end_us"};
    int i, rc = 0;

    for (i = 0; rc == 0 && i < 6; i++)
        rc = pl_csv_find(t, names[i], &at[i], err);
    return rc;
}

static int read_slice(struct slice *s, const struct pl_csv *t, size_t row,
                      const size_t at[6], struct err *err)
{
    int rc;

    s->track = pl_csv_text(t, row, at[0]);
    s->name = pl_csv_text(t, row, at[1]);
    s->layer = pl_csv_text(t, row, at[2]);
    s->phase = pl_csv_text(t, row, at[3]);
    rc = pl_csv_number(t, row, at[4], &s->begin, err);
    if (rc == 0)
        rc = pl_csv_number(t, row, at[5], &s->end, err);
    if (rc == 0 && !(s->end >= s->begin))
        rc = err_set(err, ERR_CORRUPT, "line %zu of %s ends before it begins",
                     row + 2, io_basename(t->path));
    return rc;
}

static void add_lane(struct profile *p, const char *name)
{
    size_t i = 0;

    while (i < p->n_lanes && strcmp(p->lane[i].name, name) != 0)
        i++;
    if (i == p->n_lanes && i < MAX_LANES)
        p->lane[p->n_lanes++].name = name;
}

static int read_profile(struct profile *p, const struct pl_compare_cells *cells,
                        size_t i, struct err *err)
{
    const char *path = pl_compare_path(cells, i, PL_LAST_STEP_FILE);
    struct pl_csv t;
    size_t at[6];
    int rc;

    if (path && !io_exists(path))
        return err_set(err, ERR_CONFIG, "'%s' has left no %s",
                       cells->cell[i].id, PL_LAST_STEP_FILE);
    rc = path ? pl_csv_read(&t, path, cells->arena, err) : ERR_NOMEM;
    if (rc == 0)
        rc = find_columns(&t, at, err);
    if (rc != 0)
        return rc;
    p->label = cells->cell[i].label;
    p->slice = arena_array(cells->arena, t.rows + 1, sizeof *p->slice);
    if (!p->slice)
        return ERR_NOMEM;
    for (; rc == 0 && p->n < t.rows; p->n++) {
        struct slice *s = &p->slice[p->n];

        rc = read_slice(s, &t, p->n, at, err);
        if (rc == 0)
            add_lane(p, s->track);
        if (rc == 0 && strcmp(s->track, "step") == 0)
            p->step = s->end - s->begin;
    }
    return rc;
}

/* Streams where every profile has one, else operators. */
static void choose_lanes(struct picture *c)
{
    size_t i, k;

    c->device = true;
    for (i = 0; i < c->n; i++) {
        bool any = false;

        for (k = 0; k < c->profile[i].n_lanes; k++)
            any = any || is_stream(c->profile[i].lane[k].name);
        c->device = c->device && any;
    }
    for (i = 0; i < c->n; i++)
        for (k = 0; k < c->profile[i].n_lanes; k++) {
            struct lane *t = &c->profile[i].lane[k];

            t->shown = strcmp(t->name, "step") == 0 ||
                       strcmp(t->name, "phase") == 0 ||
                       (c->device ? is_stream(t->name)
                                  : strcmp(t->name, "operator") == 0);
        }
}

static bool is_on(const struct slice *s, const struct lane *t)
{
    return t->shown && strcmp(s->track, t->name) == 0;
}

static void find_end(struct picture *c)
{
    size_t i, j, k;

    for (i = 0; i < c->n; i++)
        for (k = 0; k < c->profile[i].n_lanes; k++)
            for (j = 0; j < c->profile[i].n; j++) {
                const struct slice *s = &c->profile[i].slice[j];

                if (is_on(s, &c->profile[i].lane[k]))
                    c->end = fmax(c->end, s->end);
            }
}

/* ---- drawing ---- */

static int64_t ns(double us)
{
    return us > 0 ? (int64_t)llround(1e3 * us) : 0;
}

static void add_name(struct str *out, const struct slice *s)
{
    if (is_stream(s->track))
        pl_add_kernel_name(out, s->name);
    else
        str_add(out, s->name);
    if (s->layer[0])
        str_addf(out, " %s", s->layer);
}

/* A bar, and its name where there is room; what it is and how long it takes are
 * told to who points at it. */
static void add_slice(struct picture *c, const struct slice *s, double y)
{
    bool phase = strcmp(s->track, "phase") == 0;
    double w = TRACK_PLOT * (s->end - s->begin) / c->end;
    double middle = TRACK_LEFT + TRACK_PLOT * (s->begin + s->end) / 2 / c->end;
    struct str name = {0}, tip = {0};

    add_name(&name, s);
    str_addf(&tip, "%s ", s->name);
    pl_add_figure(&tip, s->end - s->begin);
    str_add(&tip, " us");
    if (name.failed || tip.failed) {
        c->track.out->failed = true;
    } else {
        const struct track_slice bar = {.begin = ns(s->begin),
                                        .end = ns(s->end),
                                        .name = tip.text,
                                        .phase = phase ? s->name : s->phase,
                                        .number = -1};

        track_bar(&c->track, &bar, y);
        if (svg_width(name.text, name.len, SVG_TEXT) < w - 6)
            track_text(&c->track, middle, y + 20, "middle", name.text);
    }
    str_free(&name);
    str_free(&tip);
}

static const char *lane_label(const char *track)
{
    return strcmp(track, "phase") == 0      ? "phases"
           : strcmp(track, "operator") == 0 ? "operators"
                                            : track;
}

static double add_profile(struct picture *c, const struct profile *p, double y)
{
    struct svg_place at = {.x = TRACK_LEFT,
                           .y = y + 14,
                           .anchor = "start",
                           .class = "title",
                           .width = TRACK_PLOT};
    struct str head = {0};
    size_t i, k;

    str_addf(&head, "%s: a step of ", p->label);
    pl_add_figure(&head, p->step);
    str_add(&head, " us");
    svg_add_text(c->track.out, &at, head.text ? head.text : "");
    c->track.out->failed = c->track.out->failed || head.failed;
    str_free(&head);
    y += LINE + 2;
    for (k = 0; k < p->n_lanes; k++) {
        if (!p->lane[k].shown)
            continue;
        track_text(&c->track, TRACK_LEFT - 10, y + 20, "end",
                   lane_label(p->lane[k].name));
        for (i = 0; i < p->n; i++)
            if (is_on(&p->slice[i], &p->lane[k]))
                add_slice(c, &p->slice[i], y);
        y += TRACK_BAR + ROW_GAP;
    }
    return y + BLOCK_GAP;
}

/* Which colour is which phase. */
static double add_legend(struct picture *c, double y)
{
    double x = TRACK_LEFT;
    int i;

    for (i = NN_PHASE_H2D; i < NN_PHASE_COUNT; i++) {
        const char *name = nn_phase_name((enum nn_phase)i);
        int colour = track_colour(name);

        str_addf(c->track.out, "<rect class=\"s%d f%d\" fill-opacity=\".22\"",
                 colour, colour);
        svg_add_attr(c->track.out, "x", x);
        svg_add_attr(c->track.out, "y", y - 10);
        str_add(c->track.out, " width=\"12\" height=\"12\"/>\n");
        track_text(&c->track, x + 18, y + 1, "start", name);
        x += 18 + svg_width(name, strlen(name), SVG_TEXT) + 22;
    }
    return y + LINE;
}

static void draw(struct str *out, struct picture *c, const char *title,
                 bool simulated)
{
    struct str body = {0};
    double y = MARGIN + svg_title_height(title, TRACK_WIDTH - 40) + ROW_GAP;
    size_t i;

    find_end(c);
    if (!(c->end > 0))
        c->end = 1;
    track_begin(&c->track, &body, 0, ns(c->end));
    for (i = 0; i < c->n; i++)
        y = add_profile(c, &c->profile[i], y);
    y = add_legend(c, track_axis(&c->track, y) + LINE + 4);
    track_frame(out, &body, y, title, simulated);
    str_free(&body);
}

int pl_tracks_svg(struct str *out, const struct pl_compare_cells *cells,
                  const char *about, bool simulated, struct err *err)
{
    struct picture c = {.n = cells->n};
    struct str title = {0};
    size_t i;
    int rc = 0;

    c.profile = arena_array(cells->arena, cells->n, sizeof *c.profile);
    if (!c.profile)
        rc = ERR_NOMEM;
    for (i = 0; rc == 0 && i < cells->n; i++)
        rc = read_profile(&c.profile[i], cells, i, err);
    if (rc == 0) {
        choose_lanes(&c);
        str_addf(&title, "%s track of the last steps, on one scale: %s",
                 c.device ? "GPU" : "CPU", about);
        draw(out, &c, title.text ? title.text : "", simulated);
    }
    if (rc == ERR_NOMEM || title.failed || out->failed)
        rc = err_set(err, ERR_NOMEM, "out of memory drawing tracks");
    str_free(&title);
    return rc;
}
