/* SPDX-License-Identifier: MIT */
/* The parts of security=gnutls that security=ktls uses: context, handshake and session. Functions
 * as in security.h. */
#ifndef UNCORK_SECURITY_GNUTLS_H
#define UNCORK_SECURITY_GNUTLS_H

#include "security/tls.h"

#include <gnutls/gnutls.h>

const char *gnutls_layer_library(void);
int gnutls_layer_open_context(void **context, const struct security_terms *terms);
void gnutls_layer_close_context(void *context);
int gnutls_layer_open(struct connection *connection);
int gnutls_layer_handshake(struct connection *connection);
void gnutls_layer_close(struct connection *connection);

/* The connection must have been opened. */
gnutls_session_t gnutls_layer_session(const struct connection *connection);
struct tls_wire *gnutls_layer_wire(const struct connection *connection);

#endif
