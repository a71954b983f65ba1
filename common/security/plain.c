/* SPDX-License-Identifier: MIT */
#include "connection/security.h"

const struct security security_plain = {
    .variant = {"plain", "no encryption: the descriptor itself"},
    .gives = CAPABLE_DESCRIPTOR | CAPABLE_NODELAY | CAPABLE_CORK | CAPABLE_MORE | CAPABLE_TRUNCATE |
             CAPABLE_WAITALL | CAPABLE_STREAM | CAPABLE_SENDFILE | CAPABLE_ZEROCOPY | CAPABLE_MAP |
             CAPABILITIES_OF_RINGS,
};
