/* SPDX-License-Identifier: MIT */
#include "support/support.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "connection/layer.h"
#include "measure/cpu.h"
#include "measure/tcp_info.h"
#include "ring/ring.h"
#include "transport/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/time.h>

/* Bytes over loopback arrive in microseconds; a cork holds them for 200 ms. */
#define HELD_AFTER_MS 5
#define ARRIVES_WITHIN_MS 150     /* sooner than a cork gives up by itself */
#define ACKNOWLEDGED_WITHIN_MS 20 /* before the kernel sends a delayed acknowledgement by itself */

/* A connected pair of sockets; bytes go from one to the other. */
struct pair {
    struct calls from, to;
};

static bool arrives(const struct pair *pair, int within_ms)
{
    struct pollfd poll_to = {.fd = pair->to.fd, .events = POLLIN};
    return poll(&poll_to, 1, within_ms) == 1;
}

static bool send_byte(struct pair *pair, int flags)
{
    return calls_send(&pair->from, "u", 1, flags) == 1;
}

static bool receives(struct pair *pair, const char *expected)
{
    size_t size = strlen(expected);
    char text[16];
    return arrives(pair, ARRIVES_WITHIN_MS) && calls_recv(&pair->to, text, size, 0) == (ssize_t)size &&
           !memcmp(text, expected, size);
}

static bool probe_nodelay(struct pair *pair)
{
    for (int on = 0; on <= 1; on++) {
        int now = !on;
        socklen_t size = sizeof now;
        if (calls_set_option(&pair->from, CALL_SETSOCKOPT, IPPROTO_TCP, TCP_NODELAY, on) < 0 ||
            getsockopt(pair->from.fd, IPPROTO_TCP, TCP_NODELAY, &now, &size) < 0 || !now != !on)
            return false;
    }
    return true;
}

/* A corked byte does not arrive; after uncorking it does. */
static bool probe_cork(struct pair *pair)
{
    return options_set_cork(&pair->from, true) == 0 && send_byte(pair, 0) && !arrives(pair, HELD_AFTER_MS) &&
           options_set_cork(&pair->from, false) == 0 && receives(pair, "u");
}

/* A byte with MSG_MORE does not arrive, until a second byte without the flag pushes both. */
static bool probe_more(struct pair *pair)
{
    return send_byte(pair, MSG_MORE) && !arrives(pair, HELD_AFTER_MS) && send_byte(pair, 0) &&
           receives(pair, "u");
}

/* recv(2) counts the bytes and does not change the buffer. */
static bool probe_truncate(struct pair *pair)
{
    char buffer[] = "1234567";
    return calls_send(&pair->from, "abcdefg", 7, 0) == 7 && arrives(pair, ARRIVES_WITHIN_MS) &&
           calls_recv(&pair->to, buffer, 7, MSG_TRUNC | MSG_DONTWAIT) == 7 && !strcmp(buffer, "1234567") &&
           !arrives(pair, 0);
}

static bool probe_descriptor(struct pair *pair)
{
    return send_byte(pair, 0) && receives(pair, "u");
}

static bool probe_sendfile(struct pair *pair)
{
    static const char text[] = "from a file";
    struct memory memory;
    bool holds = memory_open(&memory, 2 * sizeof text, true) == 0;
    if (holds) {
        memcpy(memory.bytes + 1, text, sizeof text);
        holds = calls_sendfile(&pair->from, memory.file, 1, strlen(text)) == (ssize_t)strlen(text) &&
                receives(pair, text);
    }
    memory_close(&memory);
    return holds;
}

/* The bytes arrive. After the receiver has read them, the kernel reports the completion. */
static bool probe_zerocopy(struct pair *pair)
{
    struct pollfd returns = {.fd = pair->from.fd};
    struct zerocopy_notification notification;
    return zerocopy_enable(pair->from.fd) == 0 && send_byte(pair, zerocopy_flag) && receives(pair, "u") &&
           poll(&returns, 1, ARRIVES_WITHIN_MS) == 1 &&
           calls_take_notification(&pair->from, &notification) == 0 && notification.first == 0 &&
           notification.last == 0;
}

#define MAPPED_PAGES 4

/* Memory of a zero-copy send arrives as whole pages: over loopback the kernel copies it to them. */
static bool probe_map(struct pair *pair)
{
    size_t size = MAPPED_PAGES * mapping_page();
    struct memory memory = {0};
    struct mapping mapping = {0};
    bool holds = mapping_open(&mapping, pair->to.fd, size) == 0 && memory_open(&memory, size, false) == 0;
    struct mapped mapped = {.pages = mapping.pages, .most = mapping.size};

    if (holds) {
        memset(memory.bytes, 'u', size);
        holds = zerocopy_enable(pair->from.fd) == 0 &&
                calls_send(&pair->from, memory.bytes, size, zerocopy_flag) == (ssize_t)size &&
                arrives(pair, ARRIVES_WITHIN_MS) && calls_map(&pair->to, &mapped) == 0 && mapped.mapped &&
                !memcmp(mapping.pages, memory.bytes, mapped.mapped);
    }
    mapping_close(&mapping);
    memory_close(&memory);
    return holds;
}

/* By Nagle's algorithm a small segment waits for the acknowledgement of the previous one. So its
 * arrival shows when the peer acknowledged. A delayed acknowledgement is sent after 40 ms. */
static bool probe_quickack(struct pair *pair)
{
    return calls_set_option(&pair->from, CALL_SETSOCKOPT, IPPROTO_TCP, TCP_NODELAY, 0) == 0 &&
           options_set_quickack(&pair->to, false) == 0 && send_byte(pair, 0) && receives(pair, "u") &&
           send_byte(pair, 0) && !arrives(pair, HELD_AFTER_MS) &&
           options_set_quickack(&pair->to, true) == 0 && arrives(pair, ACKNOWLEDGED_WITHIN_MS);
}

