#include "tests/fuzz/fuzz_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the process, so that a name in a file leads to nothing but that file. */
static char folder[] = "/tmp/fuzz-XXXXXX";
static int n_open = -1; /* -1: there is no folder yet */

static void remove_folder(void)
{
    (void)rmdir(folder);
}

void fuzz_file_open(struct fuzz_file *f, const uint8_t *data, size_t size)
{
    int fd;

    if (n_open < 0) {
        if (!mkdtemp(folder) || atexit(remove_folder) != 0)
            abort();
        n_open = 0;
    }
    (void)snprintf(f->path, sizeof f->path, "%s/%d", folder, n_open++);
    fd = open(f->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd) != 0)
        abort();
}

void fuzz_file_close(struct fuzz_file *f)
{
    (void)unlink(f->path);
    n_open--;
}
