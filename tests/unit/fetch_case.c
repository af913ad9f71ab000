#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/hash.h"
#include "tests/unit/fetch_case.h"

enum { CONTENTS = 100000, PACKED_MAX = 120000 };

static char dir[] = "/tmp/test_fetch_http_XXXXXX";
char fetch_packed_sha[65];
size_t fetch_packed_len;
static char contents[CONTENTS], contents_sha[65];
static pid_t server;
static int server_in = -1;
int fetch_port, fetch_tls_port;
static int n_cases;

/* ---- the server ---- */

void in_dir(char out[128], const char *name)
{
    (void)snprintf(out, 128, "%s/%s", dir, name);
}

static void start_server(void)
{
    char self[512], payload[128], log[128], cert[128], line[32] = "";
    int in[2], out[2];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 16);
    char *name;

    assert_true(n > 0);
    self[n] = '\0';
    name = strrchr(self, '/');
    (void)snprintf(name, sizeof self - (size_t)(name - self), "/faultd");
    in_dir(payload, "payload");
    in_dir(log, "log");
    in_dir(cert, "cert.pem");
    assert_int_equal(pipe(in) | pipe(out), 0);
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        (void)dup2(in[0], 0);
        (void)dup2(out[1], 1);
        (void)close(in[1]);
        (void)execl(self, self, payload, log, cert, (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    server_in = in[1];
    assert_true(read(out[0], line, sizeof line - 1) > 0);
    assert_int_equal(sscanf(line, "%d %d", &fetch_port, &fetch_tls_port), 2);
    (void)close(out[0]);
}

int requests(const char *path, char ranges[256])
{
    char log[128], line[256], want[128], range[64];
    int n = 0;
    FILE *f;

    ranges[0] = '\0';
    in_dir(log, "log");
    f = fopen(log, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        assert_int_equal(sscanf(line, "%127s %63s", want, range), 2);
        if (strcmp(want, path) != 0)
            continue;
        if (strlen(ranges) + strlen(range) + 2 < 256)
            (void)snprintf(ranges + strlen(ranges), 256 - strlen(ranges),
                           "%s%s", n ? " " : "", range);
        n++;
    }
    (void)fclose(f);
    return n;
}

/* ---- fetching ---- */

static bool on_progress(void *user, const char *name, uint64_t done,
                        uint64_t total)
{
    const struct attempt *a = user;

    (void)name;
    if (a->stop_waiting && done == 0 && total == 0)
        return false;
    return a->stop_at == 0 || done < a->stop_at;
}

static void on_note(void *user, const char *line)
{
    struct attempt *a = user;

    str_addf(&a->notes, "%s\n", line);
}

static void set_address(struct attempt *a, int i)
{
    const char *m = a->mirror[i];
    bool tls = strncmp(m, "https:", 6) == 0;
    int to = tls ? fetch_tls_port : strcmp(m, "refused:") == 0 ? 1 : fetch_port;
    char below[64];

    (void)snprintf(below, sizeof below, "/%s/%d-%d", m + (tls ? 6 : 0), n_cases,
                   i);
    (void)snprintf(a->path[i], 128, "%s/x.gz", below);
    (void)snprintf(a->address[i], 160, "%s://127.0.0.1:%d%s",
                   tls ? "https" : "http", to, below);
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void prepare(struct attempt *a)
{
    char name[32];
    int i;

    a->live = mem_live();
    (void)snprintf(name, sizeof name, "cache%d", ++n_cases);
    in_dir(a->cache, name);
    for (i = 0; i < 3 && a->mirror[i]; i++)
        set_address(a, i);
}

int fetch(struct attempt *a)
{
    const char *mirrors[3];
    struct pl_data_file file = {
        .role = "train",
        .path = "x.gz",
        .sha256 = a->no_sha ? NULL : fetch_packed_sha,
        .sha256_unpacked = a->pinned ? contents_sha : NULL,
        .size = a->no_size ? 0 : (int64_t)fetch_packed_len};
    struct pl_dataset ds = {.name = "d", .files = {&file, 1}};
    struct pl_fetch_opts o = {.cache = a->cache,
                              .connect_timeout = 2,
                              .stall_timeout = 0.5,
                              .retries = a->retries,
                              .backoff = 0.001,
                              .max_bytes = 1000000,
                              .mirror = a->first,
                              .cacert = a->cacert,
                              .public_only = a->public_only,
                              .progress = on_progress,
                              .note = on_note,
                              .user = a};
    double start = now();
    int rc;

    for (ds.mirrors.n = 0; ds.mirrors.n < 3 && a->mirror[ds.mirrors.n];
         ds.mirrors.n++)
        mirrors[ds.mirrors.n] = a->address[ds.mirrors.n];
    ds.mirrors.items = mirrors;
    memset(&a->err, 0, sizeof a->err);
    rc = pl_fetch_dataset(&a->got, &ds, &o, &a->err);
    a->seconds = now() - start;
    return rc;
}

void check_contents(const struct attempt *a)
{
    char *got;
    size_t len;

    assert_int_equal(a->got.n, 1);
    assert_string_equal(a->got.file[0].sha256, contents_sha);
    assert_int_equal(
        io_read_file(&got, &len, a->got.file[0].path, 1 << 20, NULL), 0);
    assert_int_equal(len, CONTENTS);
    assert_memory_equal(got, contents, CONTENTS);
    mem_free(got);
}

int count_files(const char *cache, const char *sub)
{
    char path[256];
    struct dirent *e;
    int n = 0;
    DIR *d;

    (void)snprintf(path, sizeof path, "%s/%s", cache, sub);
    d = opendir(path);
    while (d && (e = readdir(d)) != NULL)
        n += e->d_name[0] != '.';
    if (d)
        (void)closedir(d);
    return n;
}

void end(struct attempt *a)
{
    pl_fetched_free(&a->got);
    str_free(&a->notes);
    assert_int_equal(mem_live(), a->live);
}

void expect_good(struct attempt a, int n, const char *ranges)
{
    char seen[256];

    prepare(&a);
    if (fetch(&a) != 0)
        fail_msg("%s: %s", a.mirror[0], a.err.msg);
    check_contents(&a);
    assert_int_equal(count_files(a.cache, "partial"), 0);
    assert_int_equal(requests(a.path[0], seen), n);
    if (ranges)
        assert_string_equal(seen, ranges);
    end(&a);
}

void expect_bad(struct attempt a, int n, const char *reason)
{
    struct attempt again = a;
    char seen[256];

    prepare(&a);
    assert_int_equal(fetch(&a), ERR_FETCH);
    if (!strstr(a.err.msg, reason))
        fail_msg("%s: '%s' lacks '%s'", a.mirror[0], a.err.msg, reason);
    assert_non_null(strstr(a.err.msg, "cannot fetch 'd/x.gz': no mirror gave "
                                      "it\n  http"));
    assert_non_null(strstr(a.notes.text, reason));
    assert_int_equal(requests(a.path[0], seen), n);
    assert_int_equal(count_files(a.cache, "sha256"), 0);
    end(&a);

    again.mirror[1] = "good";
    again.retries = 0;
    prepare(&again);
    if (fetch(&again) != 0)
        fail_msg("%s, then good: %s", a.mirror[0], again.err.msg);
    check_contents(&again);
    assert_int_equal(count_files(again.cache, "partial"), 0);
    end(&again);
}

pid_t fetch_apart(struct attempt *a)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(-fetch(a));
    return pid;
}

static void make_payload(void)
{
    static unsigned char packed[PACKED_MAX];
    char path[128];
    z_stream z = {0};
    uint32_t x = 1;
    size_t i;

    for (i = 0; i < CONTENTS; i++) {
        x = x * 1664525 + 1013904223;
        contents[i] = (char)('0' + (x >> 24) % 10);
    }
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
    z.next_in = (unsigned char *)contents;
    z.avail_in = CONTENTS;
    z.next_out = packed;
    z.avail_out = PACKED_MAX;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    fetch_packed_len = z.total_out;
    (void)deflateEnd(&z);
    assert_int_equal(
        pl_hash_bytes(fetch_packed_sha, packed, fetch_packed_len, NULL), 0);
    assert_int_equal(pl_hash_bytes(contents_sha, contents, CONTENTS, NULL), 0);
    in_dir(path, "payload");
    assert_int_equal(io_write_file(path, packed, fetch_packed_len, NULL), 0);
}

int fetch_set_up(void **state)
{
    (void)state;
    if (!mkdtemp(dir) || setenv("no_proxy", "127.0.0.1", 1) != 0)
        return -1;
    make_payload();
    start_server();
    return 0;
}

int fetch_tear_down(void **state)
{
    char command[128];

    (void)state;
    (void)close(server_in);
    (void)waitpid(server, NULL, 0);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}
