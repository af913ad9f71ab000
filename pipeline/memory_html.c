/* The page: one file that loads nothing. The events are JSON in it, columns of
 * numbers; a script draws them (memory_page.c, memory_script.c). */
#include <inttypes.h>
#include <string.h>

#include "pipeline/chart_svg.h"
#include "pipeline/json_file.h"
#include "pipeline/memory_page.h"
#include "pipeline/memory_timeline.h"

static void add_all(struct str *out, const char *const *text)
{
    for (; *text; text++)
        str_add(out, *text);
}

/* JSON inside of a script element: nothing in it may look like a tag. */
static void add_text(struct str *out, const char *text)
{
    struct str json = {0};
    size_t i;

    pl_json_add_text(&json, text);
    for (i = 0; i < json.len; i++) {
        unsigned char c = (unsigned char)json.text[i];

        if (c == '<' || c == '>' || c == '&')
            str_addf(out, "\\u%04x", c);
        else
            str_addc(out, (char)c);
    }
    out->failed = out->failed || json.failed;
    str_free(&json);
}

static void add_tensors(struct str *out, const struct nn_step_memory *m)
{
    char shape[96];
    size_t i;

    str_add(out, "\"tensors\":[");
    for (i = 0; i < m->n_tensor; i++) {
        const struct nn_memory_tensor *t = &m->tensor[i];

        str_add(out, i ? ",\n[" : "\n[");
        add_text(out, t->name);
        str_addf(out, ",\"%s\",\"%s\",%d,%" PRId64 "]",
                 nn_shape_text(&t->shape, shape, sizeof shape),
                 nn_dtype_name(t->dtype), (int)t->kind, t->bytes);
    }
    str_add(out, "],\n");
}

enum column { AT, TENSOR, ACTION, STEP, CALL, PHASE, EVENT_COLUMNS };

static int64_t cell(const struct nn_step_memory *m, size_t i, enum column c)
{
    const struct nn_memory_event *e = &m->event[i];

    switch (c) {
    case AT:
        return e->at - m->begin;
    case TENSOR:
        return e->tensor;
    case ACTION:
        return (int)e->action;
    case STEP:
        return e->step;
    case CALL:
        return e->call;
    default:
        return (int)e->phase;
    }
}

static void add_events(struct str *out, const struct nn_step_memory *m)
{
    static const char *const names[] = {"at",   "tensor", "action",
                                        "step", "call",   "phase"};
    size_t i;
    int c;

    for (c = 0; c < EVENT_COLUMNS; c++) {
        str_addf(out, "\"%s\":[", names[c]);
        for (i = 0; i < m->n_event; i++)
            str_addf(out, i ? ",%" PRId64 : "%" PRId64,
                     cell(m, i, (enum column)c));
        str_add(out, "],\n");
    }
}

static void add_spans(struct str *out, const struct nn_step_memory *m)
{
    size_t i;

    str_add(out, "\"spans\":[");
    for (i = 0; i < m->n_span; i++) {
        const struct nn_memory_span *p = &m->span[i];
        int call = (p->step - m->first_step) * m->n_call + p->call;

        str_addf(out, "%s[%d,%d,%" PRId64 ",%" PRId64 ",%d,%d]", i ? "," : "",
                 p->step, (int)p->phase, p->begin - m->begin, p->end - m->begin,
                 call, call + p->n_call);
    }
    str_add(out, "]}");
}

static void add_run(struct str *out, const struct pl_memory_run *run)
{
    const struct nn_step_memory *m = run->memory;

    str_add(out, "{\"label\":");
    add_text(out, run->label);
    str_addf(out,
             ",\"timed\":%s,\"first\":%d,\"steps\":%d,\"perStep\":%d,"
             "\"end\":%" PRId64 ",\"held\":%" PRId64 ",\"padding\":%" PRId64
             ",\"workspace\":%" PRId64 ",\"resident\":%" PRId64 ",\n",
             m->timed ? "true" : "false", m->first_step, m->n_step, m->n_call,
             m->end - m->begin, m->held, m->padding, run->workspace,
             run->resident);
    add_tensors(out, m);
    add_events(out, m);
    add_spans(out, m);
}

