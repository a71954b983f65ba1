/* SPDX-License-Identifier: MIT */
/* Which descriptors are stream connections, of which kind, and the options of their sockets. */
#include "override/preload.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

#define SLOTS 65536 /* descriptors from this number on are not tracked */

static struct slot slots[SLOTS];

static struct slot *slot_at(int fd)
{
    return preload_shared && fd >= 0 && fd < SLOTS ? &slots[fd] : NULL;
}

/* ---- options ---- */

static int option_get(int fd, int level, int name)
{
    socklen_t size = sizeof(int);
    int value = 0;
    return next()->getsockopt(fd, level, name, &value, &size) == 0 ? value : -1;
}

static bool option_set(int fd, int level, int name, int value)
{
    return next()->setsockopt(fd, level, name, &value, sizeof value) == 0;
}

/* The family of a stream socket; -1: not a stream socket. */
static int stream_family(int fd)
{
    int family = option_get(fd, SOL_SOCKET, SO_DOMAIN);
    bool known = family == AF_INET || family == AF_INET6 || family == AF_UNIX;
    return known && option_get(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM ? family : -1;
}

unsigned options_change(int fd)
{
    KEEPS_ERRNO;
    const struct change *change = preload_shared ? &preload_shared->change : NULL;
    int family = change && change->bits ? stream_family(fd) : -1;
    unsigned set = 0;

    if (family < 0)
        return 0;
    if (family != AF_UNIX && changes(CHANGE_NODELAY | CHANGE_NAGLE))
        set += option_set(fd, IPPROTO_TCP, TCP_NODELAY, changes(CHANGE_NODELAY));
    if (changes(CHANGE_SNDBUF))
        set += option_set(fd, SOL_SOCKET, SO_SNDBUF, (int)change->bytes[CHANGE_SNDBUF_POSITION]);
    if (changes(CHANGE_RCVBUF))
        set += option_set(fd, SOL_SOCKET, SO_RCVBUF, (int)change->bytes[CHANGE_RCVBUF_POSITION]);
    return set;
}

void options_read(int fd, const struct slot *slot)
{
    struct shared_kind *kind = kind_of(slot);
    int sndbuf_bytes = option_get(fd, SOL_SOCKET, SO_SNDBUF);
    if (sndbuf_bytes < 0)
        return; /* not a socket any more */
    kind->nodelay = slot->is_tcp ? option_get(fd, IPPROTO_TCP, TCP_NODELAY) : -1;
    kind->sndbuf_bytes = sndbuf_bytes;
    kind->rcvbuf_bytes = option_get(fd, SOL_SOCKET, SO_RCVBUF);
    kind->read_back++;
}

/* Setting TCP_NODELAY makes TCP send, even if it was set. Then restores the program's setting. */
void options_push(int fd, const struct slot *slot)
{
    if (slot->corked)
        return;
    bool delays = option_get(fd, IPPROTO_TCP, TCP_NODELAY) == 0;
    option_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (delays)
        option_set(fd, IPPROTO_TCP, TCP_NODELAY, 0);
    kind_of(slot)->pushes++;
}

bool slot_set_option(int fd, int level, int name, int value)
{
    KEEPS_ERRNO;
    struct slot *slot = slot_at(fd);
    bool corks = level == IPPROTO_TCP && name == TCP_CORK;
    bool refused = (corks && changes(CHANGE_NOCORK)) ||
                   (level == IPPROTO_TCP && name == TCP_NODELAY && changes(CHANGE_NODELAY | CHANGE_NAGLE)) ||
                   (level == SOL_SOCKET && name == SO_SNDBUF && changes(CHANGE_SNDBUF)) ||
                   (level == SOL_SOCKET && name == SO_RCVBUF && changes(CHANGE_RCVBUF));

    if (!slot || (refused && stream_family(fd) < 0))
        return true;
    if (refused && slot->state == SLOT_STREAM)
        kind_of(slot)->changed++;
    if (corks && !refused)
        slot->corked = value != 0;
    return !refused;
}

/* ---- descriptors ---- */

/* The kind of this role and address; if all are taken, the last one, which has no name. */
static unsigned kind_find(enum kind_role role, const struct sockaddr_storage *address, size_t size)
{
    const struct sockaddr_un *local = (const void *)address;
    struct kind_name name = {.family = address->ss_family, .role = (uint16_t)role};
    size_t before = offsetof(struct sockaddr_un, sun_path);
    unsigned i = 0;

    if (name.family != AF_UNIX) { /* IPv6 has the port where IPv4 has it */
        name.port = ntohs(((const struct sockaddr_in *)address)->sin_port);
    } else if (size > before && size <= sizeof *local) {
        memcpy(name.path, local->sun_path, size - before);
        name.path[0] = name.path[0] ? name.path[0] : '@';
        name.path[sizeof name.path - 1] = '\0';
    }
    uint64_t key = preload_hash(&name, sizeof name);
    while (i + 1 < SHARED_KINDS && !preload_claim(&preload_shared->kinds[i].key, key))
        i++;
    if (i + 1 < SHARED_KINDS && !preload_shared->kinds[i].connections)
        preload_shared->kinds[i].name = name;
    return i;
}

void slot_open(int fd, enum kind_role role, const struct sockaddr *address, socklen_t size)
{
    KEEPS_ERRNO;
    struct slot *slot = slot_at(fd);
    struct sockaddr_storage named = {0};
    socklen_t named_size = address && size < sizeof named ? size : sizeof named;

    if (role == ROLE_ACCEPTED)
        slot_forget(fd);
    if (!slot || slot->state == SLOT_STREAM)
        return;
    slot->state = SLOT_OTHER;
    if (stream_family(fd) < 0 || option_get(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1)
        return;
    if (address)
        memcpy(&named, address, named_size);
    else if (getsockname(fd, (struct sockaddr *)&named, &named_size) != 0)
        return;
    slot->is_tcp = named.ss_family != AF_UNIX;
    slot->kind = (uint8_t)kind_find(role, &named, named_size);
    kind_of(slot)->connections++;
    kind_of(slot)->changed += options_change(fd);
    slot->state = SLOT_STREAM;
}

struct slot *slot_of(int fd)
{
    next();
    struct slot *slot = slot_at(fd);
    if (slot && slot->state == SLOT_UNKNOWN)
        slot_open(fd, ROLE_INHERITED, NULL, 0);
    return slot && slot->state == SLOT_STREAM ? slot : NULL;
}

/* NULL in a child of vfork(2), which closes descriptors while it uses its parent's memory. */
static struct slot *slot_own(int fd)
{
    return getpid() == preload_process ? slot_at(fd) : NULL;
}

void slot_forget(int fd)
{
    KEEPS_ERRNO;
    struct slot *slot = slot_own(fd);
    if (!slot)
        return;
    groups_end(fd);
    if (slot->state == SLOT_STREAM && slot->groups)
        options_read(fd, slot);
    *slot = (struct slot){0};
}

void slot_copy(int from, int to)
{
    struct slot *source = slot_own(from), *slot = slot_own(to);
    if (!source || !slot || from == to)
        return;
    slot_forget(to);
    *slot = *source;
    slot->groups = 0;
    slot->sent_ns = 0;
}