#define KEPT_BYTES (64 << 10) /* above every system's minimum, below every system's default */
#define SENDS 32              /* of a quarter of that; by then a system has adapted the size */

static int rcvbuf_of(int fd)
{
    int size = 0;
    socklen_t length = sizeof size;
    return getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0 ? size : -1;
}

/* After a set SO_RCVBUF, the system adapts neither the buffer of the listener nor those of accepted
 * sockets: SO_RCVBUF is the same after many receives. Each part fits into the buffer, so no call
 * blocks for long. */
static bool probe_keep(struct pair *pair)
{
    static const struct timeval timeout = {.tv_usec = ARRIVES_WITHIN_MS * 1000};
    static char part[KEPT_BYTES / 4];
    const int size = KEPT_BYTES;
    struct address address;
    bool is_tcp = address_of_socket(&address, pair->to.fd) == 0 && address.storage.ss_family == AF_INET;
    CLEANUP_CLOSE int listener = is_tcp ? socket(AF_INET, SOCK_STREAM, 0) : -1;
    int fds[2], sends = 0;

    if (setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, sizeof size) < 0 ||
        tcp_pair_through(listener, 0, fds) < 0)
        return false;
    int before = rcvbuf_of(fds[1]);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    setsockopt(fds[1], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    while (sends < SENDS && send(fds[0], part, sizeof part, MSG_NOSIGNAL) == sizeof part &&
           recv(fds[1], part, sizeof part, MSG_WAITALL) == sizeof part)
        sends++;
    bool keeps = sends == SENDS && before == rcvbuf_of(listener) && before == rcvbuf_of(fds[1]);
    close(fds[0]);
    close(fds[1]);
    return before > 0 && keeps;
}

static const struct probe {
    unsigned capability;
    bool (*holds)(struct pair *pair); /* NULL: the test of a ring */
    bool sends;                       /* or receives, with these options */
    unsigned options;
} probes[] = {
    {CAPABLE_DESCRIPTOR, .holds = probe_descriptor},
    {CAPABLE_NODELAY, .holds = probe_nodelay},
    {CAPABLE_CORK, .holds = probe_cork},
    {CAPABLE_MORE, .holds = probe_more},
    {CAPABLE_TRUNCATE, .holds = probe_truncate},
    {CAPABLE_SENDFILE, .holds = probe_sendfile},
    {CAPABLE_ZEROCOPY, .holds = probe_zerocopy},
    {CAPABLE_MAP, .holds = probe_map},
    {CAPABLE_QUICKACK, .holds = probe_quickack},
    {CAPABLE_INHERIT_RCVBUF, .holds = probe_keep},
    {CAPABLE_RECV_MULTISHOT, .options = 0},
    {CAPABLE_RECVMSG_MULTISHOT, .options = RECEIVE_MESSAGE},
    {CAPABLE_RECV_BUNDLE, .options = RECEIVE_BUNDLE},
    {CAPABLE_SEND_BUFFERS, .sends = true, .options = SEND_PROVIDED},
    {CAPABLE_SEND_BUNDLE, .sends = true, .options = SEND_PROVIDED | SEND_BUNDLE},
    {CAPABLE_SEND_ZC, .sends = true, .options = SEND_ZEROCOPY},
};

/* Returns 1 or 0; a negative errno value: no pair of sockets could be made. */
static int probe_one(const struct transport *transport, const struct probe *probe)
{
    int fds[2], result = transport->pair(transport->protocol, fds);

    if (result < 0)
        return result;
    struct pair pair = {.from = {.table = &calls_of_sockets, .fd = fds[0]},
                        .to = {.table = &calls_of_sockets, .fd = fds[1]}};
    if (transport->is_tcp) /* else Nagle's algorithm would look like a cork */
        setsockopt(fds[0], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    result = probe->holds ? probe->holds(&pair) : ring_has(probe->sends, probe->options, fds[0], fds[1]);
    close(fds[0]);
    close(fds[1]);
    return result;
}

/* The process may be preempted for longer than a cork holds its bytes: then the test fails. So a
 * test that fails is repeated, because its answer is kept. */
#define ATTEMPTS 3

#define TRANSPORTS_MAX 16 /* with more transports the last slot is used again */

int probe_capabilities(const struct transport *transport, unsigned wanted, unsigned *found)
{
    static struct answers {
        const struct transport *transport;
        unsigned asked, found;
    } known[TRANSPORTS_MAX];
    struct answers *answers = known;

    *found = wanted & ~(unsigned)CAPABLE_MAP;
    if (!transport->pair)
        return 0; /* all calls of transport=null succeed; it has no pages to map */
    while (answers < &known[TRANSPORTS_MAX - 1] && answers->transport && answers->transport != transport)
        answers++;
    if (answers->transport != transport)
        answers->asked = answers->found = 0;
    answers->transport = transport;
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        unsigned capability = probes[i].capability;
        int holds = 0;

        if (!(wanted & capability & ~answers->asked))
            continue;
        for (int attempt = 0; attempt < ATTEMPTS && holds == 0; attempt++)
            holds = probe_one(transport, &probes[i]);
        if (holds < 0)
            return holds;
        answers->asked |= capability;
        answers->found |= holds ? capability : 0;
    }
    *found = answers->found & wanted;
    return 0;
}

void probe_counters(void)
{
    int fds[2];
    cpu_probe();
    if (tcp_make_pair(0, fds) < 0)
        return;
    options_probe_mss(fds);
    tcp_info_probe(fds);
    close(fds[0]);
    close(fds[1]);
}
