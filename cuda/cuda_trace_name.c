#include "cuda/cuda_trace_name.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"

/* The same few names come again and again, mostly the one just given. */
static const char *find(struct cuda_names *n, const struct cuda_name *key)
{
    for (size_t k = 0; k < n->n; k++) {
        size_t i = (n->last + k) % n->n;
        const struct cuda_name *name = &n->name[i];

        if (name->domain == key->domain && name->number == key->number &&
            name->kernel == key->kernel) {
            n->last = i;
            return name->text;
        }
    }
    return NULL;
}

/* key with its text, which may be NULL for want of memory. */
static const char *add(struct cuda_names *n, const struct cuda_name *key)
{
    if (!key->text)
        return NULL;
    if (n->n == n->cap) {
        size_t cap = n->cap ? 2 * n->cap : 64;
        struct cuda_name *bigger = mem_grow(n->name, cap, sizeof *bigger);

        if (!bigger)
            return NULL;
        n->name = bigger;
        n->cap = cap;
    }
    n->last = n->n;
    n->name[n->n++] = *key;
    return key->text;
}

void cuda_names_free(struct cuda_names *n)
{
    mem_free(n->name);
    n->name = NULL;
    n->n = n->cap = 0;
}

/* --- functions ------------------------------------------------------------ */

static size_t without(const char *text, size_t n, const char *end)
{
    size_t k = strlen(end);

    return n > k && strncmp(text + n - k, end, k) == 0 ? n - k : n;
}

/* "cudaLaunchKernel" of "cudaLaunchKernel_ptsz_v7000" */
static size_t plain_length(const char *text)
{
    size_t n = strlen(text), digits = n;

    while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9')
        digits--;
    if (digits < n)
        n = without(text, digits, "_v") < digits ? digits - 2 : n;
    n = without(text, n, "_ptsz");
    return without(text, n, "_ptds");
}

const char *cuda_name_call(struct cuda_names *n, CUpti_CallbackDomain domain,
                           uint32_t number)
{
    struct cuda_name key = {.domain = domain, .number = number};
    const char *text = find(n, &key);

    if (text)
        return text;
    if (n->cupti->cuptiGetCallbackName(domain, number, &text) !=
            CUPTI_SUCCESS ||
        !text)
        key.text = arena_printf(
            n->arena, "function %u of CUDA's %s", number,
            domain == CUPTI_CB_DOMAIN_DRIVER_API ? "driver" : "runtime");
    else
        key.text = arena_strndup(n->arena, text, plain_length(text));
    return add(n, &key);
}

/* --- kernels -------------------------------------------------------------- */

/* The C++ library is there where one of NVIDIA's is that was written in C++;
 * without it names stay as they are. */
static char *demangled(const char *mangled)
{
    char *(*demangle)(const char *, char *, size_t *, int *) = NULL;
    void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *p = lib ? dlsym(lib, "__cxa_demangle") : NULL;
    char *text = NULL;
    int status = 0;

    memcpy(&demangle, &p, sizeof p);
    if (demangle)
        text = demangle(mangled, NULL, NULL, &status);
    if (lib)
        (void)dlclose(lib);
    return text;
}

const char *cuda_name_kernel(struct cuda_names *n, const char *kernel)
{
    struct cuda_name key = {.kernel = kernel};
    const char *known = kernel ? find(n, &key) : "a kernel without a name";
    char *text;

    if (known)
        return known;
    text = strncmp(kernel, "_Z", 2) == 0 ? demangled(kernel) : NULL;
    key.text = arena_strdup(n->arena, text ? text : kernel);
    free(text);
    return add(n, &key);
}

/* --- copies and fills ----------------------------------------------------- */

static const char *of(const char *const *text, size_t n, unsigned i)
{
    return i < n && text[i] ? text[i] : "Unknown";
}
#define OF(table, i) of(table, sizeof(table) / sizeof *(table), i)

static const char *memory_kind(unsigned kind)
{
    static const char *const text[] = {
        [CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE] = "Pageable",
        [CUPTI_ACTIVITY_MEMORY_KIND_PINNED] = "Pinned",
        [CUPTI_ACTIVITY_MEMORY_KIND_DEVICE] = "Device",
        [CUPTI_ACTIVITY_MEMORY_KIND_ARRAY] = "Array",
        [CUPTI_ACTIVITY_MEMORY_KIND_MANAGED] = "Managed",
        [CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC] = "Device Static",
        [CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC] = "Managed Static",
    };

    return OF(text, kind);
}

static const char *copy_kind(unsigned kind)
{
    static const char *const text[] = {
        [CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = "HtoD",
        [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = "DtoH",
        [CUPTI_ACTIVITY_MEMCPY_KIND_HTOA] = "HtoA",
        [CUPTI_ACTIVITY_MEMCPY_KIND_ATOH] = "AtoH",
        [CUPTI_ACTIVITY_MEMCPY_KIND_ATOA] = "AtoA",
        [CUPTI_ACTIVITY_MEMCPY_KIND_ATOD] = "AtoD",
        [CUPTI_ACTIVITY_MEMCPY_KIND_DTOA] = "DtoA",
        [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = "DtoD",
        [CUPTI_ACTIVITY_MEMCPY_KIND_HTOH] = "HtoH",
        [CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] = "PtoP",
    };

    return OF(text, kind);
}

/* Numbers of copies lie above those of fills. */
const char *cuda_name_copy(struct cuda_names *n, const cupti_copy_record *r)
{
    struct cuda_name key = {.number = 1u << 24 | (uint32_t)r->copyKind << 16 |
                                      (uint32_t)r->srcKind << 8 | r->dstKind};
    const char *known = find(n, &key);

    if (known)
        return known;
    key.text =
        arena_printf(n->arena, "Memcpy %s (%s -> %s)", copy_kind(r->copyKind),
                     memory_kind(r->srcKind), memory_kind(r->dstKind));
    return add(n, &key);
}

const char *cuda_name_fill(struct cuda_names *n, const cupti_fill_record *r)
{
    struct cuda_name key = {.number = 1u + r->memoryKind};
    const char *known = find(n, &key);

    if (known)
        return known;
    key.text =
        arena_printf(n->arena, "Memset (%s)", memory_kind(r->memoryKind));
    return add(n, &key);
}
