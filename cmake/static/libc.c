/* SPDX-License-Identifier: MIT */
/* What the C library looks up by parts of itself that a program loads when it runs: the names of hosts,
 * users, networks and libraries. A static program would load those of another machine, where they may be
 * others or missing. So this one looks nothing up: an address is in numbers, and a library that asks for a
 * name is told that there is none. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- addresses ---- */

struct numeric {
    struct addrinfo info; /* first, so that who frees it frees all */
    union {
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } address;
};

static bool read_number(const char *text, unsigned long most, unsigned long *number)
{
    char *end;

    *number = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && *number <= most;
}

static bool read_ipv4(struct numeric *numeric, const char *host, in_port_t port)
{
    struct sockaddr_in *in = &numeric->address.in;

    in->sin_family = AF_INET;
    in->sin_port = port;
    numeric->info.ai_addrlen = sizeof *in;
    return inet_aton(host, &in->sin_addr);
}

/* The link of fe80::1%eth0 may also be a number. */
static bool read_link(const char *text, uint32_t *link)
{
    unsigned long number = if_nametoindex(text);
    bool is_known = number || read_number(text, UINT32_MAX, &number);

    *link = (uint32_t)number;
    return is_known;
}

static bool read_ipv6(struct numeric *numeric, const char *host, in_port_t port)
{
    struct sockaddr_in6 *in6 = &numeric->address.in6;
    size_t length = strcspn(host, "%");
    char digits[INET6_ADDRSTRLEN] = "";

    if (length < sizeof digits)
        memcpy(digits, host, length);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = port;
    numeric->info.ai_addrlen = sizeof *in6;
    return inet_pton(AF_INET6, digits, &in6->sin6_addr) == 1 &&
           (!host[length] || read_link(host + length + 1, &in6->sin6_scope_id));
}

static bool read_address(struct numeric *numeric, int family, const char *host, in_port_t port)
{
    return (family != AF_INET6 && read_ipv4(numeric, host, port)) ||
           (family != AF_INET && read_ipv6(numeric, host, port));
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    struct numeric *numeric;
    unsigned long port = 0;

    if (service && !read_number(service, UINT16_MAX, &port))
        return EAI_SERVICE;
    if (!(numeric = calloc(1, sizeof *numeric)))
        return EAI_MEMORY;
    numeric->info.ai_socktype = hints ? hints->ai_socktype : 0;
    numeric->info.ai_addr = (struct sockaddr *)&numeric->address;
    if (!host || !read_address(numeric, hints ? hints->ai_family : AF_UNSPEC, host, htons((in_port_t)port))) {
        free(numeric);
        return EAI_NONAME;
    }
    numeric->info.ai_family = numeric->info.ai_addr->sa_family;
    *found = &numeric->info;
    return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
    free(found);
}

const char *gai_strerror(int error)
{
    switch (error) {
    case EAI_SERVICE:
        return "a static build looks up no services, give the port in numbers";
    case EAI_MEMORY:
        return strerror(ENOMEM);
    default:
        return "a static build looks up no names, give the address in numbers";
    }
}

/* ---- what only libraries would ask for ---- */

int getnameinfo(const struct sockaddr *address, socklen_t size, char *host, socklen_t host_size,
                char *service, socklen_t service_size, int flags)
{
    (void)address, (void)size, (void)host, (void)host_size, (void)service, (void)service_size, (void)flags;
    return EAI_NONAME;
}

struct hostent *gethostbyname(const char *name)
{
    (void)name;
    h_errno = HOST_NOT_FOUND;
    return NULL;
}

int getnetbyname_r(const char *name, struct netent *entry, char *room, size_t size, struct netent **found,
                   int *error)
{
    (void)name, (void)entry, (void)room, (void)size;
    *found = NULL;
    *error = HOST_NOT_FOUND;
    return ENOENT;
}

int getprotobyname_r(const char *name, struct protoent *entry, char *room, size_t size,
                     struct protoent **found)
{
    (void)name, (void)entry, (void)room, (void)size;
    *found = NULL;
    return ENOENT;
}

int ether_hostton(const char *name, struct ether_addr *address)
{
    (void)name, (void)address;
    return -1;
}

int getpwuid_r(uid_t user, struct passwd *entry, char *room, size_t size, struct passwd **found)
{
    (void)user, (void)entry, (void)room, (void)size;
    *found = NULL;
    return 0; /* no error, and no such user */
}

/* The C library calls its own dlopen(3), for character sets that nobody uses here. So this one has another
 * name, which the linker gives to those who call it (--wrap). */
void *__wrap_dlopen(const char *path, int flags);

void *__wrap_dlopen(const char *path, int flags)
{
    (void)path, (void)flags;
    return NULL;
}

char *dlerror(void)
{
    static char text[] = "a static build loads no libraries";

    return text;
}
