/* SPDX-License-Identifier: MIT */
/* The memory of JSON. Without memory, jansson returns NULL, and json_object_set_new() ignores a
 * NULL: the object would lack a key, and its maker would not know it. What is freed is overwritten,
 * since values of messages may be keys (not where the C library hides how large it is). */
#pragma once

#include <stdbool.h>

/* Call it before any JSON is made. `ends`: a failed allocation ends the program, as check_nonnull()
 * does. Else it is noted. */
void json_memory_watch(bool ends);

/* Whether an allocation has failed since the last call, in any thread. */
bool json_memory_lacked(void);
