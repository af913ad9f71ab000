#include "cmd/signals.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"

/* The one variable of the program that changes (and when it did): a handler
 * gets no other way to leave word. */
static volatile sig_atomic_t caught;
static struct timespec caught_at;

/* Some tools send a signal to the child and to its group: what comes within
 * half a second of the first is the same wish. */
static int is_repeat(void)
{
    struct timespec now;
    long ms;

    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0;
    ms = (long)(now.tv_sec - caught_at.tv_sec) * 1000 +
         (now.tv_nsec - caught_at.tv_nsec) / 1000000;
    return ms < 500;
}

static void handle(int sig)
{
    if (caught && !is_repeat())
        _exit(EXIT_SIGNAL + sig);
    if (caught)
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &caught_at);
    caught = sig;
}

static void catch_one(int sig)
{
    struct sigaction was, sa;

    /* Started by nohup: a hang-up stays ignored. */
    if (sig == SIGHUP && sigaction(sig, NULL, &was) == 0 &&
        was.sa_handler == SIG_IGN)
        return;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handle;
    sa.sa_flags = SA_RESTART;
    (void)sigemptyset(&sa.sa_mask);
    (void)sigaction(sig, &sa, NULL);
}

void signals_catch(void)
{
    catch_one(SIGINT);
    catch_one(SIGTERM);
    catch_one(SIGHUP);
    /* A file that may not grow is then an error of write, with its name. */
    (void)signal(SIGXFSZ, SIG_IGN);
}

int signals_caught(void)
{
    return caught;
}
