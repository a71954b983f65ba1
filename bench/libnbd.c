/* SPDX-License-Identifier: MIT */
/*
 * Reads of an NBD server by libnbd, as its manual shows them: nbd_pread(3) at depth 1, else nbd_aio_pread(3)
 * and nbd_poll(3). No histogram, no counts but the one that is printed. Simple replies, and no buffer is
 * cleared before a read: the least that libnbd can do.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <libnbd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define LIMIT (UINT64_C(1) << 30)

struct work {
    struct nbd_handle *nbd;
    char *buffers;
    uint64_t depth, bytes, size; /* of a read and of the export */
    uint64_t offset, done;
    uint64_t *spare, idle; /* a stack of the buffers that no read in flight has, and its height */
};

struct completion {
    struct work *work;
    uint64_t buffer;
};

_Noreturn static void die(const char *what, const char *why)
{
    fprintf(stderr, "libnbd: %s: %s\n", what, why);
    exit(1);
}

static uint64_t clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t offset_next(struct work *work)
{
    uint64_t offset = work->offset + work->bytes > work->size ? 0 : work->offset;

    work->offset = offset + work->bytes;
    return offset;
}

static int on_done(void *data, int *error)
{
    const struct completion *completion = data;
    struct work *work = completion->work;

    if (*error)
        die("nbd_aio_pread", strerror(*error));
    work->spare[work->idle++] = completion->buffer;
    work->done++;
    return 1; /* the command is retired */
}

/* Completes at least one read. */
static void step_many(struct work *work, struct completion *completions)
{
    uint64_t before = work->done;

    while (work->idle) {
        struct completion *completion = &completions[work->spare[--work->idle]];

        if (nbd_aio_pread(work->nbd, work->buffers + completion->buffer * work->bytes, work->bytes,
                          offset_next(work),
                          (nbd_completion_callback){.callback = on_done, .user_data = completion}, 0) < 0)
            die("nbd_aio_pread", nbd_get_error());
    }
    while (work->done == before)
        if (nbd_poll(work->nbd, -1) < 0)
            die("nbd_poll", nbd_get_error());
}

static void step_one(struct work *work)
{
    if (nbd_pread(work->nbd, work->buffers, work->bytes, offset_next(work), 0) < 0)
        die("nbd_pread", nbd_get_error());
    work->done++;
}

/* Reads until `until_ns`. Returns when the last reply was there. */
static uint64_t run_until(struct work *work, struct completion *completions, uint64_t until_ns)
{
    uint64_t now_ns;

    do {
        if (work->depth == 1)
            step_one(work);
        else
            step_many(work, completions);
        now_ns = clock_now_ns();
    } while (now_ns < until_ns);
    return now_ns;
}

static void work_open(struct work *work, const char *address, const char *port)
{
    int64_t size;

    work->nbd = nbd_create();
    if (!work->nbd || nbd_set_request_structured_replies(work->nbd, false) < 0 ||
        nbd_set_pread_initialize(work->nbd, false) < 0 || nbd_connect_tcp(work->nbd, address, port) < 0 ||
        (size = nbd_get_size(work->nbd)) < 0)
        die("nbd_connect_tcp", nbd_get_error());
    work->size = (uint64_t)size;
    work->buffers = calloc(work->depth, work->bytes);
    work->spare = calloc(work->depth, sizeof *work->spare);
    if (!work->buffers || !work->spare || work->size < work->bytes)
        die("buffers", "not enough memory, or an export that is smaller than a read");
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    uint64_t value = strtoull(text, &end, 10);

    if (!*text || *end || *text == '-' || value < least || value > most) {
        fprintf(stderr, "usage: libnbd ADDRESS PORT DEPTH BYTES WARMUP_MS DURATION_MS\n");
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    struct work work = {0};
    uint64_t warmup_ns, duration_ns, begun_ns, before, ended_ns;
    struct completion *completions;
    char congestion[16] = "";
    socklen_t length = sizeof congestion - 1;

    work.depth = number(argc == 7 ? argv[3] : "", 1, 1024);
    work.bytes = number(argv[4], 1, UINT64_C(32) << 20);
    warmup_ns = number(argv[5], 0, LIMIT) * NS_PER_MS;
    duration_ns = number(argv[6], 1, LIMIT) * NS_PER_MS;
    work_open(&work, argv[1], argv[2]);
    completions = calloc(work.depth, sizeof *completions);
    if (!completions ||
        getsockopt(nbd_aio_get_fd(work.nbd), IPPROTO_TCP, TCP_CONGESTION, congestion, &length) < 0)
        die("completions", strerror(errno));
    for (uint64_t i = 0; i < work.depth; i++) {
        completions[i] = (struct completion){&work, i};
        work.spare[work.idle++] = i;
    }
    begun_ns = run_until(&work, completions, clock_now_ns() + warmup_ns);
    before = work.done;
    ended_ns = run_until(&work, completions, begun_ns + duration_ns);
    printf("{\"messages\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"elapsed_ns\": %" PRIu64
           ", \"congestion\": \"%s\"}\n",
           work.done - before, (work.done - before) * work.bytes, ended_ns - begun_ns, congestion);
    return 0;
}
