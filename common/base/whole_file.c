/* SPDX-License-Identifier: MIT */
#include "base/whole_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* Rejects a device, a pipe and a link: rename(2) would replace them by a file, for root even
 * /dev/null. */
static int refuse_what_is_no_file(const char *path, struct problem *problem)
{
    struct stat there;

    if (lstat(path, &there) < 0 || S_ISREG(there.st_mode))
        return 0;
    return problem_failure(problem, "cannot write %s: it is %s, and a file is put there as a whole", path,
                           S_ISDIR(there.st_mode)   ? "a directory"
                           : S_ISLNK(there.st_mode) ? "a symbolic link"
                                                    : "no regular file");
}

int whole_file_write(const char *path, int (*write)(FILE *file, void *context, struct problem *problem),
                     void *context, struct problem *problem)
{
    size_t size = strlen(path) + sizeof ".part";
    CLEANUP_FREE char *beside = needed(malloc(size));
    FILE *file;
    bool is_kept, failed;

    if (refuse_what_is_no_file(path, problem) < 0)
        return -1;
    snprintf(beside, size, "%s.part", path);
    file = fopen(beside, "we");
    is_kept = file && write && write(file, context, problem) == 0 && fflush(file) == 0 && !ferror(file) &&
              rename(beside, path) == 0;
    failed = !file || (write && !is_kept);
    if (failed)
        problem_failure(problem, "cannot write %s: %s", path, strerror(errno));
    if (file)
        fclose(file);
    if (file && !is_kept)
        remove(beside);
    return failed ? -1 : 0;
}
