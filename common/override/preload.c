/* SPDX-License-Identifier: MIT */
#include "override/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>

#define SLOTS 65536   /* descriptors from there on are not followed */
#define OPEN_GROUPS 8 /* of a thread; one more ends them all */
#define NS_PER_MS 1000000

struct next preload_next_functions;
struct shared *preload_shared;

enum slot_state { SLOT_UNKNOWN, SLOT_OTHER, SLOT_STREAM };
enum slot_nodelay { NODELAY_UNKNOWN, NODELAY_OFF, NODELAY_ON };

/* Fields are written by any thread that uses the descriptor; each alone is consistent. */
struct slot {
    _Atomic uint8_t state, is_tcp, corked, nodelay;
    _Atomic uint8_t kind;
    _Atomic uint32_t groups;
    _Atomic uint64_t sent_ns; /* when the last send returned; 0 after a receive */
};

struct group {
    int fd;
    struct slot *slot;
    uint32_t sends;
    bool held; /* the last send has a MSG_MORE that this library added */
    uint64_t fragments[SHARED_FRAGMENTS];
};

static struct slot slots[SLOTS];
static pthread_key_t at_thread_exit;
static bool has_exit_key;
static pid_t own_pid; /* this process, since it began or fork(2) returned */

/* `busy`: a signal handler that sends meanwhile makes its call, and notes nothing. */
static __thread struct {
    volatile bool busy, leaves;
    unsigned count;
    struct group groups[OPEN_GROUPS];
} thread;

#define RELAXED memory_order_relaxed
#define ADD(counter, by) atomic_fetch_add_explicit(&(counter), (by), RELAXED)
#define GET(field) atomic_load_explicit(&(field), RELAXED)
#define SET(field, to) atomic_store_explicit(&(field), (to), RELAXED)

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* FNV-1a; never 0. */
static uint64_t hash(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t sum = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(1099511628211);
    return sum ? sum : 1;
}

