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

/* With --json all the mistakes of all files go into one list. */
static int list_mistakes(struct cmd_opts *o, struct str *list)
{
    struct pl_job *job;
    struct err err = {0};
    int rc = pl_job_open(&job, &o->pl, &err);

    if (rc == 0) {
        pl_job_free(job);
        return EXIT_OK;
    }
    if (list->len > 1)
        str_add(list, ",");
    if (job)
        pl_job_mistakes_json(job, list);
    else {
        str_add(list, "\n  {\"file\": ");
        pl_text_json(o->pl.file, list);
        str_add(list, ", \"line\": 0, \"column\": 0, \"length\": 0, "
                      "\"message\": ");
        pl_text_json(err.msg, list);
        str_add(list, ", \"help\": []}");
    }
    pl_job_free(job);
    return rc == ERR_IO ? EXIT_USAGE : cmd_exit_status(&err);
}

static int check_one(struct cmd_opts *o)
{
    struct pl_job *job;
    int status = EXIT_OK;
    size_t n;

    if (!cmd_open_job(&job, o, &status))
        return status;
    n = pl_job_stages(job);
    if (!o->quiet)
        (void)printf("%s: ok, %zu stage%s\n", o->pl.file, n, n == 1 ? "" : "s");
    pl_job_free(job);
    return status;
}

int cmd_check(struct cmd_opts *o)
{
    size_t i, files = sort_words(o);
    struct str list = {0};
    int status = EXIT_OK;

    if (files == 0)
        return cmd_usage_error("`pipeline help check` shows how it is used",
                               "'check' wants the FILE of an experiment");
    if (!cmd_take_overrides(o, 1 + files))
        return EXIT_USAGE;
    str_add(&list, "[");
    for (i = 1; i <= files; i++) {
        int one;

        o->pl.file = o->word[i];
        one = o->json ? list_mistakes(o, &list) : check_one(o);

        if (one > status)
            status = one;
    }
    str_add(&list, "\n]\n");
    if (o->json)
        return cmd_put(&list, status);
    str_free(&list);
    return status;
}
