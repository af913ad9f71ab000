#include "cmd/signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"

/* The one variable of the program that changes: a handler gets no other way
 * to leave word. */
static volatile sig_atomic_t caught;

static void handle(int sig)
{
    if (caught)
        _exit(EXIT_SIGNAL + sig);
    caught = sig;
}

void signals_catch(void)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = handle;
    sa.sa_flags = SA_RESTART;
    (void)sigemptyset(&sa.sa_mask);
    (void)sigaction(SIGINT, &sa, NULL);
    (void)sigaction(SIGTERM, &sa, NULL);
}

int signals_caught(void)
{
    return caught;
}
