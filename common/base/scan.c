/* SPDX-License-Identifier: MIT */
#include "base/scan.h"

#include "base/cleanup.h"

#include <stdarg.h>
#include <string.h>

bool scan_file(const char *path, int count, const char *format, ...)
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    char line[4096];
    bool found = false;

    while (file && !found && fgets(line, sizeof line, file)) {
        va_list values;

        va_start(values, format);
        found = vsscanf(line, format, values) == count;
        va_end(values);
    }
    return found;
}

void scan_tail(const char *path, char *text, size_t size)
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    size_t read = 0;

    if (file) {
        if (fseek(file, 1 - (long)size, SEEK_END) < 0)
            rewind(file);
        read = fread(text, 1, size - 1, file);
    }
    while (read && (text[read - 1] == '\n' || text[read - 1] == ' '))
        read--;
    text[read] = '\0';
    for (char *at = text; (at = strchr(at, '\n')); at++)
        *at = ';';
}
