/* SPDX-License-Identifier: MIT */
#include "net/address.h"

#include "base/cleanup.h"
#include "base/files.h"
#include "base/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <netdb.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#define RANGE "net.ipv4.ip_local_port_range"
#define UNIX_PREFIX "unix:"

/* HOST:PORT or [IPV6]:PORT. For unix:PATH it is the address instead, and `port` is NULL. */
struct parts {
    char host[128];
    const char *port;
};

static int split(struct parts *parts, struct address *address, const char *text)
{
    const char *host = text, *colon = strrchr(text, ':');
    uint64_t port;

    *parts = (struct parts){.port = NULL};
    if (!strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)))
        return address_set_path(address, text + strlen(UNIX_PREFIX));
    if (!colon || units_parse(&units_count, colon + 1, &port) < 0 || port > UINT16_MAX)
        return -EINVAL;
    size_t length = (size_t)(colon - text);
    if (*text == '[') {
        if (length < 3 || text[length - 1] != ']')
            return -EINVAL;
        host++;
        length -= 2;
    } else if (memchr(text, ':', length)) {
        return -EINVAL; /* an IPv6 address without brackets */
    }
    if (!length || length >= sizeof parts->host)
        return -EINVAL;
    memcpy(parts->host, host, length);
    parts->port = colon + 1;
    return 0;
}

int address_check(const char *text)
{
    return split(&(struct parts){.port = NULL}, &(struct address){.size = 0}, text);
}

static int find(struct address *addresses, size_t room, const char *text, int flags, struct problem *problem)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags}, *found = NULL;
    struct parts parts;
    int count = 0;

    if (split(&parts, addresses, text) < 0)
        return problem_usage(problem, "'%.100s' is not an address; write HOST:PORT, [IPV6]:PORT or unix:PATH",
                             text);
    if (!parts.port)
        return 1;
    int result = getaddrinfo(parts.host, parts.port, &hints, &found);
    if (result != 0)
        return problem_failure(problem, "cannot look up %s: %s", parts.host, gai_strerror(result));
    for (const struct addrinfo *at = found; at && (size_t)count < room; at = at->ai_next) {
        addresses[count] = (struct address){.size = at->ai_addrlen};
        memcpy(&addresses[count++].storage, at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(found);
    return count;
}

int address_find(struct address *addresses, size_t room, const char *text, struct problem *problem)
{
    return find(addresses, room, text, 0, problem);
}

int address_parse_numeric(struct address *address, const char *text, struct problem *problem)
{
    return find(address, 1, text, AI_NUMERICHOST | AI_NUMERICSERV, problem) < 0 ? -1 : 0;
}

const char *address_format(char text[ADDRESS_MAX], const struct address *address)
{
    char host[INET6_ADDRSTRLEN] = "?", link[16] = "";
    int family = address->any.sa_family, port = address_port(address);

    if (family == AF_INET) {
        inet_ntop(family, &address->in.sin_addr, host, sizeof host);
        snprintf(text, ADDRESS_MAX, "%s:%d", host, port);
    } else if (family == AF_INET6) { /* a link-local address is valid only with its interface */
        inet_ntop(family, &address->in6.sin6_addr, host, sizeof host);
        if (address->in6.sin6_scope_id)
            snprintf(link, sizeof link, "%%%u", (unsigned)address->in6.sin6_scope_id);
        snprintf(text, ADDRESS_MAX, "[%s%s]:%d", host, link, port);
    } else if (family == AF_UNIX) {
        snprintf(text, ADDRESS_MAX, UNIX_PREFIX "%s", address->un.sun_path);
    } else {
        snprintf(text, ADDRESS_MAX, "address family %d", family);
    }
    return text;
}

int address_of_socket(struct address *address, int fd)
{
    *address = (struct address){.size = sizeof address->storage};
    return getsockname(fd, &address->any, &address->size) < 0 ? -errno : 0;
}

int address_of_peer(struct address *address, int fd)
{
    *address = (struct address){.size = sizeof address->storage};
    return getpeername(fd, &address->any, &address->size) < 0 ? -errno : 0;
}

bool address_is_local(const struct address *address)
{
    int family = address->any.sa_family;
    return family == AF_UNIX ||
           (family == AF_INET && ntohl(address->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) ||
           (family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr));
}

int address_host(uint8_t host[16], const struct address *address)
{
    const struct in6_addr *in6 = &address->in6.sin6_addr;
    int family = address->any.sa_family;
    bool is_mapped = family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(in6);
    memset(host, 0, 16);
    if (family == AF_INET)
        memcpy(host, &address->in.sin_addr, 4);
    else if (family == AF_INET6)
        memcpy(host, in6->s6_addr + (is_mapped ? 12 : 0), is_mapped ? 4 : 16);
    return is_mapped ? AF_INET : family;
}

/* Both families that have a port have it at the same offset. */
static bool has_port(const struct address *address)
{
    _Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
                   "one place for the port");
    return address->any.sa_family == AF_INET || address->any.sa_family == AF_INET6;
}

