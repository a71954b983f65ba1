/* SPDX-License-Identifier: MIT */
#include "base/digest.h"

#include "base/cleanup.h"
#include "base/hex.h"

#ifdef UNCORK_HAS_OPENSSL

#include <openssl/evp.h>
#include <string.h>

/* `struct digest` is an EVP_MD_CTX of OpenSSL. */

static struct digest *open_digest(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    if (context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1)
        return (struct digest *)context;
    EVP_MD_CTX_free(context);
    return NULL;
}

static void close_digest(struct digest *digest)
{
    EVP_MD_CTX_free((EVP_MD_CTX *)digest);
}

static void update(struct digest *digest, const void *data, size_t size)
{
    EVP_DigestUpdate((EVP_MD_CTX *)digest, data, size);
}

static void read_digest(struct digest *digest, uint8_t result[DIGEST_SIZE])
{
    EVP_MD_CTX *copy = EVP_MD_CTX_new();

    memset(result, 0, DIGEST_SIZE);
    if (copy && EVP_MD_CTX_copy_ex(copy, (EVP_MD_CTX *)digest) == 1)
        EVP_DigestFinal_ex(copy, result, NULL);
    EVP_MD_CTX_free(copy);
}

static const struct digest_library openssl = {open_digest, close_digest, update, read_digest};
const struct digest_library *const digest_library = &openssl;
#else
const struct digest_library *const digest_library = NULL;
#endif

int digest_of_file(const char *path, char text[DIGEST_TEXT_MAX])
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    struct digest *digest = file && digest_library ? digest_library->open() : NULL;
    uint8_t buffer[65536], sum[DIGEST_SIZE];
    size_t size;

    if (!digest)
        return -1;
    while ((size = fread(buffer, 1, sizeof buffer, file)) > 0)
        digest_library->update(digest, buffer, size);
    digest_library->read(digest, sum);
    hex_format(text, sum, sizeof sum);
    digest_library->close(digest);
    return 0;
}

int digest_check(struct problem *problem)
{
    if (digest_library)
        return 0;
    return problem_unsupported(problem, "touch=checksum needs OpenSSL, which this build does not have; "
                                        "install libssl-dev (Fedora: openssl-devel) and build again");
}
