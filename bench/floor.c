/* SPDX-License-Identifier: MIT */
/*
 * The floor under uncork: the same work in loops as bare as blocking calls allow. Two processes,
 * each pinned to its CPU, one connection, TCP_NODELAY, congestion control pinned on both ends. No
 * histogram, no counts but the one that is printed, a look at the clock every LOOK messages.
 *
 * The measured interval is that of uncork: in `request` the driver's, from its first send to its
 * last reply; in `stream` the receiver's, from the first arrival after a drained warm-up to the end
 * of the stream.
 *
 * `request-poll` and `stream-poll` wait by a call before each receive, as an event loop does.
 * `request` sends its message by the calls of uncork's strategy WRITE.
 *
 * With two descriptors a stream goes through a proxy: source and sink on connections that are there
 * already.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK 64u
#define TOKEN_BYTES 20
#define NS_PER_MS UINT64_C(1000000)
#define SIZE_LIMIT (UINT64_C(1) << 30)

enum write { WRITE_NODELAY, WRITE_MORE, WRITE_CORK, WRITE_WRITEV, WRITE_COALESCE };

struct plan {
    bool stream, polls;
    enum write write;
    size_t message, reply, chunk;
    size_t first; /* bytes of the first of the two fragments of a message; 0: it is one */
    int rcvbuf;   /* asked for; 0 leaves the system's */
    int client_cpu, server_cpu;
    int source, sink; /* descriptors of connections through a proxy; -1: it makes its own */
    const char *congestion;
    uint64_t warmup_ns, duration_ns;
};

/* What both processes see. The server's figures count once it has ended. */
struct shared {
    _Atomic uint64_t mark; /* stream: at how many bytes the warm-up will have ended */
    uint64_t first_bytes, bytes, begun_ns, ended_ns;
};

struct result {
    uint64_t messages, bytes, elapsed_ns;
};

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

_Noreturn static void die_ended(void)
{
    fprintf(stderr, "floor: the other end closed its connection\n");
    exit(1);
}

static uint64_t clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void *buffer_make(size_t size)
{
    void *buffer = malloc(size);

    if (!buffer)
        die("malloc");
    /* Not zeros: a compiler makes calloc() of those, and then the kernel's one page of zeros is
     * sent. */
    return memset(buffer, 'u', size);
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0)
        die("sched_setaffinity");
}

/* ---- the calls ---- */

static inline void send_all(int fd, const char *data, size_t size, int flags)
{
    while (size) {
        ssize_t sent = send(fd, data, size, flags | MSG_NOSIGNAL);

        if (sent < 0)
            die("send");
        data += sent;
        size -= (size_t)sent;
    }
}

static int epoll_fd = -1; /* -1: receives block */

static void epoll_open(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        die("epoll");
}

static inline size_t recv_some(int fd, char *data, size_t size)
{
    struct epoll_event event;
    ssize_t got;

    if (epoll_fd >= 0 && epoll_wait(epoll_fd, &event, 1, -1) < 0)
        die("epoll_wait");
    got = recv(fd, data, size, 0);
    if (got < 0)
        die("recv");
    return (size_t)got;
}

/* false: the other end has ended its stream, before the first of these bytes. */
static inline bool recv_all(int fd, char *data, size_t size)
{
    for (size_t left = size; left;) {
        size_t got = recv_some(fd, data, left);

        if (got == 0 && left == size)
            return false;
        if (got == 0)
            die_ended();
        left -= got;
    }
    return true;
}

/*
 * A connection of uncork begins with a token, and then rests for as long as the control channel
 * takes. That is part of the work: from such a beginning the kernel tunes the receive buffer to
 * another size, which decides a stream of large messages more than any loop (docs/performance.md).
 */
static void token_send(int fd)
{
    const struct timespec rest = {.tv_nsec = (long)NS_PER_MS};
    char token[TOKEN_BYTES] = "token";

    send_all(fd, token, sizeof token, 0);
    nanosleep(&rest, NULL);
}

