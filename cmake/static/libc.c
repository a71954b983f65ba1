/* SPDX-License-Identifier: MIT */
/* What the C library looks up by parts of itself that a program loads when it runs: the names of hosts,
 * users, networks and libraries. A static program would load those of another machine, where they may be
 * others or missing. So this one looks up nothing but users, in a file: an address is in numbers, and a
 * library that asks for another name is told that there is none. */
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

#pragma GCC diagnostic ignored "-Wunused-parameter" /* most functions answer the same to all */

/* ---- addresses ---- */

struct numeric {
    struct addrinfo info; /* first, so that who frees it frees all */
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } address;
};

/* The link of fe80::1%eth0, which libuv knows by name, may also be a number. */
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

/* ---- what only libraries would ask for ---- */

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

int getnetbyname_r(const char *name, struct netent *entry, char *room, size_t size, struct netent **found,
                   int *error)
{
    *found = NULL;
    *error = HOST_NOT_FOUND;
    return ENOENT;
}

int getprotobyname_r(const char *name, struct protoent *entry, char *room, size_t size,
                     struct protoent **found)
{
    *found = NULL;
    return ENOENT;
}

int ether_hostton(const char *name, struct ether_addr *address)
{
    return -1;
}

int getpwuid_r(uid_t user, struct passwd *entry, char *room, size_t size, struct passwd **found)
{
    *found = NULL;
    return 0; /* no error, and no such user */
}

/* The users of this machine's own file. */
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

/* The C library calls its own dlopen(3), for character sets that nobody uses here. So this one has another
 * name, which the linker gives to those who call it (--wrap). */
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
