#include "pipeline/facts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double pl_clock(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void pl_time_now(char text[PL_TIME_LEN])
{
    time_t now = time(NULL);
    struct tm tm;

    if (!gmtime_r(&now, &tm) ||
        strftime(text, PL_TIME_LEN, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        text[0] = '\0';
}

void pl_host_name(char text[PL_HOST_LEN])
{
    if (gethostname(text, PL_HOST_LEN) != 0)
        (void)snprintf(text, PL_HOST_LEN, "unknown");
    text[PL_HOST_LEN - 1] = '\0';
}

/* The text behind the colon of "model name\t: ...", without its newline. */
static void take_value(char text[PL_HOST_LEN], const char *line)
{
    const char *colon = strchr(line, ':');

    if (!colon)
        return;
    colon += 1 + strspn(colon + 1, " \t");
    (void)snprintf(text, PL_HOST_LEN, "%.*s", (int)strcspn(colon, "\n"), colon);
}

void pl_cpu_name(char text[PL_HOST_LEN])
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];

    (void)snprintf(text, PL_HOST_LEN, "unknown");
    if (!f)
        return;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "model name", 10) == 0) {
            take_value(text, line);
            break;
        }
    }
    (void)fclose(f);
}
