/* Ctrl-C and SIGTERM. */
#ifndef CMD_SIGNALS_H
#define CMD_SIGNALS_H

/* From now on the first SIGINT or SIGTERM is remembered, and a second one
 * ends the process at once. */
void signals_catch(void);
/* The signal that came, or 0. */
int signals_caught(void);

#endif
