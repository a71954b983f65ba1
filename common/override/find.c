/* SPDX-License-Identifier: MIT */
#include "override/reach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, -ENOENT or -EACCES. */
static int executable(const char *path)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return errno == EACCES ? -EACCES : -ENOENT;
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

int reach_find(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    int result = -ENOENT;

    if (strchr(name, '/'))
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? executable(path) : -ENOENT;
    for (const char *at = folders ? folders : "/bin:/usr/bin";; at++) {
        int length = (int)strcspn(at, ":"), found;

        if (snprintf(path, PATH_MAX, "%.*s/%s", length ? length : 1, length ? at : ".", name) < PATH_MAX) {
            found = executable(path);
            if (found == 0)
                return 0;
            result = found == -EACCES ? found : result;
        }
        at += length;
        if (!*at)
            return result;
    }
}
