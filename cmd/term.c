#include "cmd/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/cmd.h"

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] != '\0';
}

static bool is_terminal(FILE *stream)
{
    const char *term = getenv("TERM");

    return isatty(fileno(stream)) && term && term[0] &&
           strcmp(term, "dumb") != 0;
}

bool term_color(FILE *stream, int color)
{
    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    if (is_set("NO_COLOR"))
        return false;
    if (is_set("CLICOLOR_FORCE") || is_set("FORCE_COLOR"))
        return true;
    return is_terminal(stream);
}

bool term_rewrites(FILE *stream)
{
    return is_terminal(stream) && !is_set("CI");
}

size_t term_columns(FILE *stream)
{
    struct winsize w = {0};

    if (ioctl(fileno(stream), TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        return w.ws_col;
    return 80;
}

size_t term_length(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}
