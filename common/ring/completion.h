/* SPDX-License-Identifier: MIT */
/* Asynchronous sends and receives, and their completions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msghdr;

/* Options of a send on a ring; they may be combined. */
enum send_option {
    SEND_LINK = 1,     /* the next request starts after this one completes: IOSQE_IO_LINK */
    SEND_SILENT = 2,   /* success posts no completion: IOSQE_CQE_SKIP_SUCCESS, Linux 5.17 */
    SEND_ZEROCOPY = 4, /* Linux 6.0, several vectors 6.1; after the second completion the memory
                          may be reused */
    SEND_PROVIDED = 8, /* sends the next provided buffer (Linux 6.10) */
    SEND_BUNDLE = 16,  /* with SEND_PROVIDED: sends all provided buffers */
    SEND_RESTART = 32, /* removes the provided buffers first */
};

struct send_request {
    const struct msghdr *message; /* must stay valid with its vectors until the completion. NULL:
                                     `data` is sent */
    const void *data;             /* `size` bytes, which must stay valid as long */
    size_t size;
    int flags;        /* of send(2) */
    unsigned options; /* enum send_option */
    uint32_t token;   /* the completion carries it; at most REQUEST_TOKEN_MAX */
    uint32_t chain;   /* first request of a chain: number of requests to submit together */
    uint32_t provide; /* number of fragments of the queue to provide as buffers first */
};

#define REQUEST_TOKEN_MAX 0xffffffu
#define RING_BUFFERS_MAX 32768u /* provided buffers in one buffer ring */

/* Options of a multishot receive (Linux 6.0). */
enum receive_option {
    RECEIVE_BUNDLE = 1,  /* a completion may fill several buffers (Linux 6.10) */
    RECEIVE_MESSAGE = 2, /* as recvmsg(2): a header precedes the bytes in each buffer. This is also
                            the token of completions with a header */
};

#define RECEIVE_HEADER 16u /* bytes: struct io_uring_recvmsg_out */

struct completion {
    int result;           /* bytes, or a negative errno value */
    uint32_t token;       /* of the request */
    bool more;            /* more completions of the request follow (IORING_CQE_F_MORE) */
    bool is_notification; /* of SEND_ZEROCOPY: the memory may be reused (IORING_CQE_F_NOTIF) */
    bool copied;          /* with is_notification: it was copied (IORING_NOTIF_USAGE_ZC_COPIED) */
    uint16_t buffer;      /* number of the first provided buffer that was used */
};
