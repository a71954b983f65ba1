/* SPDX-License-Identifier: MIT */
#include "base/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int program_find(const char *name, const char *folders, char *path, size_t size)
{
    int result = -ENOENT;

    folders = folders ? folders : getenv("PATH");
    folders = strchr(name, '/') ? "" : folders ? folders : "/bin:/usr/bin";
    for (const char *folder = folders, *end;; folder = end + 1) {
        struct stat status;

        errno = 0;
        end = folder + strcspn(folder, ":"); /* an empty folder is the working directory */
        if (snprintf(path, size, "%.*s%s%s", (int)(end - folder), folder, end > folder ? "/" : "", name) <
                (int)size &&
            stat(path, &status) == 0) {
            if (S_ISREG(status.st_mode) && access(path, X_OK) == 0)
                return 0;
            result = -EACCES;
        } else if (errno == EACCES) {
            result = -EACCES;
        }
        if (!*end)
            return result;
    }
}
