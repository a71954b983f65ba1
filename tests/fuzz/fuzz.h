/* SPDX-License-Identifier: MIT */
/* What every fuzz target includes first. */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void abort_if(bool wrong)
{
    if (wrong)
        abort();
}

/* The input as a text with a NUL, which the caller frees. It keeps NUL bytes, unlike strndup(3). */
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    abort_if(!text);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}
