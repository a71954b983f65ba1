/* SPDX-License-Identifier: MIT */
#include "base/absent.h"
#include "control/channel.h"

int channel_tls_check(const char *option, struct problem *problem)
{
    return problem_unsupported(problem, "%s needs TLS, and " ABSENT_GNUTLS, option);
}

NEVER_CALLED(struct channel_tls *channel_tls_create(const struct psk_list *keys, bool is_server,
                                                    struct problem *problem))
NEVER_CALLED(void channel_tls_free(struct channel_tls *tls))
NEVER_CALLED(ssize_t channel_tls_read(struct channel_tls *tls, uint8_t plain[TLS_PLAIN_MAX],
                                      struct problem *problem))
NEVER_CALLED(int channel_tls_flush(struct channel_tls *tls, struct problem *problem))
NEVER_CALLED(void channel_tls_close_notify(struct channel_tls *tls))
