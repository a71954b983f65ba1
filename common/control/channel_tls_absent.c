/* SPDX-License-Identifier: MIT */
/* Build without GnuTLS: channel_tls_check() fails, the other functions are never called. */
#include "control/channel_tls.h"

int channel_tls_check(const char *option, struct problem *problem)
{
    return problem_unsupported(
        problem,
        "%s needs TLS, and this build has no GnuTLS; install libgnutls28-dev (gnutls-devel) and build again",
        option);
}

struct channel_tls *channel_tls_create(const struct psk_list *keys, bool is_server, struct problem *problem)
{
    (void)keys, (void)is_server;
    channel_tls_check("a key", problem);
    return NULL;
}

void channel_tls_free(struct channel_tls *tls)
{
    (void)tls;
}

int channel_tls_receive(struct channel_tls *tls, const uint8_t *bytes, size_t size, channel_tls_take *take,
                        void *owner, struct problem *problem)
{
    (void)tls, (void)bytes, (void)size, (void)take, (void)owner;
    return channel_tls_check("a key", problem);
}

int channel_tls_send(struct channel_tls *tls, const uint8_t *bytes, size_t size, struct problem *problem)
{
    (void)tls, (void)bytes, (void)size;
    return channel_tls_check("a key", problem);
}

void channel_tls_end(struct channel_tls *tls)
{
    (void)tls;
}

size_t channel_tls_take_output(struct channel_tls *tls, uint8_t **bytes)
{
    (void)tls;
    *bytes = NULL;
    return 0;
}

const char *channel_tls_cut_text(const struct channel_tls *tls)
{
    (void)tls;
    return "";
}
