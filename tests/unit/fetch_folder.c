#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/fetch_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/hash.h"

const char fetch_text[] = "a,b\n1,2\n3,4\n";
static char dir[] = "/tmp/test_fetch_XXXXXX";
char fetch_text_sha[65], fetch_packed_sha[65];

static bool on_progress(void *user, const char *name, uint64_t done,
                        uint64_t total)
{
    (void)name;
    (void)done;
    (void)total;
    return !((struct job *)user)->stop;
}

static void on_note(void *user, const char *line)
{
    str_addf(&((struct job *)user)->notes, "%s\n", line);
}

void begin(struct job *j, const char *path)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf %s/* && mkdir %s/m0 %s/m1",
                   dir, dir, dir);
    assert_int_equal(system(command), 0);
    memset(j, 0, sizeof *j);
    j->live = mem_live();
    j->mirrors[0] = j->mirror[0];
    j->mirrors[1] = j->mirror[1];
    (void)snprintf(j->mirror[0], 64, "%s/m0", dir);
    (void)snprintf(j->mirror[1], 64, "%s/m1", dir);
    (void)snprintf(j->cache, 64, "%s/cache", dir);
    j->file = (struct pl_data_file){.role = "train", .path = path};
    j->ds.name = "d";
    j->ds.files = (struct pl_list){&j->file, 1};
    j->ds.mirrors = (struct pl_list){j->mirrors, 2};
    j->opts = (struct pl_fetch_opts){
        .cache = j->cache, .progress = on_progress, .note = on_note, .user = j};
}

int fetch(struct job *j)
{
    pl_fetched_free(&j->got);
    str_clear(&j->notes);
    err_clear(&j->err);
    return pl_fetch_dataset(&j->got, &j->ds, &j->opts, &j->err);
}

void end(struct job *j)
{
    pl_fetched_free(&j->got);
    str_free(&j->notes);
    assert_int_equal(mem_live(), j->live);
}

const char *at(const char *sub, const char *name)
{
    static char buf[4][256];
    static int i;

    i = (i + 1) % 4;
    (void)snprintf(buf[i], sizeof buf[i], "%s/%s/%s", dir, sub, name);
    return buf[i];
}

void put(const char *sub, const char *name, const void *data, size_t n)
{
    assert_int_equal(io_write_file(at(sub, name), data, n, NULL), 0);
}

size_t pack(unsigned char *out, size_t size, const char *text, size_t n)
{
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
    z.next_in = (unsigned char *)text;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    (void)deflateEnd(&z);
    return z.total_out;
}

size_t put_packed(const char *sub, const char *name)
{
    unsigned char packed[256];
    size_t n = pack(packed, sizeof packed, fetch_text, strlen(fetch_text));

    put(sub, name, packed, n);
    return n;
}

static void check_text(const struct job *j)
{
    char *got;
    size_t len;

    assert_int_equal(j->got.n, 1);
    assert_string_equal(j->got.file[0].role, "train");
    assert_string_equal(j->got.file[0].sha256, fetch_text_sha);
    assert_int_equal(j->got.file[0].bytes, strlen(fetch_text));
    assert_string_equal(pl_fetched_path(&j->got, "train"), j->got.file[0].path);
    assert_null(pl_fetched_path(&j->got, "test"));
    assert_int_equal(io_read_file(&got, &len, j->got.file[0].path, 999, NULL),
                     0);
    assert_string_equal(got, fetch_text);
    mem_free(got);
}

int count(const char *sub)
{
    DIR *d = opendir(at(sub, ""));
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)) != NULL)
        n += e->d_name[0] != '.';
    if (d)
        (void)closedir(d);
    return n;
}

void expect_good(struct job *j)
{
    int rc = fetch(j);

    if (rc != 0)
        fail_msg("%s", j->err.msg);
    check_text(j);
    assert_int_equal(count("cache/partial"), 0);
}

void expect_bad(struct job *j, int code, const char *part)
{
    assert_int_equal(fetch(j), code);
    if (!strstr(j->err.msg, part))
        fail_msg("'%s' lacks '%s'", j->err.msg, part);
    assert_int_equal(j->got.n, 0);
}

int fetch_set_up(void **state)
{
    unsigned char packed[256];
    size_t n = pack(packed, sizeof packed, fetch_text, strlen(fetch_text));

    (void)state;
    if (pl_hash_bytes(fetch_text_sha, fetch_text, strlen(fetch_text), NULL) !=
            0 ||
        pl_hash_bytes(fetch_packed_sha, packed, n, NULL) != 0)
        return -1;
    return mkdtemp(dir) ? 0 : -1;
}

int fetch_tear_down(void **state)
{
    char command[64];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}
