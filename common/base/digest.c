/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

#include "base/bytes.h"
#include "base/cleanup.h"

#include <openssl/evp.h>

/* `struct digest` is an EVP_MD_CTX of OpenSSL. */

int digest_check(struct problem *problem)
{
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

int digest_of_file(const char *path, char text[DIGEST_TEXT_MAX])
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    struct digest *digest = file ? digest_open() : NULL;
    uint8_t buffer[65536], sum[DIGEST_SIZE];

    if (!digest)
        return -1;
    for (size_t size; (size = fread(buffer, 1, sizeof buffer, file)) > 0;)
        digest_update(digest, buffer, size);
    digest_read(digest, sum);
    hex_format(text, sum, sizeof sum);
    digest_close(digest);
    return 0;
}
