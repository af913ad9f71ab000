/* The checker inside: what its files share. */
#ifndef CHECK_H
#define CHECK_H

#include "tests/cuda/fake.h"

enum { CHECK_READ = 1, CHECK_WRITE = 2, CHECK_ATOMIC = 4 };

/* Who came last to 4 bytes. */
struct mark {
    uint32_t launch, seq, block, pc; /* pc: from the start of the image */
    uint16_t epoch, warp_epoch, thread;
    uint8_t slot; /* of the stream */
    uint8_t bits; /* which of the 4 bytes, and flags */
};

struct cell {
    struct mark write, read;
};

struct access {
    const char *p;
    size_t n;
    int how; /* CHECK_... */
    const void *pc;
    const char *who; /* host work: its name */
};

/* Where an access goes. */
struct target {
    struct cell *cells; /* of the whole piece of memory */
    uint8_t *init;      /* a bit a byte: written to */
    size_t offset;
    unsigned id; /* of the allocation */
    bool shared;
    const char *name;
};

/* A load or store of a kernel (check_hooks.c). */
void check_access(const void *p, size_t n, int how, const void *pc);

/* check_target.c: finds the memory; false, and a report, if there is none. A
 * kernel's access that has no right to be there ends the launch. */
bool check_locate(const struct access *a, uint32_t launch, struct target *t);
bool check_locate_global(const struct access *a, struct target *t);
/* One report for each place in the code. */
void check_report(const struct access *a, const char *kind, const char *text);
const char *check_verb(const struct access *a);

#endif
