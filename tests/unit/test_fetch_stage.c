#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/pipeline.h"
#include "tests/unit/fetch_case.h"

/* A run of one fetch stage, "get", of the server's file. */
struct stage_run {
    struct attempt at; /* its cache and the mirror's address */
    char file[128], out[128];
    struct pl_opts opts;
    double stop_at; /* bytes: a Ctrl-C from then on; 0: none */
    bool stop;
    int n_progress;
    double last_done, last_total;
    struct str log;
    struct err err, stage_err;
    size_t n_run, n_up_to_date;
};

static void on_begin(void *user, const char *device, const char *recipe)
{
    (void)user;
    (void)device;
    (void)recipe;
}

static void on_step(void *user, const struct pl_step *step)
{
    (void)user;
    (void)step;
}

static void on_line(void *user, const char *line)
{
    struct stage_run *r = user;

    str_addf(&r->log, "%s\n", line);
}

static void on_progress(void *user, const char *stage,
                        const struct pl_progress *p)
{
    struct stage_run *r = user;

    assert_string_equal(stage, "get");
    assert_string_equal(p->text, "d/x.gz");
    assert_string_equal(p->unit, "B");
    assert_true(p->done >= 0 && (p->total <= 0 || p->done <= p->total));
    r->n_progress++;
    r->last_done = p->done;
    r->last_total = p->total;
    r->stop = r->stop || (r->stop_at > 0 && p->done >= r->stop_at);
}

static void on_ended(void *user, const char *stage, double seconds)
{
    (void)user;
    (void)stage;
    (void)seconds;
}

static void on_failed(void *user, const char *stage, const struct err *err)
{
    struct stage_run *r = user;

    (void)stage;
    r->stage_err = *err;
}

static bool on_stopping(void *user)
{
    const struct stage_run *r = user;

    return r->stop;
}

/* Writes the config for a mirror that behaves so. */
static void open_run(struct stage_run *r, const char *behaviour, int retries)
{
    struct str s = {0};
    char name[32];

    memset(r, 0, sizeof *r);
    r->at.mirror[0] = behaviour;
    prepare(&r->at);
    assert_int_equal(setenv("PIPELINE_CACHE", r->at.cache, 1), 0);
    (void)snprintf(name, sizeof name, "%s.yaml", strrchr(r->at.cache, '/') + 1);
    in_dir(r->file, name);
    in_dir(r->out, "out");
    str_addf(&s,
             "version: 1\nname: %s\n"
             "datasets:\n  d:\n    type: csv\n    target: y\n"
             "    mirrors: ['%s']\n    files:\n"
             "      train: {path: x.gz, size: %zu, sha256: %s}\n"
             "stages:\n  get:\n    uses: fetch\n"
             "    with: {dataset: d, stall_timeout: 0.5, retries: %d}\n",
             strrchr(r->at.cache, '/') + 1, r->at.address[0], fetch_packed_len,
             fetch_packed_sha, retries);
    assert_int_equal(io_write_file(r->file, s.text, s.len, NULL), 0);
    str_free(&s);
    r->opts = (struct pl_opts){.file = r->file, .out = r->out};
}

static int go(struct stage_run *r)
{
    const struct pl_ui ui = {.user = r,
                             .begin = on_begin,
                             .step = on_step,
                             .say = on_line,
                             .log = on_line,
                             .progress = on_progress,
                             .ended = on_ended,
                             .failed = on_failed,
                             .stopping = on_stopping};
    struct pl_result res = {0};
    struct pl_job *job = NULL;
    struct str mistakes = {0};
    int rc;

    str_clear(&r->log);
    err_clear(&r->err);
    err_clear(&r->stage_err);
    r->n_progress = 0;
    rc = pl_job_open(&job, &r->opts, &r->err);
    if (rc != 0) {
        if (job)
            pl_job_mistakes(job, &mistakes, false);
        if (mistakes.text)
            print_message("%s\n", mistakes.text);
        str_free(&mistakes);
        pl_job_free(job);
        return rc;
    }
    rc = pl_run(job, &ui, &res, &r->err);
    r->n_run = res.n_run;
    r->n_up_to_date = res.n_up_to_date;
    pl_result_free(&res);
    pl_job_free(job);
    return rc;
}

static void close_run(struct stage_run *r)
{
    str_free(&r->log);
    end(&r->at);
}

/* The text of a file that the stage left; mem_free. */
static char *left(const struct stage_run *r, const char *name)
{
    char path[320], *text;
    size_t len;

    (void)snprintf(path, sizeof path, "%s/%s/get/%s", r->out,
                   strrchr(r->at.cache, '/') + 1, name);
    assert_int_equal(io_read_file(&text, &len, path, 1 << 20, NULL), 0);
    return text;
}

static void it_leaves_a_record_and_metrics(void **state)
{
    struct stage_run r;
    char *text, want[512];

    (void)state;
    open_run(&r, "slow", 0);
    if (go(&r) != 0)
        fail_msg("%s", r.err.msg);
    assert_true(r.n_progress > 2);
    assert_true(r.last_total >= (double)fetch_packed_len);
    text = left(&r, "metrics.json");
    assert_non_null(strstr(text, "\"files\": 1"));
    assert_non_null(strstr(text, "\"bytes\": 100000"));
    mem_free(text);
    (void)snprintf(want, sizeof want, "\"sha256\": \"%s\"", fetch_packed_sha);
    text = left(&r, "files.json");
    assert_non_null(strstr(text, want));
    assert_null(strstr(text, "/tmp")); /* nothing about this machine */
    assert_null(strstr(text, "127.0.0.1"));
    mem_free(text);
    text = left(&r, "log.txt");
    assert_non_null(strstr(text, "d/x.gz from http://127.0.0.1:"));
    mem_free(text);
    close_run(&r);
}

