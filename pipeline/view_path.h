/* What a request may ask of `pipeline view`, and how its answer is labelled.
 * Nothing here touches a file. */
#ifndef PIPELINE_VIEW_PATH_H
#define PIPELINE_VIEW_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/str.h"

#define VIEW_PERFETTO "https://ui.perfetto.dev"

enum view_kind {
    VIEW_PICTURE,
    VIEW_PAGE, /* HTML */
    VIEW_REPORT,
    VIEW_TABLE,
    VIEW_TRACE, /* what Perfetto opens */
    VIEW_FILE,  /* all else */
    VIEW_KINDS
};

/* Takes a request's path apart: "/a%20b/c" is the file "a b/c", "/" is "", and
 * "/a/" is "a" with *folder set. False: the escapes are broken, or a part is
 * empty, begins with a dot (so ".." as well), or holds a control character or
 * a slash. *rel is to be freed either way. */
bool view_path_parse(struct str *rel, bool *folder, const char *url);

/* Whether a Host header names this server: 127.0.0.1 or localhost, at that
 * port. A page elsewhere whose name was made to point at 127.0.0.1 sends
 * another (DNS rebinding). NULL is wrong too. */
bool view_host_is_ours(const char *host, int port);

enum view_kind view_kind_of(const char *name);
/* For Content-Type. A gzipped trace is a file of gzip: Perfetto unpacks it. */
const char *view_content_type(const char *name);

/* A file's path below the root as a URL has it, without the first slash. */
void view_add_url(struct str *out, const char *rel);
/* The link that has Perfetto's page fetch that file from 127.0.0.1:port. */
void view_add_perfetto(struct str *out, int port, const char *rel);

#endif
