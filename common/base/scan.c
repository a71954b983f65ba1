/* SPDX-License-Identifier: MIT */
#include "base/scan.h"

#include <stdarg.h>
#include <stdio.h>

bool scan_file(const char *path, int count, const char *format, ...)
{
    FILE *file = fopen(path, "re");
    char line[4096];
    bool found = false;

    while (file && !found && fgets(line, sizeof line, file)) {
        va_list values;

        va_start(values, format);
        found = vsscanf(line, format, values) == count;
        va_end(values);
    }
    if (file)
        fclose(file);
    return found;
}