/* Whether the entry has this key, or takes it; `*is_new`: the caller must describe the entry. */
static bool claim(_Atomic uint64_t *key, uint64_t wanted, bool *is_new)
{
    uint64_t found = GET(*key);

    if (!found && atomic_compare_exchange_strong(key, &found, wanted)) {
        *is_new = true;
        return true;
    }
    return found == wanted;
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

/* Makes the changes of options; `kind` may be NULL. */
static void options_change(int fd, bool is_tcp, struct shared_kind *kind)
{
    const struct change *change = &preload_shared->change;
    unsigned set = 0;

    if (is_tcp && changes(CHANGE_NODELAY | CHANGE_NAGLE))
        set += option_set(fd, IPPROTO_TCP, TCP_NODELAY, changes(CHANGE_NODELAY));
    if (changes(CHANGE_SNDBUF))
        set += option_set(fd, SOL_SOCKET, SO_SNDBUF, (int)change->bytes[CHANGE_SNDBUF_POSITION]);
    if (changes(CHANGE_RCVBUF))
        set += option_set(fd, SOL_SOCKET, SO_RCVBUF, (int)change->bytes[CHANGE_RCVBUF_POSITION]);
    if (kind)
        ADD(kind->changed, set);
}

static void options_read(int fd, const struct slot *slot)
{
    struct shared_kind *kind = &preload_shared->kinds[GET(slot->kind)];
    int sndbuf_bytes = option_get(fd, SOL_SOCKET, SO_SNDBUF);

    if (sndbuf_bytes < 0)
        return; /* no socket any more */
    SET(kind->nodelay, GET(slot->is_tcp) ? option_get(fd, IPPROTO_TCP, TCP_NODELAY) : -1);
    SET(kind->sndbuf_bytes, sndbuf_bytes);
    SET(kind->rcvbuf_bytes, option_get(fd, SOL_SOCKET, SO_RCVBUF));
    ADD(kind->read_back, 1);
}

/* Sends what TCP holds back: to set TCP_NODELAY does so even if it is set. Then the socket has the
 * program's setting again. */
static void push(int fd, struct slot *slot)
{
    if (GET(slot->corked))
        return; /* the program holds it back itself */
    if (GET(slot->nodelay) == NODELAY_UNKNOWN)
        SET(slot->nodelay, option_get(fd, IPPROTO_TCP, TCP_NODELAY) > 0 ? NODELAY_ON : NODELAY_OFF);
    option_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (GET(slot->nodelay) == NODELAY_OFF)
        option_set(fd, IPPROTO_TCP, TCP_NODELAY, 0);
    ADD(preload_shared->kinds[GET(slot->kind)].pushes, 1);
}

/* ---- groups ---- */

/* Rounds a fragment up to a power of two. */
static uint64_t rounded(uint64_t fragment)
{
    uint64_t bytes = FRAGMENT_BYTES(fragment), power = 1;

    while (power < bytes)
        power *= 2;
    return fragment - bytes + power;
}

static bool shape_count(struct shared_kind *kind, unsigned from, unsigned to, const struct group *group)
{
    unsigned known = group->sends < SHARED_FRAGMENTS ? group->sends : SHARED_FRAGMENTS;
    uint64_t key = hash(group->fragments, sizeof group->fragments[0] * known) ^ group->sends ^ from;

    for (unsigned i = from; i < to; i++) {
        struct shared_shape *shape = &kind->shapes[i];
        bool is_new = false;

        if (!claim(&shape->key, key ? key : 1, &is_new))
            continue;
        ADD(shape->groups, 1);
        if (!is_new)
            return true;
        shape->sends = group->sends;
        shape->rounded = from > 0;
        memcpy(shape->fragments, group->fragments, sizeof group->fragments[0] * known);
        atomic_store_explicit(&shape->described, 1, memory_order_release);
        return true;
    }
    return false;
}

static void group_end(struct group *group)
{
    struct slot *slot = group->slot;
    struct shared_kind *kind = &preload_shared->kinds[GET(slot->kind)];
    uint32_t groups;

    if (group->held)
        push(group->fd, slot);
    groups = ADD(slot->groups, 1) + 1;
    if (!(groups & (groups - 1))) /* a program may set options late: 1, 2, 4, 8, ... */
        options_read(group->fd, slot);
    ADD(kind->groups, 1);
    if (!preload_shared->watches || shape_count(kind, 0, SHARED_EXACT, group))
        return;
    for (uint32_t i = 0; i < group->sends && i < SHARED_FRAGMENTS; i++)
        group->fragments[i] = rounded(group->fragments[i]);
    if (!shape_count(kind, SHARED_EXACT, SHARED_SHAPES, group))
        ADD(kind->other_groups, 1);
}

/* Ends the groups of this thread on this descriptor, or with -1 on all; `thread.busy` is set. */
static void groups_end_busy(int fd)
{
    unsigned left = 0;

    for (unsigned i = 0; i < thread.count; i++) {
        if (fd < 0 || thread.groups[i].fd == fd)
            group_end(&thread.groups[i]);
        else
            thread.groups[left++] = thread.groups[i];
    }
    thread.count = left;
}

static void groups_end(int fd)
{
    int saved = errno;

    if (!thread.count || thread.busy)
        return;
    thread.busy = true;
    groups_end_busy(fd);
    thread.busy = false;
    errno = saved;
}

/* The group of this thread on this descriptor, which begins here if there is none. */
static struct group *group_of(int fd, struct slot *slot)
{
    struct group *group = thread.groups;

    for (; group < thread.groups + thread.count; group++)
        if (group->fd == fd)
            return group;
    if (thread.count == OPEN_GROUPS) {
        groups_end_busy(-1);
        group = thread.groups;
    }
    if (!thread.leaves && has_exit_key)
        thread.leaves = pthread_setspecific(at_thread_exit, &thread) == 0;
    *group = (struct group){.fd = fd, .slot = slot};
    thread.count++;
    return group;
}

bool preload_has_sent(void)
{
    return thread.count > 0;
}

void preload_waits(void)
{
    groups_end(-1);
}

void preload_receives(int fd)
{
    int saved = errno;
    struct stat status;

    if (thread.count && (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)))
        groups_end(-1);
    errno = saved;
}

