/* SPDX-License-Identifier: MIT */
/* Scoped cleanup: CLEANUP_FREE char *text = strdup(...); is freed when the scope ends, by any
 * path. */
#ifndef UNCORK_BASE_CLEANUP_H
#define UNCORK_BASE_CLEANUP_H

#include <jansson.h>
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

static inline void cleanup_json(json_t **json)
{
    json_decref(*json);
}

#define CLEANUP_FREE __attribute__((cleanup(cleanup_free)))
#define CLEANUP_CLOSE __attribute__((cleanup(cleanup_close)))
#define CLEANUP_JSON __attribute__((cleanup(cleanup_json)))

#endif
