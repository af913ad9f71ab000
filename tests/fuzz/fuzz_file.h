/* What the fuzz targets share. */
#ifndef TESTS_FUZZ_FILE_H
#define TESTS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The entry point that libFuzzer and fuzz_driver.c call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file that holds data, for code that takes a path, alone in its folder. */
struct fuzz_file {
    char path[32];
};
void fuzz_file_open(struct fuzz_file *f, const uint8_t *data, size_t size);
/* The last one opened first. */
void fuzz_file_close(struct fuzz_file *f);

#endif
