/* Coroutines with stacks of their own, all in one OS thread. */
#ifndef CUSIM_FIBER_H
#define CUSIM_FIBER_H

#include <stdbool.h>

struct cusim_fiber;

/* A fiber at rest whose next step is body; body parks and never returns. */
struct cusim_fiber *fiber_get(void (*body)(void));
/* The fiber that runs goes back to those at rest; control to the main one. */
void fiber_park(void);
void fiber_switch(struct cusim_fiber *to);
struct cusim_fiber *fiber_current(void);
struct cusim_fiber *fiber_main(void);
/* Everything unfinished is forgotten; called by the main fiber. */
void fiber_reset(void);
/* Whether p lies on the running fiber's own stack. */
bool fiber_on_stack(const void *p);

#endif
