/* What the fuzz targets share. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The entry point that libFuzzer and fuzz_driver.c call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file in memory that holds data, for code that takes a path. */
struct fuzz_file {
    int fd;
    char path[32];
};
void fuzz_file_open(struct fuzz_file *f, const uint8_t *data, size_t size);
void fuzz_file_close(struct fuzz_file *f);

#endif
