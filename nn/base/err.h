/* Errors as values: every function that can fail takes `struct err *` last,
 * returns 0 or a negative `enum err_code`, and keeps the first message. */
#ifndef NN_BASE_ERR_H
#define NN_BASE_ERR_H

#include <stdarg.h>

enum err_code {
    ERR_OK = 0,
    ERR_NOMEM = -1,       /* out of memory */
    ERR_IO = -2,          /* a file or stream could not be read or written */
    ERR_CONFIG = -3,      /* the user's file or command line is wrong */
    ERR_SHAPE = -4,       /* tensors do not fit each other */
    ERR_DEVICE = -5,      /* a device is missing or failed */
    ERR_CORRUPT = -6,     /* data that fails its own checks */
    ERR_FETCH = -7,       /* download or verification failed */
    ERR_LOCKED = -8,      /* somebody else holds the output folder */
    ERR_NONFINITE = -9,   /* a loss or parameter became inf or nan */
    ERR_INTERRUPTED = -10 /* stopped by a signal, state saved */
};

/* Owns no memory: never freed, safe to copy. Zero-initialise before use. */
struct err {
    int code;
    const char *src; /* our file:line, for --verbose */
    char at[256];    /* the user's place: "configs/q2.yaml:14:9", or "" */
    char msg[768];   /* one sentence, lower case, no full stop */
};

/* Keep the first failure: fills *err if it holds none yet, and returns its
 * code. err may be NULL: then only the code is returned. */
#define err_set(err, code, ...) \
    err_set_((err), (code), __FILE__ ":" ERR_STR(__LINE__), __VA_ARGS__)
#define ERR_STR(x) ERR_STR_(x)
#define ERR_STR_(x) #x

int err_set_(struct err *err, int code, const char *src, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Like err_set for a failed system call: appends strerror(errno). */
#define err_sys(err, ...) \
    err_sys_((err), __FILE__ ":" ERR_STR(__LINE__), __VA_ARGS__)
int err_sys_(struct err *err, const char *src, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __clang_analyzer__ /* it cannot see that a failure's code is never 0 */
#undef err_set
#define err_set(err, code, ...) \
    (err_set_((err), (code), "", __VA_ARGS__), (int)(code))
#undef err_sys
#define err_sys(err, ...) (err_sys_((err), "", __VA_ARGS__), (int)ERR_IO)
#endif

/* Adds the place in the user's file if none is known yet. */
void err_at(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Forgets the failure, so that the struct can be used again. */
void err_clear(struct err *err);

#endif
