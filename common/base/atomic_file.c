/* SPDX-License-Identifier: MIT */
#include "base/atomic_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* Rejects devices, pipes and links: rename(2) would replace them, for root even /dev/null. */
static int reject_special_file(const char *path, struct problem *problem)
{
    struct stat status;

    if (lstat(path, &status) < 0 || S_ISREG(status.st_mode))
        return 0;
    return problem_failure(problem, "cannot write %s: it is %s; name a regular file or a new one", path,
                           S_ISDIR(status.st_mode)   ? "a directory"
                           : S_ISLNK(status.st_mode) ? "a symbolic link"
                                                     : "a special file");
}

int atomic_file_write(const char *path, int (*write)(FILE *file, void *context, struct problem *problem),
                      void *context, struct problem *problem)
{
    size_t size = strlen(path) + sizeof ".part";
    CLEANUP_FREE char *temporary = needed(malloc(size));
    FILE *file;
    bool is_renamed, failed;

    if (reject_special_file(path, problem) < 0)
        return -1;
    snprintf(temporary, size, "%s.part", path);
    file = fopen(temporary, "we");
    is_renamed = file && write && write(file, context, problem) == 0 && fflush(file) == 0 && !ferror(file) &&
                 rename(temporary, path) == 0;
    failed = !file || (write && !is_renamed);
    if (failed)
        problem_failure(problem, "cannot write %s: %s", path, strerror(errno));
    if (file)
        fclose(file);
    if (file && !is_renamed)
        remove(temporary);
    return failed ? -1 : 0;
}
