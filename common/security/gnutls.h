/* SPDX-License-Identifier: MIT */
/* The parts of security=gnutls that security=ktls uses too: context, handshake and session. The
 * functions are described in connection/security.h. */
#pragma once

#include "security/tls.h"

#include <gnutls/gnutls.h>

struct gnutls_context {
    struct security_terms terms;
    gnutls_priority_t priorities;
    gnutls_psk_client_credentials_t client;
    gnutls_psk_server_credentials_t server;
    gnutls_certificate_credentials_t certificate; /* of a client: instead of a key */
    gnutls_datum_t ticket_key;                    /* of a server */
    gnutls_datum_t ticket;                        /* of a client: the last one */
};

/* The state of a connection. */
struct gnutls_layer {
    struct tls_wire wire;
    gnutls_session_t gnutls;
};

static inline struct gnutls_layer *gnutls_layer_of(const struct connection *connection)
{
    return connection->filter_state;
}

json_t *gnutls_layer_library(void);
int gnutls_layer_open_context(void *context);
void gnutls_layer_close_context(void *context);
int gnutls_layer_open(struct connection *connection);
int gnutls_layer_handshake(struct connection *connection);
void gnutls_layer_close(struct connection *connection);

/* What both filters declare. */
#define GNUTLS_LAYER                                                                                         \
    .encrypts = true, .library = gnutls_layer_library, .context_size = sizeof(struct gnutls_context),        \
    .context_open = gnutls_layer_open_context, .context_close = gnutls_layer_close_context,                  \
    .state_size = sizeof(struct gnutls_layer), .open = gnutls_layer_open, .close = gnutls_layer_close
