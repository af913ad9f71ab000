/* What the host tells the device before a step: its scalars and, of a set that
 * lies there, the rows of its batch. One copy from pinned memory takes both;
 * the host fills one piece of it while copies out of others may be under way.
 */
#ifndef CUDA_UPLOAD_H
#define CUDA_UPLOAD_H

#include "cuda/cuda_backend.h"

struct batch; /* cuda_input_parts.h */

/* So many rows lie behind the scalars; more of them lie elsewhere and are a
 * copy of their own. */
enum { CUDA_UPLOAD_ROWS = 16384 };

/* cu->upload and cu->scalars, all zero. */
int cuda_upload_new(struct cuda *cu, struct err *err);
void cuda_upload_free(struct cuda *cu);

/* Notes scalars, for the next copy. */
void cuda_upload_note(struct cuda *cu, const struct cuda_scalars *v);
/* Copies those that were noted and not copied yet. */
int cuda_upload_scalars(struct cuda *cu, struct err *err);

/* Where CUDA_UPLOAD_ROWS rows lie on the device. */
int64_t *cuda_upload_place(const struct cuda *cu);
/* Copies the rows of a batch to their place on the device. */
int cuda_upload_rows(struct cuda *cu, const struct batch *b, int64_t *place,
                     struct err *err);

#endif
