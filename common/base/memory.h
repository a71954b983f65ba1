/* SPDX-License-Identifier: MIT */
/* The memory of messages: what an end sends from, what it receives into, and spans of both.
 *
 * Sends and receives without a copy need Linux: MSG_ZEROCOPY (4.14), TCP_ZEROCOPY_RECEIVE (4.18).
 * Elsewhere zerocopy_enable() and mapping_open() fail; zerocopy_take_notification() and
 * mapping_receive() do not exist. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory to send from: page-aligned heap memory, or for sendfile(2) pages of an unnamed file. */
struct memory {
    uint8_t *bytes; /* page-aligned */
    size_t size;
    int file; /* the file behind the pages; -1: heap memory */
};

/* Allocates memory, as a file if `as_file`. 0 or -errno; call memory_close() in both cases. */
int memory_open(struct memory *memory, size_t size, bool as_file);
void memory_close(struct memory *memory);

/* Bounds what glibc keeps of freed memory: pieces of 128 KiB and more are unmapped, and so is the
 * top of an arena from that size on. Without it both sizes grow with what is freed, up to 32 and
 * 64 MiB (mallopt(3), M_MMAP_THRESHOLD). For a process that runs for days, before its first thread. */
void memory_keep_little(void);

/* Gives memory that free(3) keeps back to the system, where the C library can: glibc. It does so
 * for the top of the first arena only, so a process of many short threads calls memory_share(),
 * before it starts them: all have one arena. */
void memory_trim(void);
void memory_share(void);

/* Completed zero-copy sends, which the kernel numbers for each socket, from 0 on: all from `first`
 * to `last`. Numbers wrap: `last` may be less than `first`. Until its notification is in the error
 * queue of the socket, the memory of a send must not change. */
struct zerocopy_notification {
    uint32_t first, last;
    bool copied; /* the kernel copied their bytes */
};

/* MSG_ZEROCOPY, a flag of sendmsg(2); 0 on a system without it. */
extern const int zerocopy_flag;

/* Enables zero-copy sends on this socket (SO_ZEROCOPY). 0 or a negative errno value. */
int zerocopy_enable(int fd);

/* Takes the first message of the error queue, by one non-blocking recvmsg(2). 0, or -1 with errno:
 * EAGAIN if the queue is empty, EPROTO if the message is not a zero-copy notification. */
int zerocopy_take_notification(int fd, struct zerocopy_notification *notification);

/* Memory into which the kernel maps received pages of a TCP socket. */
struct mapping {
    uint8_t *pages;
    size_t size; /* whole pages */
};

/* Argument and result of one mapping_receive(): it maps whole pages, then copies the rest. */
struct mapped {
    uint8_t *pages; /* in a mapping of this socket; the call unmaps the pages of the last call */
    size_t most;    /* bytes that may be mapped at `pages` */
    uint8_t *rest;  /* buffer for less than a page */
    size_t rest_most;

    size_t mapped, copied; /* bytes that the call has mapped and copied */
    size_t skip;           /* bytes to receive by recv(2) before the kernel maps pages again */
    int error;             /* of the connection, a negative errno value, reported once; or 0 */
};

size_t mapping_page(void); /* bytes of a page */

/* Maps `size` bytes of the socket, rounded down to whole pages, at least one. 0 or -errno. */
int mapping_open(struct mapping *mapping, int fd, size_t size);
void mapping_close(struct mapping *mapping);

/* Takes received bytes by one non-blocking getsockopt(2). 0, or -1 with errno; EIO at the end. */
int mapping_receive(int fd, struct mapped *mapped);

/* The least power of two that is `size` (at most 2^63) or more; 1 for 0. For masks of rings. */
static inline uint64_t power_of_two(uint64_t size)
{
    uint64_t power = 1;
    while (power < size)
        power *= 2;
    return power;
}

/* A span is a sequence of fragments of one size: 15x2 of a message, or adjacent buffers of a ring.
 * Arrivals, the send queue and releases work on spans, so many small fragments cost as much as one.
 * Its memory is released as a whole: it has one fragment or at most SPAN_BYTES_MAX bytes. */
#define SPAN_BYTES_MAX 4096u
#define SPAN_OF_MANY 4u /* a mark: the span has several fragments; without it, one */

struct span {
    const uint8_t *data;
    uint32_t size;     /* bytes of all fragments */
    uint32_t marks;    /* FRAGMENT_ENDS_GROUP, FRAGMENT_ENDS_MESSAGE of the last; SPAN_OF_MANY */
    uint32_t fragment; /* with SPAN_OF_MANY: bytes of each; the last may be shorter */
    bool repeats;      /* all fragments are the same memory; else they are adjacent */
};

static inline uint32_t span_count(const struct span *span)
{
    return span->marks & SPAN_OF_MANY ? (span->size + span->fragment - 1) / span->fragment : 1;
}

/* The receive buffers of one data thread. An end that does not keep received bytes has one buffer,
 * which is always spare. A relay takes a buffer, and releases it when its bytes have been sent. An
 * io_uring provides all buffers to the kernel; on_release() provides each released buffer again. */
struct pool {
    uint8_t *memory; /* `count` buffers, each of `size` bytes behind `headroom` */
    size_t size, headroom;
    unsigned shift; /* size + headroom == 1 << shift; 0: that sum is 1 or no power of two */
    uint32_t count;
    uint32_t *spare; /* numbers of the free buffers; the last one is used next */
    uint32_t spare_count;
    struct kept {       /* for a relay, by the number of the first buffer of a span: */
        uint32_t size;  /* bytes in the span; only its last buffer may be partly filled */
        uint32_t count; /* buffers, one after the other in memory */
        uint32_t next;  /* number of the buffer with which the next span begins */
    } * kept;

    /* Called for `count` released buffers, which do not become spare. NULL: they become spare. */
    void (*on_release)(void *owner, uint32_t number, uint32_t count);
    void *owner;
};

/* Allocates the buffers and touches all pages. 0 or -ENOMEM; call pool_close() in both cases. */
int pool_open(struct pool *pool, size_t size, size_t headroom, uint32_t count);
void pool_close(struct pool *pool);

static inline uint8_t *pool_buffer(const struct pool *pool, uint32_t number)
{
    return pool->memory + number * (pool->size + pool->headroom) + pool->headroom;
}

/* The number of the buffer that contains `data`: by a shift if possible, which is faster. */
static inline uint32_t pool_number(const struct pool *pool, const uint8_t *data)
{
    size_t offset = (size_t)(data - pool->memory);
    return (uint32_t)(pool->shift ? offset >> pool->shift : offset / (pool->size + pool->headroom));
}

/* The next spare buffer; NULL when all are taken. It stays spare until pool_take(). */
static inline uint8_t *pool_next(const struct pool *pool)
{
    return pool->spare_count ? pool_buffer(pool, pool->spare[pool->spare_count - 1]) : NULL;
}

static inline void pool_take(struct pool *pool)
{
    pool->spare_count--;
}

/* How many buffers `size` bytes occupy if they start at the beginning of a buffer. */
static inline uint32_t pool_count(const struct pool *pool, size_t size)
{
    return size <= pool->size ? 1 : (uint32_t)((size + pool->size - 1) / pool->size);
}

/* Releases the buffers of `size` bytes, from the buffer that contains `data` on. */
static inline void pool_release(struct pool *pool, const uint8_t *data, size_t size)
{
    uint32_t number = pool_number(pool, data), count = pool_count(pool, size);
    if (pool->on_release)
        pool->on_release(pool->owner, number, count);
    else
        while (count--)
            pool->spare[pool->spare_count++] = number + count;
}
