/* A checkpoint file in a temporary folder, and how it is read. */
#ifndef TESTS_CKPT_FIXTURE_H
#define TESTS_CKPT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/ckpt.h"

static char folder[256];
static char path[300];

static inline int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/test-ckpt-XXXXXX",
                   tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof path, "%s/a.safetensors", folder);
    /* So that memory inside jansson is counted and fails on demand too. */
    json_set_alloc_funcs(mem_alloc, mem_free);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static inline void put_bytes(const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* A file as another program may write it. */
static inline void put_file(const char *header, const void *numbers, size_t n)
{
    unsigned char buf[1024] = {0};
    size_t len = strlen(header);

    assert_true(8 + len + n <= sizeof buf);
    buf[0] = (unsigned char)(len & 255);
    buf[1] = (unsigned char)(len >> 8);
    memcpy(buf + 8, header, len);
    memcpy(buf + 8 + len, numbers, n);
    put_bytes(buf, 8 + len + n);
}

static inline int read_back(struct err *err)
{
    struct nn_ckpt *c;
    long live = mem_live();
    int rc = nn_ckpt_read(&c, path, err);

    if (rc != 0)
        assert_null(c);
    nn_ckpt_free(c);
    assert_int_equal(mem_live(), live);
    return rc;
}

/* The file at path is refused as corrupt, naming it and what is wrong. */
static inline void expect_corrupt(const char *what)
{
    struct err err = {0};

    assert_int_equal(read_back(&err), ERR_CORRUPT);
    if (!strstr(err.msg, what) || !strstr(err.msg, path))
        fail_msg("'%s' is not in: %s", what, err.msg);
}

#endif
