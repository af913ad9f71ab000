#include "pipeline/real_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"

bool pl_real_path(char out[PATH_MAX], const char *path)
{
    char *part = mem_strdup(path), *slash;
    size_t kept, rest;

    while (part && !realpath(part[0] ? part : ".", out)) {
        slash = strrchr(part, '/');
        if (errno != ENOENT || strcmp(slash ? slash + 1 : part, "..") == 0 ||
            strcmp(slash ? slash + 1 : part, ".") == 0) {
            mem_free(part);
            return false;
        }
        if (slash == part)
            part[slash[1] ? 1 : 0] = '\0';
        else
            *(slash ? slash : part) = '\0';
    }
    if (!part)
        return false;
    kept = strlen(part);
    mem_free(part);
    rest = strlen(path + kept);
    if (rest == 0)
        return true;
    if (strlen(out) + 1 + rest >= PATH_MAX)
        return false;
    if (path[kept] != '/' && out[strlen(out) - 1] != '/')
        memcpy(out + strlen(out), "/", 2);
    memcpy(out + strlen(out), path + kept, rest + 1);
    return true;
}

bool pl_is_below(const char *real, const char *folder)
{
    char base[PATH_MAX];
    size_t len;

    if (!folder || !pl_real_path(base, folder))
        return false;
    len = strlen(base);
    return strncmp(real, base, len) == 0 &&
           (real[len] == '\0' || real[len] == '/' || len == 1);
}
