/* SPDX-License-Identifier: MIT */
#include "base/json_memory.h"

#include "base/bytes.h"
#include "base/cleanup.h"

#ifdef __linux__
#include <malloc.h>
#endif
#include <stdatomic.h>

static atomic_bool lacked;

static void *required(size_t size)
{
    return xmalloc(size);
}

static void *noted(size_t size)
{
    void *memory = malloc(size);
    if (!memory)
        lacked = true;
    return memory;
}

#ifdef __linux__
static void wipe_and_free(void *memory)
{
    secret_wipe(memory, malloc_usable_size(memory));
    free(memory);
}
#else
#define wipe_and_free free
#endif

void json_memory_watch(bool ends)
{
    json_set_alloc_funcs(ends ? required : noted, wipe_and_free);
}

bool json_memory_lacked(void)
{
    return atomic_exchange(&lacked, false);
}
