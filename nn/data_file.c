#include "nn/data_file.h"

#include <string.h>

/* What a download or a wrong path leaves in place of data. */
static const struct {
    const char *bytes;
    size_t n;
    const char *problem;
} foreign[] = {
    {"\x1f\x8b", 2, "is gzip-compressed; give the unpacked file"},
    {"BZh", 3, "is bzip2-compressed; give the unpacked file"},
    {"\xfd"
     "7zXZ\0",
     6, "is xz-compressed; give the unpacked file"},
    {"\x28\xb5\x2f\xfd", 4, "is zstd-compressed; give the unpacked file"},
    {"PK\x03\x04", 4, "is a zip archive; give the unpacked file"},
    {"\xff\xfe", 2, "is UTF-16 text; save it as UTF-8"},
    {"\xfe\xff", 2, "is UTF-16 text; save it as UTF-8"},
};

/* A page of a server instead of the file: '<' after white space. */
static int is_markup(const struct io_map *map)
{
    size_t i = 0;

    while (i < map->len && map->data[i] && strchr(" \t\r\n", map->data[i]))
        i++;
    return i < map->len && map->data[i] == '<';
}

static const char *problem_of(const struct io_map *map)
{
    size_t i;

    if (map->len == 0)
        return "is empty";
    for (i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (map->len >= foreign[i].n &&
            memcmp(map->data, foreign[i].bytes, foreign[i].n) == 0)
            return foreign[i].problem;
    if (is_markup(map))
        return "is a web page (HTML or XML), not data";
    return NULL;
}

int nn_data_file_open(struct io_map *map, const char *path, struct err *err)
{
    const char *problem;
    int rc = io_map_open(map, path, err);

    if (rc != 0)
        return rc;
    problem = problem_of(map);
    if (!problem)
        return 0;
    io_map_close(map);
    return err_set(err, ERR_CORRUPT, "%s: the file %s", path, problem);
}
