#include "pipeline/utf8.h"

size_t utf8_decode(const char *s, size_t n, uint32_t *cp)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    size_t len, i;

    if (p[0] < 0x80) {
        *cp = p[0];
        return 1;
    }
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n < len)
        return 0;
    *cp = p[0] & (0xffu >> (len + 1));
    for (i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *cp = *cp << 6 | (p[i] & 0x3f);
    }
    if (*cp < least[len] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff))
        return 0;
    return len;
}

struct range {
    uint32_t first, last;
};

/* The blocks that matter, from Unicode's EastAsianWidth.txt (W and F) and its
 * emoji. */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},
    {0x2614, 0x2615},   {0x26a1, 0x26a1},   {0x26d4, 0x26d4},
    {0x2705, 0x2705},   {0x2728, 0x2728},   {0x274c, 0x274c},
    {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x2b50, 0x2b50},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
    {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}};

/* Combining marks, joiners and selectors (Mn, Me, Cf). */
static const struct range narrow[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a},
    {0x064b, 0x065f}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},
    {0x2060, 0x2064}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

static int within(const struct range *r, size_t n, uint32_t cp)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (cp >= r[i].first && cp <= r[i].last)
            return 1;
    return 0;
}

int utf8_width(uint32_t cp)
{
    if (cp < 0x300)
        return 1;
    if (within(narrow, sizeof narrow / sizeof *narrow, cp))
        return 0;
    return within(wide, sizeof wide / sizeof *wide, cp) ? 2 : 1;
}
