/* SPDX-License-Identifier: MIT */
#include "base/folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

int folder_make(char folder[FOLDER_MAX], const char *kind, uid_t owner, struct problem *problem)
{
    const char *set = getenv("TMPDIR"), *parent = set && *set ? set : "/tmp";
    int size = snprintf(folder, FOLDER_MAX, "%s/uncork-%s-XXXXXX", parent, kind);

    if (size >= FOLDER_MAX) {
        *folder = '\0';
        return problem_failure(problem, "TMPDIR=%.100s is too long for the folder of a %s", parent, kind);
    }
    if (mkdtemp(folder) && (geteuid() != 0 || chown(folder, owner, (gid_t)-1) == 0))
        return 0;
    return problem_failure(problem, "cannot make a folder in %s: %s; set TMPDIR to a folder that is writable",
                           parent, strerror(errno));
}

void folder_remove(char folder[FOLDER_MAX])
{
    if (*folder)
        nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    *folder = '\0';
}
