/* Replays a corpus through a fuzz target without a fuzzing engine, and with
 * each file a number of mutants of it, the same ones every time: cut short,
 * and with bytes changed. TAP, one point a file; a crash fails the program.
 *
 *     build/asan/bin/replay_NAME [FILE...]   default tests/fuzz/corpus/NAME */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "tests/fuzz/fuzz_file.h"

enum { N_CUTS = 64, N_CHANGES = 192, MAX_BYTES = 1 << 20 };

/* xorshift64: the mutants need no better one. */
static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void cut(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < N_CUTS; i++)
        (void)LLVMFuzzerTestOneInput(data, size * i / N_CUTS);
}

static void change(uint8_t *data, size_t size)
{
    uint64_t state = 0x9e3779b97f4a7c15u ^ size;

    for (int i = 0; i < N_CHANGES && size > 0; i++) {
        size_t at = (size_t)(next(&state) % size);
        uint8_t old = data[at];

        data[at] = (uint8_t)next(&state);
        (void)LLVMFuzzerTestOneInput(data, size);
        data[at] = old;
    }
}

static int replay(const char *path)
{
    struct err err = {0};
    char *data;
    size_t size;

    if (io_read_file(&data, &size, path, MAX_BYTES, &err) != 0) {
        (void)printf("# %s\n", err.msg);
        return -1;
    }
    (void)LLVMFuzzerTestOneInput((uint8_t *)data, size);
    cut((uint8_t *)data, size);
    change((uint8_t *)data, size);
    mem_free(data);
    return 0;
}

static int replay_all(char **paths, size_t n)
{
    int failed = n == 0;

    (void)printf("1..%zu\n", n);
    for (size_t i = 0; i < n; i++) {
        int rc = replay(paths[i]);

        (void)printf("%s %zu - %s\n", rc ? "not ok" : "ok", i + 1, paths[i]);
        (void)fflush(stdout);
        failed |= rc != 0;
    }
    return failed;
}

int main(int argc, char **argv)
{
    const char *name = strstr(argv[0], "replay_");
    char pattern[256];
    glob_t found;
    int failed;

    if (argc > 1)
        return replay_all(argv + 1, (size_t)argc - 1);
    (void)snprintf(pattern, sizeof pattern, "tests/fuzz/corpus/%s/*",
                   name ? name + strlen("replay_") : "");
    if (glob(pattern, 0, NULL, &found) != 0) {
        (void)fprintf(stderr, "no corpus: %s\n", pattern);
        return EXIT_FAILURE;
    }
    failed = replay_all(found.gl_pathv, found.gl_pathc);
    globfree(&found);
    return failed;
}
