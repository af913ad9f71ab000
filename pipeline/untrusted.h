/* What a config from a stranger must not ask for. */
#ifndef PIPELINE_UNTRUSTED_H
#define PIPELINE_UNTRUSTED_H

#include <stdbool.h>

#include "pipeline/config_load.h"

enum {
    PL_UNTRUSTED_EPOCHS = 1000,       /* of all stages together */
    PL_UNTRUSTED_STAGES = 100,        /* cells included */
    PL_UNTRUSTED_SECONDS = 900,       /* a stage */
    PL_UNTRUSTED_RETRIES = 3,         /* a stage */
    PL_UNTRUSTED_BYTES = 1 << 30,     /* fetched, of all data sets */
    PL_UNTRUSTED_WEIGHTS = 100000000, /* of a model's linear layers */
    PL_UNTRUSTED_SAMPLES = 100000000  /* numbers of a synthetic data set */
};

/* True if the session trusts its files, or path (links followed) is a file or
 * folder below that of the config, in the cache, or in the results; else an
 * error at loc. What does not exist is judged by where it would be. */
bool pl_untrusted_path(struct pl_loader *l, const char *path,
                       struct pl_loc loc);

/* Checks what was read, and imposes a time on every stage. */
void pl_untrusted_check(struct pl_loader *l);

/* True for the host of an address that is known not to be in the public
 * network: a number, localhost, a name without a dot or of a local domain. */
bool pl_internal_host(const char *host, size_t len);

#endif
