/* SPDX-License-Identifier: MIT */
/* Any bytes are a file of keys, or are refused with the number of the line. Each identity of a file
 * has one key. */
#include "fuzz.h"

#include "control/psk.h"

static struct psk_list list;

static void check_identities(void)
{
    for (size_t i = 0; i < list.count; i++)
        abort_if(psk_find(&list, list.entries[i].identity, list.entries[i].identity_size) !=
                 &list.entries[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problem problem = {0};

    memset(&list, 0, sizeof list);
    if (psk_parse(&list, (const char *)data, size, "keys", &problem) == 0)
        check_identities();
    else
        abort_if(problem.kind != PROBLEM_USAGE || strncmp(problem.text, "keys:", 5) != 0);
    return 0;
}
