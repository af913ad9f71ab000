/* The page that `pipeline view` shows of a folder. */
#ifndef PIPELINE_VIEW_PAGE_H
#define PIPELINE_VIEW_PAGE_H

#include "nn/base/str.h"
#include "pipeline/view_files.h"

struct view_page {
    int fd;           /* the folder's, the caller's */
    const char *name; /* what PATH was called */
    const char *rel;  /* the folder below it, "" or "q3/profile" */
    int port;         /* for the links to Perfetto */
    const char *only; /* the one file that is shown; NULL: all */
};

/* One HTML file that loads only pictures beside it. ERR_NOMEM. */
int view_page_html(struct str *out, const struct view_page *p, struct err *err);

#endif
