/* SPDX-License-Identifier: MIT */
#include "control/channel.h"

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/keylog_gnutls.h"

#include <errno.h>
#include <gnutls/gnutls.h>

#define RECORD_HANDSHAKE 22 /* the first byte of a TLS connection: RFC 8446, B.1 */
#define RECORD_ALERT 21

/* TLS 1.3 with PSK as the only key exchange: an end without a key is never accepted. GnuTLS
 * requires a signature in every list, although nothing is signed here. */
#define PRIORITY                                                                                             \
    "NONE:+VERS-TLS1.3:+ECDHE-PSK:+AES-128-GCM:+CHACHA20-POLY1305:+AEAD:+GROUP-X25519:+GROUP-SECP256R1"      \
    ":+SIGN-EDDSA-ED25519"

/* ---- callbacks of GnuTLS ---- */

static ssize_t push(gnutls_transport_ptr_t pointer, const void *data, size_t size)
{
    struct channel_tls *tls = pointer;
    if (bytes_append(&tls->output, data, size) == 0)
        return (ssize_t)size;
    gnutls_transport_set_errno(tls->session, ENOMEM);
    return -1;
}

static ssize_t pull(gnutls_transport_ptr_t pointer, void *data, size_t size)
{
    struct channel_tls *tls = pointer;
    if (!tls->arrived_size) {
        gnutls_transport_set_errno(tls->session, EAGAIN);
        return -1;
    }
    size = size < tls->arrived_size ? size : tls->arrived_size;
    memcpy(data, tls->arrived, size);
    tls->arrived += size;
    tls->arrived_size -= size;
    return (ssize_t)size;
}

/* For messages: a NUL, which would end the text, becomes '?'. */
static void note_identity(struct channel_tls *tls, const uint8_t *identity, size_t size)
{
    size_t length = size < sizeof tls->identity ? size : sizeof tls->identity - 1;
    for (size_t i = 0; i < length; i++)
        tls->identity[i] = identity[i] ? (char)identity[i] : '?';
    tls->identity[length] = '\0';
}

static int find_key(gnutls_session_t session, const gnutls_datum_t *identity, gnutls_datum_t *key)
{
    struct channel_tls *tls = gnutls_session_get_ptr(session);
    const struct psk *psk = psk_find(tls->keys, identity->data, identity->size);
    note_identity(tls, identity->data, identity->size);
    tls->identity_is_unknown = !psk;
    if (!psk || !(key->data = gnutls_malloc(psk->key_size)))
        return -1;
    memcpy(key->data, psk->key, psk->key_size);
    key->size = (unsigned)psk->key_size;
    return 0;
}

/* ---- sending and receiving ---- */

/* Describes the failure. Sends an alert, which carries only its kind, if the other end has not. */
static int fail(struct channel_tls *tls, int result, struct problem *problem)
{
    if (result == GNUTLS_E_FATAL_ALERT_RECEIVED) {
        gnutls_alert_description_t alert = gnutls_alert_get(tls->session);
        const char *name = gnutls_alert_get_name(alert);
        if (alert == GNUTLS_A_UNKNOWN_PSK_IDENTITY)
            return problem_failure(problem, "knows no key for '%s', the identity of our --psk file",
                                   tls->identity);
        if (alert == GNUTLS_A_DECRYPT_ERROR)
            return problem_failure(problem, "has another key for '%s' than our --psk file", tls->identity);
        if (alert == GNUTLS_A_INTERNAL_ERROR)
            return problem_failure(problem, "has no room for one more client");
        return problem_failure(problem, "ended TLS with alert %d: %s", (int)alert,
                               name ? name : "no known one");
    }
    if (tls->identity_is_unknown) {
        gnutls_alert_send(tls->session, GNUTLS_AL_FATAL, GNUTLS_A_UNKNOWN_PSK_IDENTITY);
        return problem_failure(problem, "has the identity '%s', for which there is no key here",
                               tls->identity);
    }
    /* GnuTLS reports a wrong key as an illegal parameter. A handshake without the right key always
     * fails by that. */
    if (tls->is_server && !tls->is_established && *tls->identity &&
        result == GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER) {
        gnutls_alert_send(tls->session, GNUTLS_AL_FATAL, GNUTLS_A_DECRYPT_ERROR);
        return problem_failure(problem, "has another key for '%s' than this server", tls->identity);
    }
    gnutls_alert_send_appropriate(tls->session, result);
    return problem_failure(problem, "sent no valid TLS: %s", gnutls_strerror(result));
}

int channel_tls_flush(struct channel_tls *tls, struct problem *problem)
{
    size_t sent = 0;

    if (!tls->is_established)
        return 0;
    while (sent < tls->unsent.size) {
        ssize_t part = gnutls_record_send(tls->session, tls->unsent.data + sent, tls->unsent.size - sent);
        if (part < 0)
            return problem_failure(problem, "could not be sent data by TLS: %s", gnutls_strerror((int)part));
        sent += (size_t)part;
    }
    bytes_free(&tls->unsent);
    return 0;
}