static void token_recv(int fd)
{
    char token[TOKEN_BYTES];

    if (!recv_all(fd, token, sizeof token))
        die_ended();
}

/* ---- request ---- */

static inline void set_cork(int fd, int on)
{
    if (setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on) < 0)
        die("TCP_CORK");
}

/* The two fragments are one vector if the first is empty. */
static inline void send_vectors(int fd, char *message, size_t first, size_t rest)
{
    struct iovec vectors[] = {{message, first}, {message + first, rest}};
    struct msghdr header = {.msg_iov = vectors + !first, .msg_iovlen = 2 - (size_t)!first};

    if (sendmsg(fd, &header, MSG_NOSIGNAL) != (ssize_t)(first + rest))
        die("sendmsg, or a part was sent");
}

static inline void ask_once(int fd, const struct plan *plan, char *message, char *copy)
{
    size_t first = plan->first, rest = plan->message - first;

    switch (plan->write) {
    case WRITE_WRITEV:
        send_vectors(fd, message, first, rest);
        return;
    case WRITE_COALESCE:
        memcpy(copy, message, first);
        memcpy(copy + first, message + first, rest);
        send_all(fd, copy, plan->message, 0);
        return;
    case WRITE_CORK:
        set_cork(fd, 1);
        break;
    default:
        break;
    }
    send_all(fd, message, first, plan->write == WRITE_MORE ? MSG_MORE : 0);
    send_all(fd, message + first, rest, 0);
    if (plan->write == WRITE_CORK)
        set_cork(fd, 0);
}

static uint64_t ask_until(int fd, const struct plan *plan, char *message, char *copy, char *reply,
                          uint64_t deadline_ns, uint64_t *now_ns)
{
    uint64_t messages = 0;

    do {
        for (unsigned i = 0; i < LOOK; i++) {
            ask_once(fd, plan, message, copy);
            if (!recv_all(fd, reply, plan->reply))
                die_ended();
        }
        messages += LOOK;
    } while ((*now_ns = clock_now_ns()) < deadline_ns);
    return messages;
}

static struct result ask(int fd, const struct plan *plan)
{
    char *message = buffer_make(plan->message), *copy = buffer_make(plan->message);
    char *reply = buffer_make(plan->reply);
    struct result result = {0};
    uint64_t begun_ns, ended_ns;

    ask_until(fd, plan, message, copy, reply, clock_now_ns() + plan->warmup_ns, &ended_ns);
    begun_ns = clock_now_ns();
    result.messages = ask_until(fd, plan, message, copy, reply, begun_ns + plan->duration_ns, &ended_ns);
    result.elapsed_ns = ended_ns - begun_ns;
    result.bytes = result.messages * plan->message;
    return result;
}

static void answer(int fd, const struct plan *plan)
{
    char *message = buffer_make(plan->message), *reply = buffer_make(plan->reply);

    while (recv_all(fd, message, plan->message))
        send_all(fd, reply, plan->reply, 0);
}

/* ---- stream ---- */

static uint64_t send_until(int fd, const struct plan *plan, const char *message, uint64_t deadline_ns)
{
    uint64_t messages = 0;

    do {
        for (unsigned i = 0; i < LOOK; i++)
            send_all(fd, message, plan->message, 0);
        messages += LOOK;
    } while (clock_now_ns() < deadline_ns);
    return messages;
}

/* The mark stands before the message that reaches it is sent, so the receiver, awake, cannot miss
 * it. */
static void stream_out(int fd, const struct plan *plan, struct shared *shared, int drained)
{
    const char *message = buffer_make(plan->message);
    char byte;

    if (plan->warmup_ns) {
        uint64_t sent = send_until(fd, plan, message, clock_now_ns() + plan->warmup_ns);

        atomic_store(&shared->mark, (sent + 1) * plan->message);
        send_all(fd, message, plan->message, 0);
    }
    if (read(drained, &byte, 1) != 1)
        die_ended();
    send_until(fd, plan, message, clock_now_ns() + plan->duration_ns);
}

