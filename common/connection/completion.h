/* SPDX-License-Identifier: MIT */
/* What an engine hands to a strategy or a reading whose requests complete after the call that made them. */
#ifndef UNCORK_CONNECTION_COMPLETION_H
#define UNCORK_CONNECTION_COMPLETION_H

#include <stdbool.h>
#include <stdint.h>

struct completion {
    int result;      /* bytes, or a negative errno value */
    uint32_t token;  /* that the request was given */
    bool more;       /* the request is not over: others follow (IORING_CQE_F_MORE) */
    bool gives_back; /* the memory that was lent has come back, and nothing else (IORING_CQE_F_NOTIF) */
    bool copied; /* of one that gives back: the kernel copied that memory (IORING_NOTIF_USAGE_ZC_COPIED) */
    uint16_t buffer; /* number of the provided buffer that it used, or of the first */
};

#endif
