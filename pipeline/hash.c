#include "pipeline/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/mem.h"

enum { READ_SIZE = 1 << 18 };

struct pl_hash {
    EVP_MD_CTX *ctx;
    bool failed; /* then the hash is "", which equals no other */
};

int pl_hash_new(struct pl_hash **out, struct err *err)
{
    struct pl_hash *h = mem_zalloc(sizeof *h);

    *out = NULL;
    if (h)
        h->ctx = EVP_MD_CTX_new();
    if (!h || !h->ctx || EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) != 1) {
        pl_hash_free(h);
        return err_set(err, ERR_NOMEM, "out of memory for a SHA-256 sum");
    }
    *out = h;
    return 0;
}

void pl_hash_add(struct pl_hash *h, const void *data, size_t len)
{
    if (EVP_DigestUpdate(h->ctx, data, len) != 1)
        h->failed = true;
}

void pl_hash_end(struct pl_hash *h, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    size_t i;

    if (EVP_DigestFinal_ex(h->ctx, sum, &n) != 1 || h->failed)
        n = 0;
    for (i = 0; i < n && i < 32; i++) {
        hex[2 * i] = digits[sum[i] >> 4];
        hex[2 * i + 1] = digits[sum[i] & 15];
    }
    hex[2 * i] = '\0';
    pl_hash_free(h);
}

void pl_hash_free(struct pl_hash *h)
{
    if (!h)
        return;
    EVP_MD_CTX_free(h->ctx);
    mem_free(h);
}

int pl_hash_bytes(char hex[65], const void *data, size_t len, struct err *err)
{
    struct pl_hash *h;
    int rc = pl_hash_new(&h, err);

    hex[0] = '\0';
    if (rc != 0)
        return rc;
    pl_hash_add(h, data, len);
    pl_hash_end(h, hex);
    return 0;
}

static int add_file(struct pl_hash *h, uint64_t *bytes, int fd,
                    const char *path, struct err *err)
{
    char *buf = mem_alloc(READ_SIZE);
    ssize_t got;

    *bytes = 0;
    if (!buf)
        return err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
    while ((got = read(fd, buf, READ_SIZE)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        pl_hash_add(h, buf, (size_t)got);
        *bytes += (uint64_t)got;
    }
    mem_free(buf);
    if (got < 0)
        return err_sys(err, "cannot read '%s' at offset %llu", path,
                       (unsigned long long)*bytes);
    return 0;
}

/* A pipe without a writer must not hang us, and has no content of its own. */
static int check_regular(int fd, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return err_sys(err, "cannot read '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_IO, "'%s' is not a regular file", path);
    return 0;
}

int pl_hash_file(char hex[65], uint64_t *bytes, const char *path,
                 struct err *err)
{
    struct pl_hash *h = NULL;
    uint64_t n;
    int fd, rc;

    hex[0] = '\0';
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(err, "cannot open '%s'", path);
    rc = check_regular(fd, path, err);
    if (rc == 0)
        rc = pl_hash_new(&h, err);
    if (rc == 0)
        rc = add_file(h, bytes ? bytes : &n, fd, path, err);
    if (rc == 0)
        pl_hash_end(h, hex);
    else
        pl_hash_free(h);
    (void)close(fd);
    return rc;
}
