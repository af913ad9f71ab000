#include "tests/fuzz/fuzz_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_file_open(struct fuzz_file *f, const uint8_t *data, size_t size)
{
    f->fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (f->fd < 0 || write(f->fd, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
}

void fuzz_file_close(struct fuzz_file *f)
{
    (void)close(f->fd);
}
