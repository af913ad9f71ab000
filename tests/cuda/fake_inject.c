#include "tests/cuda/fake_inject.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTIONS = 256 };

static struct {
    pthread_mutex_t lock;
    struct {
        const char *fn;
        unsigned long calls;
    } count[FUNCTIONS];
} inject = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned long count_call(const char *fn)
{
    unsigned long calls = 0;
    unsigned i = 0;

    pthread_mutex_lock(&inject.lock);
    while (i < FUNCTIONS && inject.count[i].fn &&
           strcmp(inject.count[i].fn, fn) != 0)
        i++;
    if (i < FUNCTIONS) {
        inject.count[i].fn = fn;
        calls = ++inject.count[i].calls;
    }
    pthread_mutex_unlock(&inject.lock);
    return calls;
}

int fake_injected(const char *fn)
{
    const char *s = getenv("FAKE_CUDA_FAIL");
    unsigned long calls = count_call(fn), at;
    size_t n = strlen(fn);
    char *end;

    for (; s && *s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
        if (strncmp(s, fn, n) != 0 || s[n] != '@')
            continue;
        at = strtoul(s + n + 1, &end, 10);
        if (at == calls && *end == '=')
            return (int)strtol(end + 1, NULL, 10);
    }
    return 0;
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("FAKE_CUDA_COUNT");
    FILE *out = path ? fopen(path, "a") : NULL;

    if (!out)
        return;
    for (unsigned i = 0; i < FUNCTIONS && inject.count[i].fn; i++)
        fprintf(out, "%s %lu\n", inject.count[i].fn, inject.count[i].calls);
    (void)fclose(out);
}
