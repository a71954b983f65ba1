/* SPDX-License-Identifier: MIT */
#include "connection/protocol.h"

const struct protocol protocol_raw = {
    .variant = {"raw", "bytes without a frame: the words message and reply say how many"},
};