static void add_data(struct str *out, const struct pl_memory_runs *runs)
{
    size_t i;
    int k;

    str_add(out, "<script type=\"application/json\" id=\"data\">\n"
                 "{\"kinds\":[");
    for (k = 0; k < NN_MEMORY_KINDS; k++)
        str_addf(out, "%s\"%s\"", k ? "," : "",
                 nn_memory_kind_name((enum nn_memory_kind)k));
    str_add(out, "],\"phases\":[");
    for (k = 0; k < NN_PHASE_COUNT; k++)
        str_addf(out, "%s\"%s\"", k ? "," : "",
                 nn_phase_name((enum nn_phase)k));
    str_add(out, "],\n\"runs\":[");
    for (i = 0; i < runs->n; i++) {
        str_add(out, i ? ",\n" : "");
        add_run(out, &runs->run[i]);
    }
    str_add(out, "]}\n</script>\n");
}

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
    "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src "
    "data:\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n";

static const char body[] =
    "<p id=\"peak\"></p>\n"
    "<div class=\"bar\">\n"
    "<label>run <select id=\"run\"></select></label>\n"
    "<label>axis <select id=\"axis\"><option value=\"time\">time</option>"
    "<option value=\"call\">calls</option></select></label>\n"
    "<button id=\"in\" type=\"button\">zoom in</button>\n"
    "<button id=\"out\" type=\"button\">zoom out</button>\n"
    "<button id=\"all\" type=\"button\">whole run</button>\n"
    "<button id=\"top\" type=\"button\">to the peak</button>\n"
    "</div>\n"
    "<div class=\"bar\" id=\"kinds\" role=\"group\" aria-label=\"what is "
    "drawn\"></div>\n"
    "<div id=\"view\">\n"
    "<canvas id=\"plot\" tabindex=\"0\" role=\"application\" "
    "aria-label=\"Memory over the run, bytes by kind\" "
    "aria-describedby=\"peak keys\"></canvas>\n"
    "<div id=\"tip\" hidden></div>\n"
    "</div>\n"
    "<div id=\"said\" role=\"status\" aria-live=\"polite\" "
    "style=\"position:absolute;width:1px;height:1px;overflow:hidden;"
    "clip-path:inset(50%)\"></div>\n"
    "<p id=\"keys\" class=\"soft\">Wheel or + and - zoom, drag or shift and "
    "arrows move, 0 shows the whole run. In the picture: left and right go "
    "from event to event, up and down from tensor to tensor, p to the "
    "peak.</p>\n"
    "<details id=\"words\"><summary>The same as a table: the most of each "
    "kind in every phase</summary><div class=\"wide\"><table "
    "id=\"table\"></table></div></details>\n"
    "<noscript><p>The picture needs JavaScript; the SVG file beside this page "
    "does not.</p></noscript>\n";

void pl_memory_html(const struct pl_memory_runs *runs, struct str *out)
{
    str_add(out, head);
    str_add(out, "<title>");
    svg_add_escaped(out, runs->title, strlen(runs->title));
    str_add(out, "</title>\n<style>\n");
    add_all(out, pl_memory_style);
    str_add(out, "</style>\n</head>\n<body>\n<h1>");
    svg_add_escaped(out, runs->title, strlen(runs->title));
    str_add(out, "</h1>\n");
    if (runs->simulated)
        str_add(out, "<p id=\"simulated\"><strong>" PL_MEMORY_SIMULATED
                     "</strong></p>\n");
    str_add(out, body);
    add_data(out, runs);
    str_add(out, "<script>\n");
    add_all(out, pl_memory_drawing);
    add_all(out, pl_memory_actions);
    str_add(out, "</script>\n</body>\n</html>\n");
}
