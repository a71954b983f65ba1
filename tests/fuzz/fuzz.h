/* SPDX-License-Identifier: MIT */
/* What every fuzz target includes first: the function that libFuzzer calls, a check, and parts of
 * the input. */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *count, char ***arguments); /* optional */

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

/* ---- an input that is taken from its beginning ---- */

struct input {
    const uint8_t *data;
    size_t size;
};

/* 0 at the end. */
static inline uint8_t input_byte(struct input *input)
{
    return input->size ? (input->size--, *input->data++) : 0;
}

/* The next bytes, as many as there are but at most `most`. */
static inline struct input input_part(struct input *input, size_t most)
{
    struct input part = {input->data, most < input->size ? most : input->size};

    input->data += part.size;
    input->size -= part.size;
    return part;
}

/* A copy whose end a sanitizer sees, which the caller frees. */
static inline uint8_t *input_copy(struct input part)
{
    uint8_t *copy = malloc(part.size ? part.size : 1);

    abort_if(!copy);
    memcpy(copy, part.data, part.size);
    return copy;
}

#define INPUT_PATH_MAX 32

/* Writes the input to a file without a name. Returns its descriptor, and a path that opens it. */
static inline int input_file(const uint8_t *data, size_t size, char path[INPUT_PATH_MAX])
{
    int fd = memfd_create("input", MFD_CLOEXEC);

    abort_if(fd < 0 || write(fd, data, size) != (ssize_t)size);
    snprintf(path, INPUT_PATH_MAX, "/proc/self/fd/%d", fd);
    return fd;
}

/* ---- bytes on their way between two ends ---- */

/* Each three bytes of the input are an offset in the stream and what is XORed with its byte. Changes
 * `size` bytes that follow `passed` others; returns whether any is another now. */
static inline bool input_change(const struct input *changes, size_t passed, uint8_t *bytes, size_t size)
{
    bool changed = false;

    for (size_t at = 0; at + 2 < changes->size; at += 3) {
        size_t offset = changes->data[at] | (size_t)changes->data[at + 1] << 8;
        if (offset >= passed && offset < passed + size) {
            bytes[offset - passed] ^= changes->data[at + 2];
            changed |= changes->data[at + 2] != 0;
        }
    }
    return changed;
}
