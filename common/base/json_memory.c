/* SPDX-License-Identifier: MIT */
#include "base/json_memory.h"

#include "base/cleanup.h"

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

void json_memory_watch(bool ends)
{
    json_set_alloc_funcs(ends ? required : noted, free);
}

bool json_memory_lacked(void)
{
    return atomic_exchange(&lacked, false);
}
