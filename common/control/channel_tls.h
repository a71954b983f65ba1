/* SPDX-License-Identifier: MIT */
/*
 * TLS 1.3 by a pre-shared key, between a control channel and its stream. It is given what came and gives what
 * is to be written; sockets and time are the channel's.
 *
 * The one place of the control channel that knows GnuTLS; where the build has none, channel_tls_absent.c.
 */
#ifndef UNCORK_CONTROL_CHANNEL_TLS_H
#define UNCORK_CONTROL_CHANNEL_TLS_H

#include "base/problem.h"
#include "control/psk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel_tls;

/* 0 where this build has TLS, or -1 with an unsupported problem that says what `option` lacks, and how to get
 * it. */
int channel_tls_check(const char *option, struct problem *problem);

/* A server knows all of the keys, a client shows the first. The keys must outlive it. NULL with a failure. */
struct channel_tls *channel_tls_create(const struct psk_list *keys, bool is_server, struct problem *problem);
void channel_tls_free(struct channel_tls *tls);

/* Takes in what came, and gives what is plain to `take`. 0, or -1 with a failure whose text stands behind the
 * name of the other end ("speaks no TLS"); stops early and returns what `take` returned if that is not 0. */
int channel_tls_receive(struct channel_tls *tls, const uint8_t *bytes, size_t size,
                        int (*take)(void *owner, const uint8_t *bytes, size_t size, struct problem *problem),
                        void *owner, struct problem *problem);

/* Seals bytes; before the handshake is over they are kept. 0, or -1 with a failure. */
int channel_tls_send(struct channel_tls *tls, const uint8_t *bytes, size_t size, struct problem *problem);

/* Says that nothing follows. */
void channel_tls_end(struct channel_tls *tls);

/* Hands over what is to be written, in memory that the caller frees; its size, 0 and NULL: nothing is. */
size_t channel_tls_take_output(struct channel_tls *tls, uint8_t **bytes);

/* The handshake is over: the other end has shown that it has the key. */
bool channel_tls_is_up(const struct channel_tls *tls);

/* Something is kept that goes when the handshake is over. */
bool channel_tls_is_waiting(const struct channel_tls *tls);

/* What to say, behind the name of the other end, when it closes the connection before the handshake is over.
 */
const char *channel_tls_cut_text(const struct channel_tls *tls);

#endif
