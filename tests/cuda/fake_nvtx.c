/* A tool that listens by NVTX, as nsys does: named by NVTX_INJECTION64_PATH it
 * writes what it hears to the file FAKE_NVTX_LOG. */
#if __has_include(<nvtx3/nvToolsExt.h>)

#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static void hear(const char *what, const char *text)
{
    const char *path = getenv("FAKE_NVTX_LOG");
    FILE *out = path ? fopen(path, "a") : NULL;

    if (!out)
        return;
    fprintf(out, "%s %s\n", what, text);
    (void)fclose(out);
}

static nvtxDomainHandle_t domain_create(const char *name)
{
    static char some;

    hear("domain", name);
    return (nvtxDomainHandle_t)(void *)&some;
}

static nvtxRangeId_t range_start(nvtxDomainHandle_t d,
                                 const nvtxEventAttributes_t *a)
{
    (void)d;
    hear("start", a->message.ascii);
    return 7;
}

static void range_end(nvtxDomainHandle_t d, nvtxRangeId_t id)
{
    (void)d;
    hear("end", id == 7 ? "" : "of nothing");
}

static int range_push(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a)
{
    (void)d;
    hear("push", a->message.ascii);
    return 0;
}

static int range_pop(nvtxDomainHandle_t d)
{
    (void)d;
    hear("pop", "");
    return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableCallbacks *tables = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned int size;

    if (!tables || tables->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table,
                                                  &size) != 1)
        return 0;
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)domain_create;
    *table[NVTX_CBID_CORE2_DomainRangeStartEx] =
        (NvtxFunctionPointer)range_start;
    *table[NVTX_CBID_CORE2_DomainRangeEnd] = (NvtxFunctionPointer)range_end;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)range_push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)range_pop;
    return 1;
}

#else
extern int nothing_to_listen_with;
#endif
