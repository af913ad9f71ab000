/* Which addresses of the internet protocol lie outside. */
#ifndef PIPELINE_FETCH_PUBLIC_H
#define PIPELINE_FETCH_PUBLIC_H

#include <stdbool.h>
#include <sys/socket.h>

/* False for this machine, private and link-local networks, multicast, and
 * whatever is no address of IPv4 or IPv6 (the registries of RFC 6890). */
bool pl_is_public(const struct sockaddr *address);

#endif
