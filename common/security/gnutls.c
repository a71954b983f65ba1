/* SPDX-License-Identifier: MIT */
/* TLS by GnuTLS: each send makes a record, unless the session is corked. */
#include "security/gnutls.h"

#include "security/certificate.h"

#include <stdio.h>
#include <string.h>

static enum handshake handshake_of(gnutls_session_t session)
{
    if (gnutls_auth_get_type(session) == GNUTLS_CRD_CERTIFICATE)
        return HANDSHAKE_CERTIFICATE;
    if (gnutls_session_is_resumed(session))
        return HANDSHAKE_TICKET;
    return gnutls_kx_get(session) == GNUTLS_KX_PSK ? HANDSHAKE_PSK : HANDSHAKE_PSK_ECDHE;
}

/* ---- context ---- */

static int find_key(gnutls_session_t session, const char *identity, gnutls_datum_t *key)
{
    const struct gnutls_layer *own = gnutls_session_get_ptr(session);

    if (strcmp(identity, own->context->terms.identity) != 0 ||
        !(key->data = gnutls_malloc(SECURITY_KEY_SIZE)))
        return -1;
    memcpy(key->data, own->context->terms.key, SECURITY_KEY_SIZE);
    key->size = SECURITY_KEY_SIZE;
    return 0;
}

static int check_certificate(gnutls_session_t session)
{
    const struct gnutls_layer *own = gnutls_session_get_ptr(session);
    const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &(unsigned){0});

    return shown && certificate_is_of(shown->data, shown->size, own->context->terms.key)
               ? 0
               : GNUTLS_E_CERTIFICATE_ERROR;
}

static void wipe(gnutls_datum_t *datum)
{
    if (datum->data)
        gnutls_memset(datum->data, 0, datum->size);
    gnutls_free(datum->data);
    *datum = (gnutls_datum_t){0};
}

void gnutls_layer_close_context(void *opaque)
{
    struct gnutls_context *context = opaque;

    if (context->client)
        gnutls_psk_free_client_credentials(context->client);
    if (context->server)
        gnutls_psk_free_server_credentials(context->server);
    if (context->certificate)
        gnutls_certificate_free_credentials(context->certificate);
    if (context->priorities)
        gnutls_priority_deinit(context->priorities);
    wipe(&context->ticket_key);
    wipe(&context->ticket);
}

int gnutls_layer_open_context(void *opaque)
{
    struct gnutls_context *context = opaque;
    const struct security_terms *terms = &context->terms;
    bool by_certificate = terms->handshake == HANDSHAKE_CERTIFICATE;
    gnutls_datum_t key = {context->terms.key, SECURITY_KEY_SIZE};
    char priorities[160];

    snprintf(priorities, sizeof priorities,
             "NONE:+VERS-TLS1.3:+AEAD:+COMP-NULL:+SIGN-ALL:+GROUP-X25519:+GROUP-SECP256R1:+%s:+%s",
             cipher_names[terms->cipher],
             by_certificate                      ? "ECDHE-ECDSA:+CTYPE-SRV-X509"
             : terms->handshake == HANDSHAKE_PSK ? "PSK"
                                                 : "ECDHE-PSK");
    if (gnutls_priority_init(&context->priorities, priorities, NULL) < 0)
        return -EINVAL;
    if (by_certificate)
        return gnutls_certificate_allocate_credentials(&context->certificate) < 0 ? -ENOMEM : 0;
    if (!terms->serves) {
        if (gnutls_psk_allocate_client_credentials(&context->client) < 0 ||
            gnutls_psk_set_client_credentials(context->client, terms->identity, &key, GNUTLS_PSK_KEY_RAW) < 0)
            return -ENOMEM;
        return 0;
    }
    if (gnutls_psk_allocate_server_credentials(&context->server) < 0)
        return -ENOMEM;
    gnutls_psk_set_server_credentials_function(context->server, find_key);
    if (terms->handshake == HANDSHAKE_TICKET && gnutls_session_ticket_key_generate(&context->ticket_key) < 0)
        return -ENOMEM;
    return 0;
}

/* ---- session ---- */

