/* The double's checks: each bug of planted.cu is found, at its line; what is
 * right gives no report. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char source[] = "tests/cuda/planted.cu";

struct outcome {
    int status; /* as of exit, or 128 + the signal */
    char text[16384];
};

/* The program of that name beside this one. */
static void beside(char *out, size_t size, const char *name)
{
    char self[512];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(n > 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    (void)snprintf(out, size, "%s/%s", self, name);
}

static void run(struct outcome *o, const char *env, const char *program,
                const char *planted)
{
    char path[600], cmd[900];
    FILE *in;
    size_t n;
    int rc;

    beside(path, sizeof path, program);
    (void)snprintf(cmd, sizeof cmd, "%s %s %s 2>&1", env, path, planted);
    in = popen(cmd, "r");
    assert_non_null(in);
    n = fread(o->text, 1, sizeof o->text - 1, in);
    o->text[n] = '\0';
    rc = pclose(in);
    o->status = WIFEXITED(rc) ? WEXITSTATUS(rc) : 128 + WTERMSIG(rc);
}

/* The line that is marked with the bug's name. */
static int line_of(const char *bug)
{
    char line[200], mark[80], below[80];
    FILE *in = fopen(source, "r");
    int n = 0, found = 0;

    assert_non_null(in);
    (void)snprintf(mark, sizeof mark, "BUG: %s *", bug);
    (void)snprintf(below, sizeof below, "BUG below: %s *", bug);
    while (!found && fgets(line, sizeof line, in)) {
        n++;
        if (strstr(line, mark))
            found = n;
        if (strstr(line, below))
            found = n + 1;
    }
    (void)fclose(in);
    assert_int_not_equal(found, 0);
    return found;
}

static const char *const orders[] = {"forward", "random", "reverse"};

static void must_find(const char *program, const char *bug, const char *kind)
{
    char place[100], env[100], head[60];
    struct outcome o;

    (void)snprintf(place, sizeof place, "%s:%d", source, line_of(bug));
    (void)snprintf(head, sizeof head, "cusim: %s", kind);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (i == 2 || (i > 0 && kind[0] != '\0' && strcmp(kind, "race") != 0))
            break; /* found in every order or in none */
        (void)snprintf(env, sizeof env, "FAKE_CUDA_THREADS=%s", orders[i]);
        run(&o, env, program, bug);
        if (o.status == 0 || !strstr(o.text, place) || !strstr(o.text, head))
            fail_msg("%s %s, threads %s: status %d, wanted '%s' at %s, got\n%s",
                     program, bug, orders[i], o.status, kind, place, o.text);
    }
}

