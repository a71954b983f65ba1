/* SPDX-License-Identifier: MIT */
#include "security/tls.h"

#include "base/bytes.h"

#include <gnutls/x509.h>

#define NAME "uncork"
#define KEY_ID_SIZE 32u /* SHA-256 of a public key */

/* Imports the key in PKCS #8 form (RFC 8410, 7). NULL: it is invalid. */
static gnutls_x509_privkey_t import_key(const uint8_t key[SECURITY_KEY_SIZE])
{
    uint8_t der[16 + SECURITY_KEY_SIZE] = {0x30, 0x2e, 2,    1,    0, 0x30, 5, 6,
                                           3,    0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20};
    gnutls_datum_t raw = {der, sizeof der};
    gnutls_x509_privkey_t made = NULL;

    memcpy(der + 16, key, SECURITY_KEY_SIZE);
    if (gnutls_x509_privkey_init(&made) == 0 &&
        gnutls_x509_privkey_import_pkcs8(made, &raw, GNUTLS_X509_FMT_DER, NULL, GNUTLS_PKCS_PLAIN) < 0) {
        gnutls_x509_privkey_deinit(made);
        made = NULL;
    }
    secret_wipe(der, sizeof der);
    return made;
}

bool certificate_is_of(const void *der, size_t size, const uint8_t key[SECURITY_KEY_SIZE])
{
    gnutls_datum_t raw = {(void *)(uintptr_t)der, (unsigned)size};
    gnutls_x509_privkey_t own = import_key(key);
    gnutls_x509_crt_t shown = NULL;
    uint8_t ids[2][KEY_ID_SIZE];
    bool same =
        own && gnutls_x509_crt_init(&shown) == 0 &&
        gnutls_x509_crt_import(shown, &raw, GNUTLS_X509_FMT_DER) == 0 &&
        gnutls_x509_crt_get_key_id(shown, GNUTLS_KEYID_USE_SHA256, ids[0], &(size_t){KEY_ID_SIZE}) == 0 &&
        gnutls_x509_privkey_get_key_id(own, GNUTLS_KEYID_USE_SHA256, ids[1], &(size_t){KEY_ID_SIZE}) == 0 &&
        !memcmp(ids[0], ids[1], KEY_ID_SIZE);

    gnutls_x509_crt_deinit(shown);
    gnutls_x509_privkey_deinit(own);
    return same;
}

int certificate_check(struct problem *problem)
{
    return 0;
}

/* Valid from 1970 to at least 2106: a machine may have another wall clock, or set it. */
static int fill(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key)
{
    static const uint8_t serial = 1;
    if (gnutls_x509_crt_set_version(certificate, 3) < 0 ||
        gnutls_x509_crt_set_serial(certificate, &serial, sizeof serial) < 0 ||
        gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, NAME, strlen(NAME)) < 0 ||
        gnutls_x509_crt_set_activation_time(certificate, 0) < 0 ||
        gnutls_x509_crt_set_expiration_time(certificate, GNUTLS_X509_NO_WELL_DEFINED_EXPIRATION) < 0 ||
        gnutls_x509_crt_set_key(certificate, key) < 0)
        return -1;
    return gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA512, 0);
}

char *certificate_make(const uint8_t key[SECURITY_KEY_SIZE])
{
    gnutls_datum_t key_text = {0}, text = {0};
    gnutls_x509_privkey_t private = import_key(key);
    gnutls_x509_crt_t certificate = NULL;
    char *made = NULL;

    if (private && gnutls_x509_crt_init(&certificate) == 0 && fill(certificate, private) == 0 &&
        gnutls_x509_privkey_export2_pkcs8(private, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &key_text) ==
            0 &&
        gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &text) == 0 &&
        (made = calloc(1, (size_t)key_text.size + text.size + 1))) {
        memcpy(made, key_text.data, key_text.size);
        memcpy(made + key_text.size, text.data, text.size);
    }
    secret_wipe(key_text.data, key_text.size);
    gnutls_free(key_text.data);
    gnutls_free(text.data);
    gnutls_x509_privkey_deinit(private);
    gnutls_x509_crt_deinit(certificate);
    return made;
}
