/* SPDX-License-Identifier: MIT */
/* As uring-multishot, by RECVMSG: the kernel writes a header of 16 bytes before the data in each
 * buffer. A program that reads addresses or control messages has the same cost. */
#include "connection/strategy.h"

const struct reading reading_uring_recvmsg = {
    .variant = {"uring-recvmsg",
                "a multishot RECVMSG of an io_uring, into one provided buffer of chunk bytes each time"},
    .needs = CAPABLE_RING | CAPABLE_RECVMSG_MULTISHOT,
    .headroom = RECEIVE_HEADER,
    .options = RECEIVE_MESSAGE,
};