static void thread_leaves(void *unused)
{
    (void)unused;
    groups_end(-1);
}

/* ---- descriptors ---- */

/* What a kind of connections is called, and told from others by. */
static struct kind_name kind_name(int family, enum kind_role role, const struct sockaddr *address,
                                  size_t size)
{
    const struct sockaddr_un *local = (const void *)address;
    struct kind_name name = {.family = (uint16_t)family, .role = (uint16_t)role};

    if (family == AF_INET)
        name.port = ntohs(((const struct sockaddr_in *)address)->sin_port);
    else if (family == AF_INET6)
        name.port = ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    else if (size > offsetof(struct sockaddr_un, sun_path) && size <= sizeof *local) {
        memcpy(name.path, local->sun_path, size - offsetof(struct sockaddr_un, sun_path));
        name.path[0] = name.path[0] ? name.path[0] : '@';
        name.path[sizeof name.path - 1] = '\0';
    }
    return name;
}

/* The kind of this name; the last one, which has none, where the table is full. */
static unsigned kind_find(const struct kind_name *name)
{
    bool is_new = false;
    unsigned i = 0;

    while (i + 1 < SHARED_KINDS && !claim(&preload_shared->kinds[i].key, hash(name, sizeof *name), &is_new))
        i++;
    if (is_new)
        preload_shared->kinds[i].name = *name;
    if (is_new || i + 1 == SHARED_KINDS)
        atomic_store_explicit(&preload_shared->kinds[i].described, 1, memory_order_release);
    return i;
}

static bool is_stream(int family, int type)
{
    return type == SOCK_STREAM && (family == AF_INET || family == AF_INET6 || family == AF_UNIX);
}

