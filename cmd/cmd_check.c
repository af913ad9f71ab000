#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

static bool is_override(const char *word)
{
    return word[0] == '~' || strchr(word, '=');
}

/* Files first, then overrides, each in the order given. Returns how many are
 * files. */
static size_t sort_words(struct cmd_opts *o)
{
    size_t i, k, n = 1;

    for (i = 1; i < o->n_words; i++) {
        const char *word = o->word[i];

        if (is_override(word))
            continue;
        for (k = i; k > n; k--)
            o->word[k] = o->word[k - 1];
        o->word[n++] = word;
    }
    return n - 1;
}

static int check_one(struct cmd_opts *o, const char *file)
{
    struct pl_job *job;
    int status = EXIT_OK;
    size_t n;

    o->pl.file = file;
    if (!cmd_open_job(&job, o, &status))
        return status;
    n = pl_job_stages(job);
    if (!o->quiet)
        (void)printf("%s: ok, %zu stage%s\n", file, n, n == 1 ? "" : "s");
    pl_job_free(job);
    return status;
}

int cmd_check(struct cmd_opts *o)
{
    size_t i, files = sort_words(o);
    int status = EXIT_OK;

    if (files == 0)
        return cmd_usage_error("`pipeline help check` shows how it is used",
                               "'check' wants the FILE of an experiment");
    o->pl.overrides.item = o->word + 1 + files;
    o->pl.overrides.n = o->n_words - 1 - files;
    for (i = 1; i <= files; i++) {
        int one = check_one(o, o->word[i]);

        if (one > status)
            status = one;
    }
    return status;
}
