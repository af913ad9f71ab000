/* bench_command TIMES COMMAND...: runs a command several times and prints what
 * it costs: the median of the wall-clock seconds, the fastest, the slowest, and
 * the peak of memory. Its output goes to standard error. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_TIMES = 100 };

struct cost {
    double seconds;
    long peak_kib;
};

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run_once(char **command, struct cost *cost)
{
    double begin = now();
    struct rusage usage;
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        (void)dup2(STDERR_FILENO, STDOUT_FILENO);
        (void)execvp(command[0], command);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return -1;
    cost->seconds = now() - begin;
    cost->peak_kib = usage.ru_maxrss;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int faster(const void *a, const void *b)
{
    double x = ((const struct cost *)a)->seconds;
    double y = ((const struct cost *)b)->seconds;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct cost cost[MAX_TIMES];
    long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    long peak = 0;

    if (n < 1 || n > MAX_TIMES) {
        (void)fprintf(stderr, "usage: bench_command TIMES COMMAND...\n");
        return 2;
    }
    for (long i = 0; i < n; i++) {
        if (run_once(argv + 2, &cost[i]) != 0) {
            (void)fprintf(stderr, "bench_command: %s failed\n", argv[2]);
            return 1;
        }
        if (cost[i].peak_kib > peak)
            peak = cost[i].peak_kib;
    }
    qsort(cost, (size_t)n, sizeof *cost, faster);
    (void)printf("%8.3f s (%.3f to %.3f, %ld runs) %6ld MiB\n",
                 cost[n / 2].seconds, cost[0].seconds, cost[n - 1].seconds, n,
                 peak / 1024);
    return 0;
}
