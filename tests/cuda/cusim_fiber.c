#include "tests/cuda/cusim_fiber.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__x86_64__) && !defined(CUSIM_UCONTEXT)
#define CUSIM_ASM
#else
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK = 64 << 10, GUARD = 4 << 10 };

struct cusim_fiber {
#ifdef CUSIM_ASM
    void *sp;
#else
    ucontext_t context;
#endif
    char *stack;
    void (*body)(void);
    struct cusim_fiber *next_idle, *next;
    void *fake_stack; /* AddressSanitizer's */
};

static struct cusim_fiber main_fiber, *current = &main_fiber, *previous;
static struct cusim_fiber *idle, *all;
#ifdef __SANITIZE_ADDRESS__
static const void *main_stack;
static size_t main_stack_size;
#endif

#ifdef CUSIM_ASM
/* What the ABI keeps across a call goes to the old stack, the stack pointer to
 * *save; then the same backwards. swapcontext makes a system call, which is 38
 * times slower. */
void cusim_switch(void **save, void *load);
__asm__(".text\n"
        ".type cusim_switch,@function\n"
        "cusim_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size cusim_switch, .-cusim_switch\n");
#endif

static void left(struct cusim_fiber *to)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&current->fake_stack,
                                   to == &main_fiber ? main_stack : to->stack,
                                   to == &main_fiber ? main_stack_size : STACK);
#endif
    previous = current;
    current = to;
}

static void arrived(struct cusim_fiber *me)
{
#ifdef __SANITIZE_ADDRESS__
    const void *bottom;
    size_t size;

    __sanitizer_finish_switch_fiber(me->fake_stack, &bottom, &size);
    if (previous == &main_fiber) {
        main_stack = bottom;
        main_stack_size = size;
    }
#else
    (void)me;
#endif
}

void fiber_switch(struct cusim_fiber *to)
{
    struct cusim_fiber *me = current;

    left(to);
#ifdef CUSIM_ASM
    cusim_switch(&me->sp, to->sp);
#else
    swapcontext(&me->context, &to->context);
#endif
    arrived(me);
}

static void start(void)
{
    arrived(current);
    current->body();
    abort(); /* a body parks */
}

static void rewind_stack(struct cusim_fiber *f)
{
    f->fake_stack = NULL;
#ifdef CUSIM_ASM
    void **top = (void **)(void *)(f->stack + STACK);

    *--top = NULL; /* a return address: keeps the ABI's alignment */
    *--top = (void *)(uintptr_t)start;
    f->sp = top - 6; /* the registers that cusim_switch takes down */
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK;
    makecontext(&f->context, start, 0);
#endif
}

static struct cusim_fiber *fiber_new(void)
{
    struct cusim_fiber *f = calloc(1, sizeof *f);
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!f || stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE) != 0) {
        fprintf(stderr, "cusim: no memory for one more thread's stack\n");
        abort();
    }
    f->stack = stack;
    f->next = all;
    all = f;
    rewind_stack(f);
    return f;
}

struct cusim_fiber *fiber_get(void (*body)(void))
{
    struct cusim_fiber *f = idle;

    if (f)
        idle = f->next_idle;
    else
        f = fiber_new();
    f->body = body;
    return f;
}

void fiber_park(void)
{
    current->next_idle = idle;
    idle = current;
    fiber_switch(&main_fiber);
}

void fiber_reset(void)
{
    struct cusim_fiber *f;

    idle = NULL;
    for (f = all; f; f = f->next) {
        rewind_stack(f);
        f->next_idle = idle;
        idle = f;
    }
}

struct cusim_fiber *fiber_current(void)
{
    return current;
}

struct cusim_fiber *fiber_main(void)
{
    return &main_fiber;
}

bool fiber_on_stack(const void *p)
{
    const char *c = p;

    return current != &main_fiber && c >= current->stack &&
           c < current->stack + STACK;
}
