/* The machine's memory, in bytes; 0: it cannot be told. */
#ifndef PIPELINE_MEMORY_FACTS_H
#define PIPELINE_MEMORY_FACTS_H

struct pl_memory {
    double total, available;
    double limit; /* of this process's control group; 0: none */
};

void pl_memory_read(struct pl_memory *out);

#endif