static void stream_in(int fd, const struct plan *plan, struct shared *shared, int drained)
{
    char *chunk = buffer_make(plan->chunk);
    uint64_t bytes = 0;
    size_t got;

    while (bytes < atomic_load_explicit(&shared->mark, memory_order_acquire)) {
        got = recv_some(fd, chunk, plan->chunk);
        if (!got)
            die_ended();
        bytes += got;
    }
    if (write(drained, "", 1) != 1)
        die("write");
    bytes = shared->first_bytes = recv_some(fd, chunk, plan->chunk);
    shared->begun_ns = clock_now_ns();
    while ((got = recv_some(fd, chunk, plan->chunk)))
        bytes += got;
    shared->ended_ns = clock_now_ns();
    shared->bytes = bytes;
}

/* ---- two ends ---- */

static void options_set(int fd, const struct plan *plan)
{
    const int on = 1;

    if (plan->rcvbuf && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &plan->rcvbuf, sizeof plan->rcvbuf) < 0)
        die("SO_RCVBUF");
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        die("TCP_NODELAY");
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, plan->congestion, (socklen_t)strlen(plan->congestion)) <
        0)
        die("TCP_CONGESTION");
}

static int listener_open(const struct plan *plan, struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0)
        die("socket");
    options_set(fd, plan);
    if (bind(fd, (struct sockaddr *)address, sizeof *address) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)address, &size) < 0)
        die("listen");
    return fd;
}

_Noreturn static void server_main(const struct plan *plan, int listener, struct shared *shared, int drained)
{
    int fd;

    pin(plan->server_cpu);
    fd = accept(listener, NULL, NULL);
    if (fd < 0)
        die("accept");
    options_set(fd, plan);
    token_recv(fd);
    if (plan->polls)
        epoll_open(fd);
    if (plan->stream)
        stream_in(fd, plan, shared, drained);
    else
        answer(fd, plan);
    _exit(0);
}

static int connection_open(const struct plan *plan, const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0)
        die("socket");
    options_set(fd, plan);
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) < 0)
        die("connect");
    return fd;
}

static void result_print(const struct result *result, int fd)
{
    char congestion[17] = "";
    socklen_t size = sizeof congestion - 1;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, &size) < 0)
        die("TCP_CONGESTION");
    printf("{\"messages\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"elapsed_ns\": %" PRIu64
           ", \"congestion\": \"%s\"}\n",
           result->messages, result->bytes, result->elapsed_ns, congestion);
}

static void run_alone(const struct plan *plan)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct result result = {0};
    struct sockaddr_in address;
    int listener, drained[2], fd, status;
    pid_t server;

    if (shared == MAP_FAILED || pipe(drained) < 0)
        die("mmap, pipe");
    atomic_store(&shared->mark, plan->warmup_ns ? UINT64_MAX : 0);
    listener = listener_open(plan, &address);
    server = fork();
    if (server < 0)
        die("fork");
    if (server == 0) {
        close(drained[0]);
        server_main(plan, listener, shared, drained[1]);
    }
    close(drained[1]);
    close(listener);
    pin(plan->client_cpu);
    fd = connection_open(plan, &address);
    token_send(fd);
    if (plan->polls)
        epoll_open(fd);
    if (plan->stream)
        stream_out(fd, plan, shared, drained[0]);
    else
        result = ask(fd, plan);
    shutdown(fd, SHUT_WR);
    if (waitpid(server, &status, 0) < 0 || status != 0)
        die_ended();
    if (plan->stream) {
        result.bytes = shared->bytes - shared->first_bytes;
        result.messages = result.bytes / plan->message;
        result.elapsed_ns = shared->ended_ns - shared->begun_ns;
    }
    result_print(&result, fd);
}

/* ---- through a proxy ---- */

_Noreturn static void source_main(const struct plan *plan, pid_t sink)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != sink)
        die("prctl");
    pin(plan->client_cpu);
    send_until(plan->source, plan, buffer_make(plan->message), UINT64_MAX);
    _exit(1);
}

