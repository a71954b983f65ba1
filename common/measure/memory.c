/* SPDX-License-Identifier: MIT */
#include "measure/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* proc_pid_statm(5): size and resident, in pages. */
uint64_t memory_resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    uint64_t pages = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