int address_port(const struct address *address)
{
    return has_port(address) ? ntohs(address->in.sin_port) : 0;
}

void address_set_port(struct address *address, int port)
{
    if (has_port(address))
        address->in.sin_port = htons((uint16_t)port);
}

const char *address_path(const struct address *address)
{
    return address->any.sa_family == AF_UNIX ? address->un.sun_path : "";
}

int address_set_path(struct address *address, const char *path)
{
    if (!*path || strlen(path) >= sizeof address->un.sun_path)
        return -EINVAL;
    *address = (struct address){.un.sun_family = AF_UNIX, .size = sizeof address->un};
    strcpy(address->un.sun_path, path);
    return 0;
}

/* ---- connect, listen ---- */

/* ip_local_port_range of ip(7) is also the range of IPv6. */
static bool read_range(unsigned *first, unsigned *last)
{
    return scan_file("/proc/sys/net/ipv4/ip_local_port_range", 2, "%u %u", first, last) && *last >= *first;
}

int ports_check(uint64_t connections, struct problem *problem)
{
    unsigned first, last;
    if (!read_range(&first, &last) || connections <= last - first + 1)
        return 0;
    return problem_unsupported(problem,
                               "connections=%" PRIu64 " needs as many local ports, but " RANGE
                               " has only %u: as root, sysctl -w " RANGE "=\"1024 65535\"",
                               connections, last - first + 1);
}

int address_connect(int fd, const struct address *address, int within_ms, struct problem *problem)
{
    struct timeval within = {.tv_sec = within_ms / 1000, .tv_usec = within_ms % 1000 * 1000}, never = {0};
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    int error;

    if (address->any.sa_family == AF_UNIX) {
        /* Blocks: connect(2) of a non-blocking Unix socket fails at once when the backlog is full,
         * and no event reports that the backlog has room (unix(7)). */
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &within, sizeof within);
        error = connect(fd, &address->any, address->size) < 0 ? errno : 0;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &never, sizeof never);
        error = error == EAGAIN ? ETIMEDOUT : error;
    } else {
        sockets_set_blocking(fd, false);
        error = connect(fd, &address->any, address->size) < 0 ? errno : 0;
        if (error == EINPROGRESS)
            error = poll(&writable, 1, within_ms) == 1 ? -sockets_error(fd) : ETIMEDOUT;
        sockets_set_blocking(fd, true);
    }
    return error ? address_refused(address, error, problem) : 0;
}

int address_refused(const struct address *address, int error, struct problem *problem)
{
    const char *text = address_text(address);
    unsigned first = 0, last = 0, waiting = 0;

    if (error != EADDRNOTAVAIL || address->any.sa_family == AF_UNIX)
        return problem_of_kind(problem, problem_kind_of(error), "cannot connect to %s: %s", text,
                               strerror(error));
    /* proc(5), net/sockstat: the line "TCP: inuse 5 orphan 0 tw 12 ..." */
    if (!read_range(&first, &last) ||
        !scan_file("/proc/net/sockstat", 1, "TCP: inuse %*u orphan %*u tw %u", &waiting))
        return problem_failure(problem, "cannot connect to %s: no local port is free", text);
    return problem_failure(
        problem,
        "cannot connect to %s: no local port of %u to %u is free, and %u closed connections "
        "are in TIME_WAIT; as root, sysctl -w " RANGE
        "=\"1024 65535\" gives more ports, sysctl -w net.ipv4.tcp_tw_reuse=1 uses them again "
        "after a second",
        text, first, last, waiting);
}