static void its_record_is_the_same_every_time(void **state)
{
    char *record[2], *metrics[2];
    int i;

    (void)state;
    for (i = 0; i < 2; i++) {
        struct stage_run r;

        open_run(&r, i ? "cut" : "good", 1); /* and another cache */
        assert_int_equal(go(&r), 0);
        record[i] = left(&r, "files.json");
        metrics[i] = left(&r, "metrics.json");
        r.at.live += 2;
        close_run(&r);
    }
    assert_string_equal(record[0], record[1]);
    assert_string_equal(metrics[0], metrics[1]);
    for (i = 0; i < 2; i++) {
        mem_free(record[i]);
        mem_free(metrics[i]);
    }
}

static void ctrl_c_stops_it_and_it_goes_on_where_it_stood(void **state)
{
    struct stage_run r;
    char seen[256];

    (void)state;
    open_run(&r, "slow", 0);
    r.stop_at = 1000;
    assert_int_equal(go(&r), ERR_INTERRUPTED);
    assert_int_equal(count_files(r.at.cache, "sha256"), 0);
    assert_int_equal(count_files(r.at.cache, "partial"), 1);
    r.stop_at = 0;
    r.stop = false;
    assert_int_equal(go(&r), 0);
    assert_int_equal(r.n_run, 1);
    assert_int_equal(requests(r.at.path[0], seen), 2);
    assert_memory_equal(seen, "- ", 2);
    assert_true(strtol(seen + 2, NULL, 10) >= 1000);
    close_run(&r);
}

static void a_blob_that_is_gone_or_cut_is_fetched_again(void **state)
{
    struct stage_run r;
    char command[320], seen[256];

    (void)state;
    open_run(&r, "good", 0);
    assert_int_equal(go(&r), 0);
    assert_int_equal(go(&r), 0);
    assert_int_equal(r.n_up_to_date, 1);
    (void)snprintf(command, sizeof command,
                   "for f in %s/sha256/*/*; do : >$f; done", r.at.cache);
    assert_int_equal(system(command), 0);
    assert_int_equal(go(&r), 0);
    assert_int_equal(r.n_run, 1);
    (void)snprintf(command, sizeof command, "rm -r %s", r.at.cache);
    assert_int_equal(system(command), 0);
    assert_int_equal(go(&r), 0);
    assert_int_equal(r.n_run, 1);
    assert_int_equal(requests(r.at.path[0], seen), 3);
    close_run(&r);
}

static void offline_uses_what_the_cache_has(void **state)
{
    struct stage_run r;
    char seen[256];

    (void)state;
    open_run(&r, "good", 0);
    r.opts.offline = true;
    assert_int_equal(go(&r), ERR_FETCH);
    assert_non_null(strstr(r.stage_err.msg, "not tried: offline"));
    assert_int_equal(requests(r.at.path[0], seen), 0);
    r.opts.offline = false;
    assert_int_equal(go(&r), 0);
    r.opts.offline = r.opts.force_all = true;
    assert_int_equal(go(&r), 0);
    assert_int_equal(r.n_run, 1);
    assert_int_equal(requests(r.at.path[0], seen), 1);
    close_run(&r);
}

static void the_options_reach_it(void **state)
{
    struct stage_run r;
    struct attempt other = AT("https:good");
    char cert[128], seen[256], agent[160], *log;
    size_t len;

    (void)state;
    open_run(&r, "status-404", 0);
    prepare(&other);
    r.opts.mirror = other.address[0];
    assert_int_equal(go(&r), ERR_FETCH);
    assert_non_null(strstr(r.stage_err.msg, "SSL certificate problem"));
    assert_non_null(strstr(r.stage_err.msg, "HTTP 404"));
    in_dir(cert, "cert.pem");
    r.opts.cacert = cert;
    assert_int_equal(go(&r), 0);
    assert_int_equal(requests(r.at.path[0], seen), 1);
    assert_int_equal(requests(other.path[0], seen), 1);
    in_dir(cert, "log");
    assert_int_equal(io_read_file(&log, &len, cert, 1 << 20, NULL), 0);
    (void)snprintf(agent, sizeof agent, "%s - pipeline/%s\n", other.path[0],
                   PL_VERSION);
    assert_non_null(strstr(log, agent));
    mem_free(log);
    r.opts.mirror = "ftp://x";
    assert_int_equal(go(&r), ERR_CONFIG);
    other.live = mem_live();
    end(&other);
    close_run(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_leaves_a_record_and_metrics),
        cmocka_unit_test(its_record_is_the_same_every_time),
        cmocka_unit_test(ctrl_c_stops_it_and_it_goes_on_where_it_stood),
        cmocka_unit_test(a_blob_that_is_gone_or_cut_is_fetched_again),
        cmocka_unit_test(offline_uses_what_the_cache_has),
        cmocka_unit_test(the_options_reach_it),
    };

    return cmocka_run_group_tests(tests, fetch_set_up, fetch_tear_down);
}
