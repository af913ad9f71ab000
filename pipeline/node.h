/* The user's file as a tree in which every node knows where it stands. */
#ifndef PIPELINE_NODE_H
#define PIPELINE_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/arena.h"

/* A text that positions point into: a file, or one command-line override. */
struct pl_file {
    const char *path; /* as the user gave it; "command line" for overrides */
    const char *text;
    size_t len;
    const char *dir; /* where relative paths in it begin; NULL: the cwd */
    char sha256[65]; /* of the file as it was read; "" for what is no file */
};

/* Where line number `line` (from 1) begins. A line ends with LF, CR or both. */
const char *pl_file_line(const struct pl_file *f, int line);

/* 1-based line and column (in characters); len characters are underlined.
 * file NULL: built in, no place to show. */
struct pl_loc {
    const struct pl_file *file;
    int line, col, len;
};

enum pl_node_kind { PL_NULL, PL_SCALAR, PL_MAP, PL_SEQ };

struct pl_pair {
    const char *key;
    struct pl_loc key_loc;
    struct pl_node *value;
};

/* Lives in the config's arena. Scalars keep their text: types come from the
 * schema. Nodes are shared (by aliases and references) and never changed once
 * they are whole. */
struct pl_node {
    enum pl_node_kind kind;
    struct pl_loc loc;
    const char *text; /* scalar, NUL-terminated, without inner NULs */
    size_t len;
    bool quoted;            /* scalar in quotes or a block scalar */
    struct pl_pair *pairs;  /* map, in file order */
    struct pl_node **items; /* sequence */
    size_t n;               /* pairs or items */
    size_t weight; /* nodes of this tree, aliases expanded, keys not counted */
    int depth;     /* levels below: 0 for a scalar */
    struct pl_pair **sorted; /* large maps: by key, for pl_node_pair */
    bool bad;            /* PL_NULL in place of what an error was told about */
    bool removed;        /* PL_NULL that takes an inherited key away (~path) */
    const char *written; /* scalar made from what is not to be shown, as
                            ${env...}: as in the file */
    bool pending;        /* scalar with ${matrix...} in it, `$${` and all:
                            what it is depends on the cell */
    const char *stage;   /* scalar made from ${stages.x.dir}: x */
};

/* Nesting that a file, or what references make of it, may have. */
enum { PL_MAX_DEPTH = 64, PL_MAX_NODES = 100000 };

/* New nodes; NULL: out of memory. */
struct pl_node *pl_node_scalar(struct arena *a, const char *text,
                               struct pl_loc loc);
struct pl_node *pl_node_map(struct arena *a, size_t capacity,
                            struct pl_loc loc);
struct pl_node *pl_node_seq(struct arena *a, size_t capacity,
                            struct pl_loc loc);
/* Appends to a map or sequence with room for it. */
void pl_node_add(struct pl_node *map, const char *key, struct pl_loc key_loc,
                 struct pl_node *value);
void pl_node_push(struct pl_node *seq, struct pl_node *item);
/* Ends the building of a map or sequence: weight, depth, the sorted index.
 * false: out of memory. */
bool pl_node_finish(struct pl_node *node, struct arena *a);

/* The value of key, or NULL. */
struct pl_node *pl_node_get(const struct pl_node *map, const char *key);
/* The pair of key (the first of them), or NULL. */
struct pl_pair *pl_node_pair(const struct pl_node *map, const char *key);
/* Where key stands in map, or other where it does not. */
struct pl_loc pl_node_key_loc(const struct pl_node *map, const char *key,
                              struct pl_loc other);

/* "a map", "a list", "'text'" (shortened; what the file says, never the value
 * of an environment variable), "nothing": for messages. */
const char *pl_node_words(const struct pl_node *node, char buf[80]);

#endif
