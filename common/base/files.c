/* SPDX-License-Identifier: MIT */
#include "base/files.h"

#include "base/cleanup.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

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

char *text_close(FILE *out, char *const *text, bool failed)
{
    if (!out)
        return NULL;
    if (fclose(out) == 0 && !failed)
        return *text;
    free(*text);
    return NULL;
}

void scan_tail(const char *path, char *text, size_t size)
{
    CLEANUP_FILE FILE *file = fopen(path, "re");
    if (file && fseek(file, 1 - (long)size, SEEK_END) < 0)
        rewind(file);
    size_t read = file ? fread(text, 1, size - 1, file) : 0;
    while (read && (text[read - 1] == '\n' || text[read - 1] == ' '))
        read--;
    text[read] = '\0';
    for (char *at = text; (at = strchr(at, '\n')); at++)
        *at = ';';
}

int atomic_file_write(const char *path, int (*write)(FILE *file, void *context, struct problem *problem),
                      void *context, struct problem *problem)
{
    struct stat status;

    /* rename(2) would replace devices, pipes and links, for root even /dev/null */
    if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return problem_failure(problem, "cannot write %s: it is %s; name a regular file or a new one", path,
                               S_ISDIR(status.st_mode)   ? "a directory"
                               : S_ISLNK(status.st_mode) ? "a symbolic link"
                                                         : "a special file");
    size_t size = strlen(path) + sizeof ".part";
    CLEANUP_FREE char *temporary = xmalloc(size);
    snprintf(temporary, size, "%s.part", path);
    CLEANUP_FILE FILE *file = fopen(temporary, "we");
    if (file && write && write(file, context, problem) == 0 && fflush(file) == 0 && !ferror(file) &&
        rename(temporary, path) == 0)
        return 0;
    if (!file || write)
        problem_failure(problem, "cannot write %s: %s", path, strerror(errno));
    if (file)
        remove(temporary);
    return file && !write ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
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
    if (mkdtemp(folder) && (geteuid() != 0 || owner == 0 || chown(folder, owner, (gid_t)-1) == 0))
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
