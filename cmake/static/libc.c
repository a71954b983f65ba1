/* SPDX-License-Identifier: MIT */
/* Replacements for the lookups of hosts, users, networks and libraries by name. The C library loads
 * parts of itself for them at run time. On another machine these may differ or be missing, so a
 * static program must not load them. Here only users are looked up, in /etc/passwd. Addresses must
 * be numeric, and a lookup of any other name fails. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* most functions always fail */

/* ---- addresses ---- */

struct numeric {
    struct addrinfo info; /* first, so that free(info) frees all */
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } address;
};

/* The interface in fe80::1%eth0 may be a number, too; libuv takes only a name. */
static bool read_ipv6(struct sockaddr_in6 *in6, const char *host, int port)
{
    const char *link = strchr(host, '%');
    char *end = "";
    bool is_read = uv_ip6_addr(host, port, in6) == 0;

    if (is_read && link && !in6->sin6_scope_id)
        in6->sin6_scope_id = (uint32_t)strtoul(link + 1, &end, 10);
    return is_read && !*end && (!link || in6->sin6_scope_id);
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    int family = hints ? hints->ai_family : AF_UNSPEC;
    char *end = "";
    unsigned long port = service ? strtoul(service, &end, 10) : 0;
    struct numeric *numeric;

    if (*end || port > UINT16_MAX || (service && (*service < '0' || *service > '9')))
        return EAI_SERVICE;
    if (!(numeric = calloc(1, sizeof *numeric)))
        return EAI_MEMORY;
    if (host && family != AF_INET6 && inet_aton(host, &numeric->address.in.sin_addr)) {
        numeric->info.ai_family = AF_INET;
        numeric->info.ai_addrlen = sizeof numeric->address.in;
        numeric->address.in.sin_port = htons((in_port_t)port);
    } else if (host && family != AF_INET && read_ipv6(&numeric->address.in6, host, (int)port)) {
        numeric->info.ai_family = AF_INET6;
        numeric->info.ai_addrlen = sizeof numeric->address.in6;
    } else {
        free(numeric);
        return EAI_NONAME;
    }
    numeric->address.any.sa_family = (sa_family_t)numeric->info.ai_family;
    numeric->info.ai_socktype = hints ? hints->ai_socktype : 0;
    numeric->info.ai_addr = &numeric->address.any;
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

/* ---- functions that only libraries call ---- */

int getnameinfo(const struct sockaddr *address, socklen_t size, char *host, socklen_t host_size,
                char *service, socklen_t service_size, int flags)
{
    return EAI_NONAME;
}

struct hostent *gethostbyname(const char *name)
{
    h_errno = HOST_NOT_FOUND;
    return NULL;
}

int getnetbyname_r(const char *name, struct netent *entry, char *buffer, size_t size, struct netent **found,
                   int *error)
{
    *found = NULL;
    *error = HOST_NOT_FOUND;
    return ENOENT;
}

int getprotobyname_r(const char *name, struct protoent *entry, char *buffer, size_t size,
                     struct protoent **found)
{
    *found = NULL;
    return ENOENT;
}

int ether_hostton(const char *name, struct ether_addr *address)
{
    return -1;
}

int getpwuid_r(uid_t user, struct passwd *entry, char *buffer, size_t size, struct passwd **found)
{
    *found = NULL;
    return 0; /* no error, and no such user */
}

/* Looks up a user in /etc/passwd only. */
struct passwd *getpwnam(const char *name)
{
    FILE *file = fopen("/etc/passwd", "re");
    struct passwd *entry = NULL;

    while (file && (entry = fgetpwent(file)) && strcmp(entry->pw_name, name) != 0)
        continue;
    if (file)
        fclose(file);
    return entry;
}

/* The C library calls its own dlopen(3), for character sets that uncork does not use. So this
 * function has another name, and the linker redirects all other calls to it (--wrap). */
void *__wrap_dlopen(const char *path, int flags);

void *__wrap_dlopen(const char *path, int flags)
{
    return NULL;
}

char *dlerror(void)
{
    static char text[] = "a static build loads no libraries";

    return text;
}
