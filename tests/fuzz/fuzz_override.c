/* Overrides: the words behind FILE on the command line, one a line of the
 * input, on a config that has something of everything. */
#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/config.h"
#include "tests/fuzz/fuzz_file.h"

enum { MAX_WORDS = 16 };

static const char config_text[] =
    "version: 1\n"
    "name: x\n"
    "x-common: &opt {type: adam, betas: [0.9, 0.99]}\n"
    "vars: {epochs: 3, lr: 0.01, sizes: [16, 8], note: 'a ${vars.lr} b'}\n"
    "datasets:\n"
    "  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 60}\n"
    "  table:\n"
    "    type: csv\n"
    "    target: y\n"
    "    mirrors: [data, \"https://example.org/d\"]\n"
    "    files: {train: {path: x.csv, size: 5}}\n"
    "models:\n"
    "  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}\n"
    "defaults: {lr: \"${vars.lr}\", train: {batch_size: 32}}\n"
    "stages:\n"
    "  get: {uses: fetch, with: {dataset: table}}\n"
    "  train:\n"
    "    uses: train\n"
    "    needs: [get]\n"
    "    with:\n"
    "      dataset: blobs\n"
    "      model: mlp\n"
    "      epochs: \"${vars.epochs}\"\n"
    "      optimizer: *opt\n"
    "    expect:\n"
    "      - {metric: test.accuracy, gt: 0.9, points: 10, why: they lie}\n"
    "  evaluate: {uses: evaluate, with: {from: train}}\n";

/* Cuts text, which is changed, at its line ends. */
static size_t words(const char *word[MAX_WORDS], char *text)
{
    size_t n = 0;
    char *end;

    for (; n < MAX_WORDS && text; text = end) {
        end = strchr(text, '\n');
        if (end)
            *end++ = '\0';
        word[n++] = text;
    }
    return n;
}

static void load(const char *path, const char *const *word, size_t n)
{
    struct arena arena = {0};
    struct pl_diag diag = {.arena = &arena};
    struct pl_config *config = NULL;
    struct str text = {0};
    const struct pl_config_opts opts = {.overrides = word, .n_overrides = n};
    struct err err = {0};

    if (pl_config_load(&config, path, &opts, &diag, &err) == 0)
        pl_config_resolved(config, &text);
    else
        pl_diag_print(&diag, &text, true);
    pl_config_free(config);
    str_free(&text);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *word[MAX_WORDS];
    char *text = mem_strndup((const char *)data, size);
    struct fuzz_file f;

    if (!text)
        return 0;
    fuzz_file_open(&f, (const uint8_t *)config_text, sizeof config_text - 1);
    load(f.path, word, words(word, text));
    fuzz_file_close(&f);
    mem_free(text);
    return 0;
}
