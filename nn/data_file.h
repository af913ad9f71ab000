/* Data files, mapped: what the readers of IDX and CSV share. */
#ifndef NN_DATA_FILE_H
#define NN_DATA_FILE_H

#include "nn/base/err.h"
#include "nn/base/io.h"

/* Maps path and refuses what cannot be a data file: an empty file, an archive
 * or packed file, a web page. ERR_CORRUPT says which. On failure *map is
 * empty. */
int nn_data_file_open(struct io_map *map, const char *path, struct err *err);

#endif