/* A proxy may hold back what does not fill half of its buffers, so no warm-up can be drained. The
 * sink looks at the clock at every arrival: its interval is from the last of the warm-up to the
 * first that is late enough. */
static struct result take_through(const struct plan *plan)
{
    struct result result = {0};
    char *chunk = buffer_make(plan->chunk);
    uint64_t begun_ns = 0, now_ns = 0, warm_ns = clock_now_ns() + plan->warmup_ns;
    size_t got;

    while (!begun_ns || now_ns - begun_ns < plan->duration_ns) {
        got = recv_some(plan->sink, chunk, plan->chunk);
        if (!got)
            die_ended();
        now_ns = clock_now_ns();
        if (begun_ns)
            result.bytes += got;
        else if (now_ns >= warm_ns)
            begun_ns = now_ns;
    }
    result.messages = result.bytes / plan->message;
    result.elapsed_ns = now_ns - begun_ns;
    return result;
}

static void run_through(const struct plan *plan)
{
    pid_t sink = getpid(), source;
    struct result result;

    options_set(plan->source, plan);
    options_set(plan->sink, plan);
    source = fork();
    if (source < 0)
        die("fork");
    if (source == 0)
        source_main(plan, sink);
    pin(plan->server_cpu);
    result = take_through(plan);
    kill(source, SIGKILL);
    waitpid(source, NULL, 0);
    result_print(&result, plan->sink);
}

/* ---- words ---- */

_Noreturn static void usage(void)
{
    fprintf(stderr,
            "usage: floor request|stream[-poll] MESSAGE REPLY CHUNK RCVBUF CLIENT_CPU SERVER_CPU CONGESTION "
            "WARMUP_MS DURATION_MS WRITE FIRST [SOURCE_FD SINK_FD] (sizes in bytes; FIRST: of the first of "
            "two fragments, or 0; a stream through a proxy has descriptors)\n");
    exit(2);
}

static uint64_t number(const char *text, uint64_t minimum, uint64_t maximum)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || value < minimum || value > maximum)
        usage();
    return value;
}

/* The index of `text` in a list that ends with NULL. */
static unsigned word(const char *text, const char *const *words)
{
    unsigned index = 0;

    while (words[index] && strcmp(text, words[index]) != 0)
        index++;
    if (!words[index])
        usage();
    return index;
}

int main(int argc, char **argv)
{
    static const char *const works[] = {"request", "stream", "request-poll", "stream-poll", NULL};
    static const char *const writes[] = {"nodelay", "more", "cork", "writev", "coalesce", NULL};
    bool stream, through = argc == 15;
    unsigned work;
    struct plan plan;

    if (argc != 13 && !through)
        usage();
    work = word(argv[1], works);
    stream = work % 2;
    if (through && work != 1)
        usage();
    plan = (struct plan){
        .stream = stream,
        .polls = work >= 2,
        .write = (enum write)word(argv[11], writes),
        .message = number(argv[2], 1, SIZE_LIMIT),
        .reply = number(argv[3], 1, SIZE_LIMIT),
        .chunk = number(argv[4], 1, SIZE_LIMIT),
        .rcvbuf = (int)number(argv[5], 0, SIZE_LIMIT),
        .client_cpu = (int)number(argv[6], 0, CPU_SETSIZE - 1),
        .server_cpu = (int)number(argv[7], 0, CPU_SETSIZE - 1),
        .source = through ? (int)number(argv[13], 0, INT_MAX) : -1,
        .sink = through ? (int)number(argv[14], 0, INT_MAX) : -1,
        .congestion = argv[8],
        .warmup_ns = number(argv[9], 0, 3600000) * NS_PER_MS,
        .duration_ns = number(argv[10], 1, 3600000) * NS_PER_MS,
        .first = number(argv[12], 0, SIZE_LIMIT),
    };
    if (plan.first >= plan.message)
        usage();
    if (through)
        run_through(&plan);
    else
        run_alone(&plan);
    return 0;
}
