/* SPDX-License-Identifier: MIT */
/* Sockets, and where they are: HOST:PORT, [IPV6]:PORT or unix:PATH. */
#pragma once

#include "base/problem.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ADDRESS_MAX 160 /* bytes that hold any formatted address with its NUL */

struct address {
    union {
        struct sockaddr_storage storage; /* the first, so that an initializer zeroes all */
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    };
    socklen_t size;
};

/* Checks the form of an address, without name lookup. 0 or -EINVAL. */
int address_check(const char *text);

/* Parses an address, and looks up all addresses of its host name, which may block for seconds.
 * Returns their number, at most `room`, or -1 with a usage problem (wrong form) or a failure (no
 * such host). */
int address_find(struct address *addresses, size_t room, const char *text, struct problem *problem);

/* Parses an address without name lookup: a host name is a failure. 0 or -1. */
int address_parse_numeric(struct address *address, const char *text, struct problem *problem);

/* The spelling that address_find() reads back, with a numeric host. Returns `text`. address_text()
 * has it in memory that the block of the caller owns. */
const char *address_format(char text[ADDRESS_MAX], const struct address *address);
#define address_text(address) address_format((char[ADDRESS_MAX]){0}, address)

/* The address that a socket is bound to, and that of the other end. 0 or a negative errno value. */
int address_of_socket(struct address *address, int fd);
int address_of_peer(struct address *address, int fd);

/* True for 127.0.0.0/8, ::1 and Unix sockets: nothing outside this machine can reach them. */
bool address_is_local(const struct address *address);

/* The bytes of the host, with zeros behind an IPv4 address. Returns the family: an IPv4-mapped IPv6
 * address (::ffff:192.0.2.1) becomes IPv4. */
int address_host(uint8_t host[16], const struct address *address);

/* Get and set the port, in host order; 0 for Unix sockets. */
int address_port(const struct address *address);
void address_set_port(struct address *address, int port);

/* Get and set the path of a Unix socket; "" for others. 0, or -EINVAL: it is empty or too long. */
const char *address_path(const struct address *address);
int address_set_path(struct address *address, const char *path);

/* connect(2) of a blocking socket. 0, or -1 with a failure that names the address. */
int address_connect(int fd, const struct address *address, int within_ms, struct problem *problem);

/* Sets the problem of a connect(2) that failed with this errno value. Returns -1. */
int address_refused(const struct address *address, int error, struct problem *problem);

/* Makes a non-blocking listening socket and stores the chosen port in the address. Returns the
 * descriptor, or -1 with a failure that names the address. `fd` is a socket with options set, which
 * is closed after a failure; -1: a new one.
 *
 * A process that was killed leaves the file of a Unix socket, which refuses connections: it is
 * removed. Any other file stays: the address is in use. A socket refuses too between bind(2) and
 * listen(2): of two servers that start at the same moment there, one may serve without a path. */
int address_listen(int fd, struct address *address, struct problem *problem);

/* Removes the file of a Unix socket on which no process listens. Returns whether it was removed. */
bool address_remove_stale(const struct address *address);

/* Removes the file of a Unix socket, and its directory. */
void address_unlink(const struct address *address);

/* Checks that so many connections to one address can have a local port each. 0, or -1 with an
 * unsupported problem that names the sysctl. 0 also if the system does not report its range. */
int ports_check(uint64_t connections, struct problem *problem);

/* ---- sets of addresses: 10.1.0.0/16, fd00::/8, 192.0.2.1, or every Unix socket ---- */

struct prefix {
    int family; /* AF_INET, AF_INET6, AF_UNIX */
    uint8_t bytes[16];
    unsigned bits; /* prefix length; 0 for AF_UNIX */
};

/* Parses ADDRESS, ADDRESS/BITS or "unix", without name lookup. 0, or -1 with a usage problem. */
int prefix_parse(struct prefix *prefix, const char *text, struct problem *problem);

/* An IPv4-mapped IPv6 address (::ffff:192.0.2.1) counts as IPv4. */
bool prefix_contains(const struct prefix *prefix, const struct address *address);

/* ---- sockets, the same way on every system: sockets.c ---- */

void sockets_set_blocking(int fd, bool blocking);

/* socket(2), closed on exec. */
int sockets_make(int family, int type, int protocol, bool blocking);

/* Bytes in the send buffer that are not sent yet; 0 where the system does not report them. */
uint64_t sockets_unsent(int fd);

/* SO_ERROR as a negative errno value, or 0; the read clears it. */
int sockets_error(int fd);

/* Whether there is memory for a libuv loop to watch this descriptor. libuv 1.44 ends the process if
 * its table by descriptor cannot grow: maybe_resize() in src/unix/core.c. */
bool sockets_can_watch(int fd);

/* Accepts the next connection of a non-blocking listener, as a blocking or non-blocking socket; -1
 * if none is pending. If no descriptor is free, drops the connection: else the listener would stay
 * readable. */
int sockets_accept(int listener, bool blocking);