#define FINDS(bug, kind) \
    static void finds_##bug(void **state) \
    { \
        (void)state; \
        must_find("planted_check", #bug, kind); \
    }
FINDS(missing_syncthreads, "")
FINDS(missing_second_barrier, "race")
FINDS(missing_syncwarp, "")
FINDS(off_by_one, "out of bounds")
FINDS(shared_overrun, "out of bounds")
FINDS(dynamic_overrun, "out of bounds")
FINDS(divergent_barrier, "divergent barrier")
FINDS(two_barriers, "divergent barrier")
FINDS(warp_mask, "warp mask")
FINDS(uninitialised, "uninitialised read")
FINDS(use_after_free, "use after free")
FINDS(host_pointer, "not device memory")
FINDS(wrong_grid, "race")
FINDS(float_atomic, "float atomic")
FINDS(missing_event_wait, "race")
FINDS(pinned_reuse, "pinned memory reused")

static void plain_build_finds_divergence_too(void **state)
{
    (void)state;
    must_find("planted", "divergent_barrier", "divergent barrier");
    must_find("planted", "two_barriers", "divergent barrier");
    must_find("planted", "warp_mask", "warp mask");
}

static void right_kernels_give_no_report(void **state)
{
    static const char *const programs[] = {"planted", "planted_check"};
    static const char *const names[] = {"clean", "clean_event_wait"};
    struct outcome o;
    char env[100];

    (void)state;
    for (int p = 0; p < 2; p++)
        for (int c = 0; c < 2; c++)
            for (int i = 0; i < 3; i++) {
                (void)snprintf(env, sizeof env, "FAKE_CUDA_THREADS=%s",
                               orders[i]);
                run(&o, env, programs[p], names[c]);
                assert_string_equal(o.text, "");
                assert_int_equal(o.status, 0);
            }
}

static void wrong_order_shows_in_the_result(void **state)
{
    struct outcome o;

    (void)state;
    run(&o, "FAKE_CUDA_ORDER=lazy", "planted", "missing_event_wait");
    assert_int_equal(o.status, 1);
    run(&o, "FAKE_CUDA_ORDER=eager", "planted", "missing_event_wait");
    assert_int_equal(o.status, 0);
    run(&o, "FAKE_CUDA_ORDER=lazy", "planted", "pinned_reuse");
    assert_int_equal(o.status, 1);
}

static void host_cannot_touch_device_memory(void **state)
{
    struct outcome o;

    (void)state;
    run(&o, "", "planted", "host_touches_device");
    assert_int_not_equal(o.status, 0);
    run(&o, "FAKE_CUDA_PROTECT=0", "planted", "host_touches_device");
    assert_int_equal(o.status, 0);
}

static void leaks_are_told_at_exit(void **state)
{
    struct outcome o;

    (void)state;
    run(&o, "FAKE_CUDA_LEAKS=1", "planted", "leak");
    assert_int_equal(o.status, 86);
    assert_non_null(strstr(o.text, "leak: 1 device allocations"));
    run(&o, "FAKE_CUDA_LEAKS=1", "planted", "clean");
    assert_string_equal(o.text, "");
    assert_int_equal(o.status, 0);
}

static void calls_are_counted(void **state)
{
    char path[] = "/tmp/double.XXXXXX", env[100], text[2000];
    int fd = mkstemp(path);
    struct outcome o;
    FILE *in;
    size_t n;

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    (void)snprintf(env, sizeof env, "FAKE_CUDA_COUNT=%s", path);
    run(&o, env, "planted", "clean");
    in = fopen(path, "r");
    assert_non_null(in);
    n = fread(text, 1, sizeof text - 1, in);
    text[n] = '\0';
    (void)fclose(in);
    (void)unlink(path);
    assert_non_null(strstr(text, "cudaMalloc 3\n"));
    assert_non_null(strstr(text, "cudaLaunchKernel 4\n"));
}

/* A function of a library beside the backend's. */
static void *symbol(const char *library, const char *name)
{
    char path[700];
    void *lib, *sym;

    beside(path, sizeof path, library);
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(lib);
    sym = dlsym(lib, name);
    assert_non_null(sym);
    return sym;
}

static void driver_and_nvml_answer(void **state)
{
    int (*init)(unsigned), (*count)(int *), (*begin)(void);
    void *sym;
    int n = 0;

    (void)state;
    sym = symbol("../fake/libcuda.so.1", "cuInit");
    memcpy(&init, &sym, sizeof init);
    sym = symbol("../fake/libcuda.so.1", "cuDeviceGetCount");
    memcpy(&count, &sym, sizeof count);
    assert_int_equal(init(0), 0);
    assert_int_equal(count(&n), 0);
    assert_int_equal(n, 1);
    (void)setenv("FAKE_CUDA_DRIVER", "nodevice", 1);
    assert_int_equal(init(0), 100);
    (void)unsetenv("FAKE_CUDA_DRIVER");
    sym = symbol("../fake/libnvidia-ml.so.1", "nvmlInit_v2");
    memcpy(&begin, &sym, sizeof begin);
    assert_int_equal(begin(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_missing_syncthreads),
        cmocka_unit_test(finds_missing_second_barrier),
        cmocka_unit_test(finds_missing_syncwarp),
        cmocka_unit_test(finds_off_by_one),
        cmocka_unit_test(finds_shared_overrun),
        cmocka_unit_test(finds_dynamic_overrun),
        cmocka_unit_test(finds_divergent_barrier),
        cmocka_unit_test(finds_two_barriers),
        cmocka_unit_test(finds_warp_mask),
        cmocka_unit_test(finds_uninitialised),
        cmocka_unit_test(finds_use_after_free),
        cmocka_unit_test(finds_host_pointer),
        cmocka_unit_test(finds_wrong_grid),
        cmocka_unit_test(finds_float_atomic),
        cmocka_unit_test(finds_missing_event_wait),
        cmocka_unit_test(finds_pinned_reuse),
        cmocka_unit_test(plain_build_finds_divergence_too),
        cmocka_unit_test(right_kernels_give_no_report),
        cmocka_unit_test(wrong_order_shows_in_the_result),
        cmocka_unit_test(host_cannot_touch_device_memory),
        cmocka_unit_test(leaks_are_told_at_exit),
        cmocka_unit_test(calls_are_counted),
        cmocka_unit_test(driver_and_nvml_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
