/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "words/word.h"

void unit_parse(struct plan *plan, const char *const *words)
{
    struct problem problem = {0};
    size_t count = 0;

    while (words[count])
        count++;
    if (plan_parse(plan, words, count, &problem) < 0)
        fail_msg("%s", problem.text);
}
