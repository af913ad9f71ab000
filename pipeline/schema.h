/* Tables that say what a config may hold. One table drives the checker, the
 * defaults, the canonical text (for fingerprints and resolved.yaml), help and
 * the JSON Schema. */
#ifndef PIPELINE_SCHEMA_H
#define PIPELINE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/arena.h"
#include "nn/base/str.h"
#include "pipeline/diag.h"
#include "pipeline/node.h"

/* What a field takes, and the C type at its offset. */
enum pl_type {
    PL_T_BOOL,     /* bool */
    PL_T_INT,      /* int64_t, within min..max */
    PL_T_NUMBER,   /* double, finite, within min..max */
    PL_T_STRING,   /* const char * */
    PL_T_ENUM,     /* int, index into choices */
    PL_T_PATH,     /* const char *, made absolute or relative to the cwd; a
                      relative one is relative to the file it stands in */
    PL_T_PLACE,    /* const char *: a path as above, or an http(s) address */
    PL_T_DURATION, /* double seconds: 90, "90s", "15m", "2h" */
    PL_T_SIZE,     /* int64_t bytes: 4096, "16KiB", "4GiB" */
    PL_T_SHA256,   /* const char *, 64 hex digits, lower case */
    PL_T_DATASET,  /* const char *, a name in datasets */
    PL_T_MODEL,    /* const char *, a name in models */
    PL_T_STAGE,    /* const char *, a name in stages; makes an edge; choices:
                      the kinds it may be of */
    PL_T_OPERATOR, /* const char *, a name in operators, or one of choices */
    PL_T_STRUCT,   /* the struct of sub, embedded; PL_F_POINTER: a pointer to
                      it, NULL when absent */
    PL_T_LIST,     /* struct pl_list of what elem and sub, choices say */
    PL_T_NAMED,    /* struct pl_list of sub from a map; the key goes to the
                      const char * at sub->name_offset; choices: the keys that
                      there are, else any name */
    PL_T_NODE      /* const struct pl_node *, unchecked */
};

enum pl_field_flags {
    PL_F_REQUIRED = 1,
    PL_F_POINTER = 2, /* PL_T_STRUCT behind a pointer; PL_T_LIST of one bare
                         value may be written without brackets: PL_F_ONE */
    PL_F_ONE = 4,
    PL_F_OPEN_MIN = 8,  /* value > min instead of >= min */
    PL_F_OPEN_MAX = 16, /* value < max */
    PL_F_GROUP = 32,    /* PL_T_STAGE: a stage with a matrix may be named, for
                           all its cells */
    PL_F_OWN = 64,      /* may stand with an own operator at `type` too, where
                           it is not required */
    PL_F_GPU = 128      /* ENUM of a stage's `with`: how a GPU works. No input
                           of results that were made on the CPU */
};

struct pl_list {
    void *items; /* array of elements; const char *const * for strings */
    size_t n;
};

struct pl_field {
    const char *name;
    enum pl_type type;
    size_t offset;
    unsigned flags;
    const char *def; /* as it would stand in the file; a list: its words, with
                        blanks between; NULL: zero value. A number outside of
                        min..max means "not given" */
    double min, max; /* both 0: no bounds */
    const char *const *choices; /* ENUM, STRING: NULL-terminated */
    size_t own; /* ENUM: where the name (const char *) of an operator of the
                   file goes, which may stand in place of a choice and makes the
                   int the number of choices; 0: none may */
    enum pl_type elem;           /* PL_T_LIST */
    const struct pl_schema *sub; /* STRUCT, NAMED, LIST of STRUCT */
    const char *when;            /* "adam adamw": only with these `type` */
    const char *help;            /* one sentence, lower case */
    const char *example;
};

struct pl_schema {
    const char *name; /* "train", "optimizer" */
    const char *help;
    const struct pl_field *fields;
    size_t n_fields;
    size_t size;           /* of the C struct */
    const char *short_key; /* a bare scalar x stands for {short_key: x} */
    size_t name_offset;    /* PL_T_NAMED: where the key goes */
    size_t node_offset;    /* where the struct pl_node * of it goes */
    bool has_node;
};

#define PL_FIELDS(a) .fields = (a), .n_fields = sizeof(a) / sizeof *(a)

/* Names that references are checked against. */
struct pl_names {
    const char *const *datasets, *const *models, *const *stages;
    size_t n_datasets, n_models, n_stages;
    const char *const *operators; /* of the file's own */
    size_t n_operators;
    const char *const *stage_uses; /* the kinds of the stages; or NULL */
    const size_t *stage_cells;     /* 0, or how many cells the stage stands for;
                                      they follow it in the list; or NULL */
    bool stages_unknown;           /* after an error: stages are not checked */
};

/* Fills out (schema->size bytes) from node (NULL or a map; anything else is an
 * error), defaults included. Every mistake goes to d; where says what holds
 * it: "stages.train.with". Memory from arena. Returns the number of errors it
 * added. */
size_t pl_schema_read(const struct pl_schema *schema, void *out,
                      const struct pl_node *node, const char *where,
                      const struct pl_names *names, struct arena *arena,
                      struct pl_diag *d);

/* The values of a filled struct as YAML flow text in table order, defaults
 * included, numbers shortest: equal content gives equal text. Left out: fields
 * that do not apply to the type, and values that say "not given". */
void pl_schema_canonical(const struct pl_schema *schema, const void *in,
                         struct str *out);

/* The field called name, or NULL. */
const struct pl_field *pl_schema_field(const struct pl_schema *schema,
                                       const char *name);
enum { PL_MAX_FIELDS = 64 }; /* of a table */
/* The names of the fields that apply to type (NULL: all); how many. */
size_t pl_schema_names(const struct pl_schema *schema, const char *type,
                       const char *names[PL_MAX_FIELDS]);
/* True if word is one of the words in words; words NULL: true. */
bool pl_field_applies(const char *words, const char *word);

/* Calls fn for every value of type (PL_T_DATASET, PL_T_MODEL, PL_T_STAGE,
 * PL_T_OPERATOR: those that stand in place of a choice too) that a filled
 * struct holds. */
void pl_schema_visit(const struct pl_schema *schema, const void *in,
                     enum pl_type type,
                     void (*fn)(void *user, const char *value), void *user);

/* True if name is [A-Za-z][A-Za-z0-9_-]{0,63}; else an error at loc. what:
 * "stage", "dataset". */
bool pl_name_check(const char *name, const char *what, struct pl_loc loc,
                   struct pl_diag *d);

/* The path that a scalar of type PL_T_PATH or PL_T_PLACE stands for; NULL: out
 * of memory. */
const char *pl_schema_path(const struct pl_node *scalar, struct arena *a);

/* Bytes of one value of type in memory. */
size_t pl_type_size(enum pl_type type, const struct pl_schema *sub);

#endif
