/* The fixed texts of the page that pl_memory_html makes: CSS, and one script
 * in two parts that follow each other. Each list ends with NULL. */
#ifndef PIPELINE_MEMORY_PAGE_H
#define PIPELINE_MEMORY_PAGE_H

extern const char *const pl_memory_style[];
extern const char *const pl_memory_drawing[];
extern const char *const pl_memory_actions[];

#endif
