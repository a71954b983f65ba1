/* SPDX-License-Identifier: MIT */
/* Sends and receives that complete after the call that began them, and their completions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct msghdr;

/* Options of a send. Only a ring knows them; they may be combined. */
enum send_option {
    SEND_LINK = 1,     /* the next request begins when this one is complete: IOSQE_IO_LINK */
    SEND_SILENT = 2,   /* success posts no completion: IOSQE_CQE_SKIP_SUCCESS, Linux 5.17 */
    SEND_ZEROCOPY = 4, /* without a copy (Linux 6.0, several vectors 6.1); a second completion
                      returns the memory */
    SEND_PROVIDED = 8, /* from the next of the provided buffers (Linux 6.10) */
    SEND_BUNDLE = 16,  /* from all of them, with SEND_PROVIDED */
    SEND_RESTART = 32, /* the provided buffers are emptied first */
};

struct send_request {
    const struct msghdr *message; /* it and its vectors must stay valid until the completion. NULL:
                                     sends `data` */
    const void *data;             /* `size` bytes, valid as long */
    size_t size;
    int flags;        /* of send(2) */
    unsigned options; /* enum send_option */
    uint32_t token;   /* the completion carries it; at most REQUEST_TOKEN_MAX */
    uint32_t chain;   /* in the first of a chain: its length; they must be submitted together */
    uint32_t provide; /* fragments of the queue to add to the provided buffers first */
};

#define REQUEST_TOKEN_MAX 0xffffffu
#define RING_BUFFERS_MAX 32768u /* provided buffers in one ring of them */

/* Options of a multishot receive (Linux 6.0). */
enum receive_option {
    RECEIVE_BUNDLE = 1,  /* a completion may fill several buffers (Linux 6.10) */
    RECEIVE_MESSAGE = 2, /* as recvmsg(2): a header precedes the bytes in each buffer. Completions
                            with a header have this token */
};

#define RECEIVE_HEADER 16u /* bytes: struct io_uring_recvmsg_out */

struct completion {
    int result;           /* bytes, or a negative errno value */
    uint32_t token;       /* of the request */
    bool more;            /* more completions of the request follow (IORING_CQE_F_MORE) */
    bool is_notification; /* only a notification: lent memory has come back (IORING_CQE_F_NOTIF) */
    bool copied;          /* if is_notification: it was copied (IORING_NOTIF_USAGE_ZC_COPIED) */
    uint16_t buffer;      /* number of the first provided buffer that it used */
};
