/* SPDX-License-Identifier: MIT */
/* The option --keylog of connections by GnuTLS. */
#pragma once

#include "base/keylog.h"

#include <gnutls/gnutls.h>

/* For gnutls_session_set_keylog_function(). Returns 0. */
static inline int keylog_gnutls(gnutls_session_t session, const char *label, const gnutls_datum_t *secret)
{
    gnutls_datum_t client, server;
    gnutls_session_get_random(session, &client, &server);
    keylog_secret(label, client.data, secret->data, secret->size);
    return 0;
}
