#include "pipeline/fetch_public.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static bool is_public_v4(uint32_t host)
{
    static const struct {
        uint32_t net;
        int bits;
    } inside[] = {
        {0x00000000, 8},  /* this network */
        {0x0a000000, 8},  /* 10: private */
        {0x64400000, 10}, /* 100.64: behind a carrier's translation */
        {0x7f000000, 8},  /* 127: this machine */
        {0xa9fe0000, 16}, /* 169.254: the link, and clouds' metadata */
        {0xac100000, 12}, /* 172.16: private */
        {0xc0000000, 24}, /* 192.0.0: protocol assignments */
        {0xc0a80000, 16}, /* 192.168: private */
        {0xc6120000, 15}, /* 198.18: benchmarks */
        {0xe0000000, 3},  /* 224 and up: multicast, reserved, broadcast */
    };
    size_t i;

    for (i = 0; i < sizeof inside / sizeof *inside; i++)
        if ((host ^ inside[i].net) >> (32 - inside[i].bits) == 0)
            return false;
    return true;
}

static uint32_t v4_at(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

/* Of what is routed, 2000::/3, and the ways in which an address of IPv4 is
 * carried in one of IPv6. */
static bool is_public_v6(const unsigned char p[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char translated[12] = {0x00, 0x64, 0xff, 0x9b};

    if (memcmp(p, mapped, 12) == 0 || memcmp(p, translated, 12) == 0)
        return is_public_v4(v4_at(p + 12));
    if (p[0] == 0x20 && p[1] == 0x02) /* 6to4 */
        return is_public_v4(v4_at(p + 2));
    return p[0] >> 5 == 1;
}

bool pl_is_public(const struct sockaddr *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        return is_public_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&v6, address, sizeof v6);
    return is_public_v6(v6.sin6_addr.s6_addr);
}
