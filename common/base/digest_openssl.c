/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

#include <openssl/evp.h>
#include <string.h>

/* A struct digest is the object of OpenSSL. */

int digest_check(struct problem *problem)
{
    (void)problem;
    return 0;
}

struct digest *digest_open(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    if (context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1)
        return (struct digest *)context;
    EVP_MD_CTX_free(context);
    return NULL;
}

void digest_close(struct digest *digest)
{
    EVP_MD_CTX_free((EVP_MD_CTX *)digest);
}

void digest_update(struct digest *digest, const void *data, size_t size)
{
    EVP_DigestUpdate((EVP_MD_CTX *)digest, data, size);
}

void digest_read(struct digest *digest, uint8_t result[DIGEST_SIZE])
{
    EVP_MD_CTX *copy = EVP_MD_CTX_new();

    memset(result, 0, DIGEST_SIZE);
    if (copy && EVP_MD_CTX_copy_ex(copy, (EVP_MD_CTX *)digest) == 1)
        EVP_DigestFinal_ex(copy, result, NULL);
    EVP_MD_CTX_free(copy);
}
