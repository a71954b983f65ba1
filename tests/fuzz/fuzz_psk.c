/* SPDX-License-Identifier: MIT */
/* Any bytes are a file of keys or are none, and then it is said in which line; what was read is spelled so
 * that it reads back as the same. */
#include "control/psk.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct psk_list list, again;

static void check_spelling(void)
{
    struct problem problem = {0};

    memset(&again, 0, sizeof again);
    for (size_t i = 0; i < list.count; i++) {
        char line[PSK_LINE_MAX];

        if (psk_parse(&again, line, psk_format(line, &list.entries[i]), "again", &problem) < 0)
            abort();
        if (psk_find(&list, again.entries[i].identity, again.entries[i].identity_size) != &list.entries[i])
            abort();
    }
    if (memcmp(&list, &again, sizeof list) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problem problem = {0};

    memset(&list, 0, sizeof list);
    if (psk_parse(&list, (const char *)data, size, "keys", &problem) == 0)
        check_spelling();
    else if (problem.kind != PROBLEM_USAGE || strncmp(problem.text, "keys:", 5) != 0)
        abort();
    return 0;
}