static int continue_handshake(struct channel_tls *tls, struct problem *problem)
{
    int result;

    do
        result = gnutls_handshake(tls->session);
    while (result < 0 && result != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(result));
    if (result == GNUTLS_E_AGAIN)
        return 0;
    if (result < 0)
        return fail(tls, result, problem);
    if (gnutls_kx_get(tls->session) != GNUTLS_KX_ECDHE_PSK)
        return problem_failure(problem, "has not used the key in its TLS handshake");
    tls->is_established = true;
    return channel_tls_flush(tls, problem);
}

/* A size of 0 is the close_notify: the end of the stream follows. */
ssize_t channel_tls_read(struct channel_tls *tls, uint8_t plain[TLS_PLAIN_MAX], struct problem *problem)
{
    bool is_first = !tls->has_received;
    ssize_t size = GNUTLS_E_AGAIN;

    tls->has_received = true;
    if (is_first && *tls->arrived != RECORD_HANDSHAKE && *tls->arrived != RECORD_ALERT) {
        if (!tls->is_server)
            return problem_failure(problem,
                                   "speaks no TLS: start it with --psk FILE, or leave --psk out here");
        /* A client without TLS does not understand an alert. So the server sends it a plain message
         * of the control channel. Without memory the client learns no reason. */
        CLEANUP_JSON json_t *body =
            json_pack("{s:s, s:s}", "kind", problem_kind_names[PROBLEM_FAILURE], "text",
                      "this server takes only clients with a key: give --psk FILE, with a key that it knows");
        (void)control_encode(CONTROL_REFUSED, body, &tls->output, &(struct problem){0});
        return problem_failure(problem, "speaks no TLS, so it has no key");
    }
    if (!tls->is_established && continue_handshake(tls, problem) < 0)
        return -1;
    if (tls->is_established)
        do
            size = gnutls_record_recv(tls->session, plain, TLS_PLAIN_MAX);
        while (size < 0 && size != GNUTLS_E_AGAIN && !gnutls_error_is_fatal((int)size));
    if (size == GNUTLS_E_AGAIN)
        return 0;
    return size < 0 ? fail(tls, (int)size, problem) : size;
}

void channel_tls_close_notify(struct channel_tls *tls)
{
    if (tls->is_established)
        gnutls_bye(tls->session, GNUTLS_SHUT_WR);
}

/* ---- creating and freeing ---- */

static int open_session(struct channel_tls *tls)
{
    const struct psk *psk = &tls->keys->entries[0];
    gnutls_datum_t identity = {(uint8_t *)(uintptr_t)psk->identity, (unsigned)psk->identity_size};
    gnutls_datum_t key = {(uint8_t *)(uintptr_t)psk->key, (unsigned)psk->key_size};
    unsigned flags = GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS | (tls->is_server ? GNUTLS_SERVER : GNUTLS_CLIENT);
    int result = gnutls_init(&tls->session, flags);

    if (result < 0)
        return result;
    gnutls_session_set_ptr(tls->session, tls);
    gnutls_session_set_keylog_function(tls->session, keylog_gnutls);
    gnutls_transport_set_ptr(tls->session, tls);
    gnutls_transport_set_push_function(tls->session, push);
    gnutls_transport_set_pull_function(tls->session, pull);
    if ((result = gnutls_priority_set_direct(tls->session, PRIORITY, NULL)) < 0)
        return result;
    if (tls->is_server) {
        if ((result = gnutls_psk_allocate_server_credentials(&tls->server)) < 0)
            return result;
        gnutls_psk_set_server_credentials_function2(tls->server, find_key);
        return gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->server);
    }
    note_identity(tls, psk->identity, psk->identity_size);
    if ((result = gnutls_psk_allocate_client_credentials(&tls->client)) < 0 ||
        (result = gnutls_psk_set_client_credentials2(tls->client, &identity, &key, GNUTLS_PSK_KEY_RAW)) < 0)
        return result;
    return gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->client);
}

void channel_tls_free(struct channel_tls *tls)
{
    gnutls_deinit(tls->session);
    if (tls->server)
        gnutls_psk_free_server_credentials(tls->server);
    if (tls->client)
        gnutls_psk_free_client_credentials(tls->client);
    bytes_free(&tls->unsent);
    bytes_free(&tls->output);
    free(tls);
}

struct channel_tls *channel_tls_create(const struct psk_list *keys, bool is_server, struct problem *problem)
{
    struct channel_tls *tls = malloc(sizeof *tls);

    if (!tls) {
        problem_failure(problem, "no memory for TLS");
        return NULL;
    }
    *tls = (struct channel_tls){.keys = keys, .is_server = is_server};
    int result = open_session(tls);
    if (result < 0)
        problem_failure(problem, "cannot prepare TLS: %s", gnutls_strerror(result));
    else if (is_server || continue_handshake(tls, problem) == 0)
        return tls;
    channel_tls_free(tls);
    return NULL;
}

int channel_tls_check(const char *option, struct problem *problem)
{
    return 0;
}