/* Begins to follow a stream socket. `address` is the one that names its kind; NULL: its own. */
static void slot_open(int fd, enum kind_role role, const struct sockaddr *address, socklen_t size)
{
    struct slot *slot = &slots[fd];
    struct sockaddr_storage own = {0};
    socklen_t own_size = sizeof own;
    int family = option_get(fd, SOL_SOCKET, SO_DOMAIN);
    struct shared_kind *kind;
    struct kind_name name;

    SET(slot->state, SLOT_OTHER);
    if (!is_stream(family, option_get(fd, SOL_SOCKET, SO_TYPE)) ||
        option_get(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1)
        return;
    if (!address && getsockname(fd, (struct sockaddr *)&own, &own_size) == 0) {
        address = (const struct sockaddr *)&own;
        size = own_size;
    }
    if (!address)
        return;
    SET(slot->is_tcp, family != AF_UNIX);
    name = kind_name(family, role, address, size);
    SET(slot->kind, (uint8_t)kind_find(&name));
    kind = &preload_shared->kinds[GET(slot->kind)];
    ADD(kind->connections, 1);
    options_change(fd, family != AF_UNIX, kind);
    SET(slot->state, SLOT_STREAM);
}

struct slot *slot_of(int fd)
{
    int saved = errno;
    struct slot *slot;

    next();
    if (!preload_shared || fd < 0 || fd >= SLOTS)
        return NULL;
    slot = &slots[fd];
    if (GET(slot->state) == SLOT_UNKNOWN) {
        slot_open(fd, ROLE_INHERITED, NULL, 0);
        errno = saved;
    }
    return GET(slot->state) == SLOT_STREAM ? slot : NULL;
}

/* Whether the descriptor has a slot, and it is one of this process: a child of vfork(2) closes its
 * descriptors in the memory of its parent. */
static bool is_own(int fd)
{
    return preload_shared && fd >= 0 && fd < SLOTS && getpid() == own_pid;
}

void slot_forget(int fd)
{
    struct slot *slot;
    int saved = errno;

    if (!is_own(fd))
        return;
    slot = &slots[fd];
    groups_end(fd);
    if (GET(slot->state) == SLOT_STREAM && GET(slot->groups))
        options_read(fd, slot);
    SET(slot->state, SLOT_UNKNOWN);
    SET(slot->corked, 0);
    SET(slot->nodelay, NODELAY_UNKNOWN);
    SET(slot->groups, 0);
    SET(slot->sent_ns, 0);
    errno = saved;
}

void slot_copy(int from, int to)
{
    if (!is_own(from) || !is_own(to) || from == to)
        return;
    slot_forget(to);
    SET(slots[to].is_tcp, GET(slots[from].is_tcp));
    SET(slots[to].corked, GET(slots[from].corked));
    SET(slots[to].nodelay, GET(slots[from].nodelay));
    SET(slots[to].kind, GET(slots[from].kind));
    SET(slots[to].state, GET(slots[from].state));
}

void slot_accepted(int fd)
{
    int saved = errno;

    if (preload_shared && fd >= 0 && fd < SLOTS)
        slot_open(fd, ROLE_ACCEPTED, NULL, 0);
    errno = saved;
}

void slot_connects(int fd, const struct sockaddr *address)
{
    int saved = errno;

    if (preload_shared && preload_shared->change.bits && address &&
        is_stream(address->sa_family, option_get(fd, SOL_SOCKET, SO_TYPE)))
        options_change(fd, address->sa_family != AF_UNIX, NULL);
    errno = saved;
}

void slot_connected(int fd, const struct sockaddr *address, socklen_t size)
{
    int saved = errno;

    /* connect(2) is called again to ask how the first call ended */
    if (preload_shared && fd >= 0 && fd < SLOTS && GET(slots[fd].state) != SLOT_STREAM && address)
        slot_open(fd, ROLE_CONNECTED, address, size);
    errno = saved;
}

bool slot_set_option(int fd, int level, int name, int value)
{
    bool corks = level == IPPROTO_TCP && name == TCP_CORK,
         delays = level == IPPROTO_TCP && name == TCP_NODELAY;
    bool refused = (corks && changes(CHANGE_NOCORK)) || (delays && changes(CHANGE_NODELAY | CHANGE_NAGLE));
    int saved = errno;

    if (!preload_shared || fd < 0 || fd >= SLOTS)
        return true;
    if (level == SOL_SOCKET &&
        ((name == SO_SNDBUF && changes(CHANGE_SNDBUF)) || (name == SO_RCVBUF && changes(CHANGE_RCVBUF))))
        refused = option_get(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM;
    if (refused && GET(slots[fd].state) == SLOT_STREAM)
        ADD(preload_shared->kinds[GET(slots[fd].kind)].changed, 1);
    if (corks && !refused)
        SET(slots[fd].corked, value != 0);
    if (delays && !refused)
        SET(slots[fd].nodelay, value ? NODELAY_ON : NODELAY_OFF);
    errno = saved;
    return !refused;
}

void slot_sends(int fd)
{
    int saved = errno;

    if (thread.busy)
        return;
    for (unsigned i = 0; i < thread.count; i++) {
        struct group *group = &thread.groups[i];

        if (group->fd != fd && group->held)
            push(group->fd, group->slot);
        group->held &= group->fd == fd;
    }
    errno = saved;
}

int slot_flags(struct slot *slot, size_t size, int flags)
{
    const struct change *change = &preload_shared->change;
    int made = flags;

    if (!GET(slot->is_tcp) || flags & MSG_OOB || thread.busy)
        return flags; /* a Unix socket knows no MSG_MORE */
    if (change->bits & CHANGE_NOMORE)
        made &= ~MSG_MORE;
    if (change->bits & CHANGE_JOIN ||
        (change->bits & CHANGE_MORE && size <= change->bytes[CHANGE_MORE_POSITION]))
        made |= MSG_MORE;
    return made;
}

ssize_t slot_sent(int fd, struct slot *slot, enum counted call, ssize_t moved, int flags, int made)
{
    struct shared_kind *kind = &preload_shared->kinds[GET(slot->kind)];
    int saved = errno;
    struct group *group;

    ADD(kind->calls[call], 1);
    ADD(kind->changed, flags != made);
    if (moved < 0 && (saved == EAGAIN || saved == EWOULDBLOCK)) {
        ADD(kind->would_block, 1);
        groups_end(-1);
    }
    if (moved <= 0 || thread.busy)
        return moved;
    ADD(kind->sent_bytes, (uint64_t)moved);
    thread.busy = true;
    group = group_of(fd, slot);
    if (group->sends < SHARED_FRAGMENTS)
        group->fragments[group->sends] = (uint64_t)moved | (uint64_t)call << FRAGMENT_CALL_SHIFT |
                                         (flags & MSG_MORE ? FRAGMENT_MORE : 0) |
                                         (GET(slot->corked) ? FRAGMENT_CORKED : 0);
    group->sends++;
    group->held = made & ~flags & MSG_MORE;
    if (preload_shared->watches)
        SET(slot->sent_ns, now_ns());
    thread.busy = false;
    errno = saved;
    return moved;
}

ssize_t slot_received(struct slot *slot, enum counted call, ssize_t moved)
{
    struct shared_kind *kind = &preload_shared->kinds[GET(slot->kind)];
    uint64_t sent_ns, waited_ms;
    int saved = errno;

    ADD(kind->calls[call], 1);
    if (moved <= 0)
        return moved;
    ADD(kind->received_bytes, (uint64_t)moved);
    sent_ns = GET(slot->sent_ns);
    if (!sent_ns)
        return moved;
    SET(slot->sent_ns, 0);
    waited_ms = (now_ns() - sent_ns) / NS_PER_MS;
    ADD(kind->turns, 1);
    ADD(kind->waits_40ms, waited_ms >= 35 && waited_ms <= 90);
    ADD(kind->waits_200ms, waited_ms >= 190 && waited_ms <= 290);
    errno = saved;
    return moved;
}

void preload_count(enum counted call)
{
    if (preload_shared)
        ADD(preload_shared->calls[call], 1);
}

/* ---- start ---- */

/* Maps the file behind a descriptor, if it is ours. */
static struct shared *map(int fd)
{
    struct shared *shared;
    struct stat status;

    if (fstat(fd, &status) != 0 || status.st_size != (off_t)sizeof *shared)
        return NULL;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return NULL;
    if (shared->magic == SHARED_MAGIC && shared->size == sizeof *shared)
        return shared;
    munmap(shared, sizeof *shared);
    return NULL;
}

/* Finds the shared memory by the inherited descriptor, which a program that this one starts has not
 * any more, else by its path. Closes what it used: the program's descriptors keep their numbers. */
static struct shared *attach(const char *where)
{
    struct shared *shared;
    char *path = NULL;
    int fd = (int)strtol(where, &path, 10);

    shared = fd >= 0 ? map(fd) : NULL;
    if (!shared && *path == ':') {
        fd = open(path + 1, O_RDWR | O_CLOEXEC);
        shared = fd >= 0 ? map(fd) : NULL;
        if (!shared && fd >= 0)
            preload_next_functions.close(fd);
    }
    if (shared)
        preload_next_functions.close(fd);
    return shared;
}

/* A process that has become another program by execve(2) is noted once. */
static void note_process(void)
{
    uint32_t number = 0;

    own_pid = getpid();
    while (number < SHARED_PROCESSES && GET(preload_shared->processes[number]) != own_pid)
        number++;
    if (number < SHARED_PROCESSES)
        return;
    number = ADD(preload_shared->process_count, 1);
    if (number < SHARED_PROCESSES)
        SET(preload_shared->processes[number], own_pid);
}

/* What the parent held has left before fork(2): the child shares the sockets, and has no groups. */
static void forked_child(void)
{
    thread.count = 0;
    thread.busy = false;
    note_process();
}

__attribute__((constructor(101))) void preload_start(void)
{
    static _Atomic bool started;
    const char *where;

    if (atomic_exchange(&started, true))
        return;
#define LOOK_UP(name) *(void **)&preload_next_functions.name = dlsym(RTLD_NEXT, #name);
    INTERPOSED(LOOK_UP)
#undef LOOK_UP
    where = getenv(SHARED_VARIABLE);
    preload_shared = where ? attach(where) : NULL;
    if (!preload_shared)
        return;
    note_process();
    pthread_atfork(preload_waits, NULL, forked_child);
    has_exit_key = pthread_key_create(&at_thread_exit, thread_leaves) == 0;
}