/* A file may get the number of one that was just removed. */
static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_mode == b->st_mode &&
           a->st_mtime == b->st_mtime;
}

/* The file is moved into a new folder first: if it is not the one that was tried, another program
 * has put it there since, and gets it back. */
bool address_remove_stale(const struct address *address)
{
    char folder[sizeof address->un.sun_path + sizeof ".XXXXXX"], moved[sizeof folder + 2];
    const char *path = address_path(address);
    struct stat tried, found;

    if (!*path || lstat(path, &tried) < 0 || !S_ISSOCK(tried.st_mode))
        return false;
    CLEANUP_CLOSE int fd = sockets_make(AF_UNIX, SOCK_STREAM, 0, false);
    if (fd < 0 || connect(fd, &address->any, address->size) == 0 || errno != ECONNREFUSED)
        return false;
    snprintf(folder, sizeof folder, "%s.XXXXXX", path);
    if (!mkdtemp(folder))
        return false;
    snprintf(moved, sizeof moved, "%s/s", folder);
    bool is_tried = rename(path, moved) == 0 && lstat(moved, &found) == 0 && is_same_file(&found, &tried);
    if (is_tried || link(moved, path) == 0)
        unlink(moved);
    rmdir(folder);
    return is_tried;
}

int address_listen(int fd, struct address *address, struct problem *problem)
{
    const char *text = address_text(address); /* with the port that was asked for */

    if (fd < 0)
        fd = sockets_make(address->any.sa_family, SOCK_STREAM, 0, false);
    if (fd < 0)
        return problem_failure(problem, "cannot make a socket for %s: %s", text, strerror(errno));
    sockets_set_blocking(fd, false);
    /* A given port can be reused at once, although the system may still have connections to it in
     * TIME_WAIT. */
    if (address_port(address) != 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    int error = bind(fd, &address->any, address->size) < 0 ? errno : 0;
    if (error == EADDRINUSE && address_remove_stale(address))
        error = bind(fd, &address->any, address->size) < 0 ? errno : 0;
    const char *failed = error ? "bind" : "listen";
    if (!error)
        error = listen(fd, SOMAXCONN) < 0 ? errno : -address_of_socket(address, fd);
    if (!error)
        return fd;
    problem_failure(problem, "cannot %s on %s: %s", failed, text, strerror(error));
    close(fd);
    return -1;
}

void address_unlink(const struct address *address)
{
    struct address copy = *address; /* dirname(3) cuts it */
    if (address->any.sa_family != AF_UNIX)
        return;
    unlink(copy.un.sun_path);
    rmdir(dirname(copy.un.sun_path));
}

/* ---- sets of addresses ---- */

int prefix_parse(struct prefix *prefix, const char *text, struct problem *problem)
{
    size_t length = strcspn(text, "/");
    char host[INET6_ADDRSTRLEN] = "";

    *prefix = (struct prefix){.family = AF_UNIX};
    if (!strcmp(text, "unix"))
        return 0;
    if (length < sizeof host)
        memcpy(host, text, length);
    prefix->family = strchr(host, ':') ? AF_INET6 : AF_INET;
    uint64_t longest = prefix->family == AF_INET6 ? 128 : 32, bits = longest;
    if (inet_pton(prefix->family, host, prefix->bytes) == 1 &&
        (!text[length] || units_parse(&units_count, text + length + 1, &bits) == 0) && bits <= longest) {
        prefix->bits = (unsigned)bits;
        return 0;
    }
    return problem_usage(
        problem, "'%.60s' is not a prefix; write it like 10.0.0.0/8, fd00::/8, 192.0.2.1 or unix", text);
}

bool prefix_contains(const struct prefix *prefix, const struct address *address)
{
    unsigned whole = prefix->bits / 8, rest = prefix->bits % 8;
    uint8_t host[16];
    if (address_host(host, address) != prefix->family || memcmp(host, prefix->bytes, whole) != 0)
        return false;
    return !rest || (host[whole] ^ prefix->bytes[whole]) >> (8 - rest) == 0;
}
