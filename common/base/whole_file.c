/* SPDX-License-Identifier: MIT */
#include "base/whole_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
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

int whole_file_open(struct whole_file *file, const char *path, struct problem *problem)
{
    size_t size = strlen(path) + sizeof ".part";

    if (refuse_what_is_no_file(path, problem) < 0)
        return -1;
    *file = (struct whole_file){.path = path, .beside = malloc(size)};
    if (!file->beside)
        return problem_failure(problem, "out of memory");
    snprintf(file->beside, size, "%s.part", path);
    file->file = fopen(file->beside, "we");
    if (file->file)
        return 0;
    problem_failure(problem, "cannot write %s: %s", path, strerror(errno));
    free(file->beside);
    return -1;
}

int whole_file_keep(struct whole_file *file, struct problem *problem)
{
    bool is_written = fflush(file->file) == 0 && !ferror(file->file);

    if (is_written && rename(file->beside, file->path) == 0) {
        fclose(file->file);
        free(file->beside);
        return 0;
    }
    problem_failure(problem, "cannot write %s: %s", file->path, strerror(errno));
    whole_file_drop(file);
    return -1;
}

void whole_file_drop(struct whole_file *file)
{
    fclose(file->file);
    remove(file->beside);
    free(file->beside);
}

int whole_file_check(const char *path, struct problem *problem)
{
    struct whole_file file;

    if (whole_file_open(&file, path, problem) < 0)
        return -1;
    whole_file_drop(&file);
    return 0;
}
