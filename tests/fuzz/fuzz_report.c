/* SPDX-License-Identifier: MIT */
/* A program under an override may write anything into the memory that it shares: the report of it
 * is JSON without a negative number, and is printed. */
#include "fuzz.h"

#include "override/override.h"

#include <limits.h>

static void check_numbers(const json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;

    abort_if(!value || (json_is_integer(value) && json_integer_value(value) < 0));
    json_array_foreach(value, i, item)
        check_numbers(item);
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
        check_numbers(item);
}

/* Each ten bytes are a place in the memory, in units of four bytes, and eight bytes that stand
 * there. At first there is a connection with one group. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct shared shared;
    static char printed[1 << 16];
    struct problem problem = {0};

    shared = (struct shared){.magic = SHARED_MAGIC, .process_count = 1};
    shared.kinds[0].connections = shared.kinds[0].shapes[0].groups = 1;
    shared.kinds[0].shapes[0].sends = 1;
    for (; size >= 10; data += 10, size -= 10) {
        size_t at = (data[0] | (size_t)data[1] << 8) * 4 % (sizeof shared - 7);
        memcpy((uint8_t *)&shared + at, data + 2, 8);
    }
    CLEANUP_JSON json_t *report = report_make(&shared, size & 1 ? "qemu-nbd" : NULL, 1, "");
    check_numbers(report);
    CLEANUP_FILE FILE *file = fmemopen(printed, sizeof printed, "w");
    report_print(file, report);
    if (override_proof(&shared, &problem) < 0)
        abort_if(problem.kind != PROBLEM_UNSUPPORTED);
    return 0;
}
