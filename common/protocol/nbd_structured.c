/* SPDX-License-Identifier: MIT */
#include "protocol/nbd.h"

const struct protocol protocol_nbd_structured = {
    .variant = {"nbd-structured", "network block device with structured replies, as most clients ask for"},
    NBD,
    .write_reply = nbd_write_structured_reply,
};