/* The counted calls repeat what a signal interrupts, so GnuTLS never sees EINTR. */
static ssize_t set_errno(struct gnutls_layer *session, ssize_t result)
{
    if (result < 0)
        gnutls_transport_set_errno(session->gnutls, (int)-result);
    return result < 0 ? -1 : result;
}

static ssize_t push(gnutls_transport_ptr_t opaque, const giovec_t *vectors, int count)
{
    struct gnutls_layer *session = opaque;

    return set_errno(session, tls_write(&session->wire, vectors, count));
}

static ssize_t pull(gnutls_transport_ptr_t opaque, void *data, size_t size)
{
    struct gnutls_layer *session = opaque;

    return set_errno(session, tls_read(&session->wire, data, size));
}

/* GNUTLS_NO_AUTO_REKEY disables the KeyUpdate that GnuTLS sends after 2^24 records. So all records
 * carry messages, as with OpenSSL, and the other end may be the kernel, which has no KeyUpdate. */
int gnutls_layer_open(struct connection *connection)
{
    struct gnutls_context *context = connection->shared->contexts[connection->peer];
    bool serves = context->terms.serves;
    unsigned flags = (serves ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_NONBLOCK | GNUTLS_NO_AUTO_REKEY;
    struct gnutls_layer *session = connection->filter_state;

    if (context->terms.handshake != HANDSHAKE_TICKET)
        flags |= GNUTLS_NO_TICKETS;
    if (gnutls_init(&session->gnutls, flags) < 0)
        return -ENOMEM;
    session->context = context;
    session->wire.connection = connection;
    gnutls_session_set_ptr(session->gnutls, session);
    gnutls_transport_set_ptr(session->gnutls, session);
    gnutls_transport_set_vec_push_function(session->gnutls, push);
    gnutls_transport_set_pull_function(session->gnutls, pull);
    if (gnutls_priority_set(session->gnutls, context->priorities) < 0)
        return -EINVAL;
    gnutls_session_set_verify_function(session->gnutls, check_certificate);
    if (context->certificate
            ? gnutls_credentials_set(session->gnutls, GNUTLS_CRD_CERTIFICATE, context->certificate) < 0
            : gnutls_credentials_set(session->gnutls, GNUTLS_CRD_PSK,
                                     serves ? (void *)context->server : (void *)context->client) < 0)
        return -EINVAL;
    if (context->ticket_key.data &&
        gnutls_session_ticket_enable_server(session->gnutls, &context->ticket_key) < 0)
        return -EINVAL;
    if (context->ticket.data)
        gnutls_session_set_data(session->gnutls, context->ticket.data, context->ticket.size);
    return 0;
}

/* A client keeps the last ticket. It is read here because it arrives after the handshake. */
void gnutls_layer_close(struct connection *connection)
{
    struct gnutls_layer *session = connection->filter_state;
    struct gnutls_context *context = session->context;

    if (session->gnutls && !context->terms.serves && context->terms.handshake == HANDSHAKE_TICKET &&
        gnutls_session_get_flags(session->gnutls) & GNUTLS_SFLAGS_SESSION_TICKET) {
        wipe(&context->ticket);
        gnutls_session_get_data2(session->gnutls, &context->ticket);
    }
    gnutls_deinit(session->gnutls);
}

static int fail(const struct connection *connection, const char *doing, int result)
{
    const struct gnutls_layer *session = connection->filter_state;
    gnutls_alert_description_t alert = gnutls_alert_get(session->gnutls);
    const char *name = gnutls_alert_get_name(alert);
    char number[32];

    if (result != GNUTLS_E_FATAL_ALERT_RECEIVED)
        return tls_fail(&session->wire, doing, gnutls_strerror(result));
    snprintf(number, sizeof number, "TLS alert %d", (int)alert);
    return tls_fail(&session->wire, doing, name ? name : number);
}

/* GnuTLS reports a wrong key as an illegal parameter. Nothing else in uncork causes that error.
 * Sends an alert with the reason, which the other end may no longer read. */
static int fail_handshake(struct connection *connection, int result)
{
    const struct gnutls_layer *session = connection->filter_state;
    bool rejects = session->context->terms.serves && result == GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER;

    if (rejects)
        gnutls_alert_send(session->gnutls, GNUTLS_AL_FATAL, GNUTLS_A_DECRYPT_ERROR);
    if (rejects || (result == GNUTLS_E_FATAL_ALERT_RECEIVED &&
                    gnutls_alert_get(session->gnutls) == GNUTLS_A_DECRYPT_ERROR))
        return tls_fail(&session->wire, "complete the TLS handshake with", "it has another key");
    gnutls_alert_send_appropriate(session->gnutls, result);
    if (result == GNUTLS_E_CERTIFICATE_ERROR || result == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR)
        return tls_fail(&session->wire, "complete the TLS handshake with", CERTIFICATE_DIFFERS);
    return fail(connection, "complete the TLS handshake with", result);
}

int gnutls_layer_handshake(struct connection *connection)
{
    struct gnutls_layer *session = connection->filter_state;
    int result;

    do
        result = gnutls_handshake(session->gnutls);
    while (result < 0 && result != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(result));
    if (result == GNUTLS_E_AGAIN)
        return gnutls_record_get_direction(session->gnutls) ? -EAGAIN : -EINPROGRESS;
    if (result < 0)
        return fail_handshake(connection, result);
    tls_note_handshake(connection, handshake_of(session->gnutls));
    return 0;
}

/* ---- records ---- */

static ssize_t send_record(struct connection *connection, const void *data, size_t size, int flags)
{
    ssize_t sent = gnutls_record_send(gnutls_layer_of(connection)->gnutls, data, size);

    (void)flags;
    if (sent >= 0)
        return sent;
    return sent == GNUTLS_E_AGAIN ? -EAGAIN : fail(connection, "send to", (int)sent);
}

/* GNUTLS_E_AGAIN is also the result for a record without data, such as a ticket: then reads on. */
static ssize_t receive(struct connection *connection, void *data, size_t size, int flags)
{
    struct gnutls_layer *session = connection->filter_state;
    ssize_t received;

    (void)flags;
    tls_save_counts(&session->wire);
    do
        received = gnutls_record_recv(session->gnutls, data, size);
    while (received == GNUTLS_E_AGAIN && !session->wire.blocked);
    if (received == 0)
        tls_restore_counts(&session->wire);
    if (received >= 0)
        return received;
    return received == GNUTLS_E_AGAIN ? -EAGAIN : fail(connection, "receive from", (int)received);
}

static bool pending(const struct connection *connection)
{
    return gnutls_record_check_pending(gnutls_layer_of(connection)->gnutls) > 0;
}

/* The result of a call that sends all or nothing, as 0 or a negative errno value. */
static int sent_all(const struct connection *connection, int result)
{
    if (result >= 0)
        return 0;
    return result == GNUTLS_E_AGAIN ? -EAGAIN : fail(connection, "send to", result);
}

static int hold(struct connection *connection, bool on)
{
    gnutls_session_t session = gnutls_layer_of(connection)->gnutls;

    if (!on)
        return sent_all(connection, gnutls_record_uncork(session, 0));
    gnutls_record_cork(session);
    return 0;
}

static int send_close_notify(struct connection *connection)
{
    return sent_all(connection, gnutls_bye(gnutls_layer_of(connection)->gnutls, GNUTLS_SHUT_WR));
}

const char *gnutls_layer_library(void)
{
    static char text[32];

    snprintf(text, sizeof text, "GnuTLS %s", gnutls_check_version(NULL));
    return text;
}

const struct security security_gnutls = {
    .variant = {"gnutls", "TLS 1.3 by GnuTLS"},
    .gives = CAPABLE_NODELAY | CAPABLE_CORK | CAPABLE_RECORD_CORK,
    .withholds = "GnuTLS writes to the descriptor itself, and takes no flags and no vectors",
    GNUTLS_LAYER,
    .counts_records = true,
    .handshake = gnutls_layer_handshake,
    .layer = {.send = send_record, .receive = receive, .pending = pending, .hold = hold},
    .close_notify = send_close_notify,
};
