/* SPDX-License-Identifier: MIT */
/* Scoped cleanup: CLEANUP_FREE char *text = strdup(...); is freed at the end of the scope. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

/* Returns `memory`. If it is NULL, ends the program. Only for small allocations of the client, and
 * at the start of a program: never in a data thread, or for a client of a server. */
static inline void *check_nonnull(void *memory)
{
    if (!memory) {
        fputs("uncork: out of memory\n", stderr);
        _exit(EXIT_FAILURE); /* threads may still use what exit(3) frees */
    }
    return memory;
}

/* Ends the program like check_nonnull() unless a value was stored: `result` is that of
 * json_object_set_new() or json_array_append(), which are silent where the value is NULL. */
static inline void check_stored(int result)
{
    if (result != 0)
        check_nonnull(NULL);
}

#define xmalloc(size) check_nonnull(malloc(size))
#define xcalloc(count, size) check_nonnull(calloc(count, size))
#define xrealloc(memory, size) check_nonnull(realloc(memory, size))

#define CLEANUP_FREE __attribute__((cleanup(cleanup_free)))
#define CLEANUP_CLOSE __attribute__((cleanup(cleanup_close)))
#define CLEANUP_FILE __attribute__((cleanup(cleanup_file)))
#define CLEANUP_JSON __attribute__((cleanup(json_decrefp)))
