/* The clock and the machine: what may stand in stage.json, the lock file and
 * log.txt, and nowhere else. */
#ifndef PIPELINE_FACTS_H
#define PIPELINE_FACTS_H

enum { PL_TIME_LEN = 24, PL_HOST_LEN = 96 };

double pl_clock(void);                    /* seconds, never going back */
void pl_time_now(char text[PL_TIME_LEN]); /* "2026-01-31T12:00:00Z" */
void pl_host_name(char text[PL_HOST_LEN]);
void pl_cpu_name(char text[PL_HOST_LEN]); /* "unknown" if it cannot be told */

#endif
