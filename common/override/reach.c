/* SPDX-License-Identifier: MIT */
#include "override/override.h"

#include "base/cleanup.h"
#include "base/files.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define SCRIPTS_MOST 4 /* nested interpreters of a script, as in the kernel */
#define BITS ((int)sizeof(void *) * 8)

struct image {
    const uint8_t *bytes;
    size_t size;
};

/* A table of the file; NULL if it is not aligned or not within the file. */
static const void *table(const struct image *image, uint64_t offset, uint64_t size)
{
    return offset % sizeof(void *) == 0 && offset <= image->size && size <= image->size - offset
               ? image->bytes + offset
               : NULL;
}

/* A NUL-terminated text at `offset`; "" where there is none. */
static const char *text(const struct image *image, uint64_t offset)
{
    return offset < image->size && memchr(image->bytes + offset, 0, image->size - offset)
               ? (const char *)image->bytes + offset
               : "";
}

/* The dynamic linker of the program (PT_INTERP); "": none. */
static const char *linker(const struct image *image, const ElfW(Ehdr) * header)
{
    const ElfW(Phdr) *segments = table(image, header->e_phoff, (uint64_t)header->e_phnum * sizeof *segments);
    for (unsigned i = 0; segments && i < header->e_phnum; i++)
        if (segments[i].p_type == PT_INTERP)
            return text(image, segments[i].p_offset);
    return "";
}

static int check_elf(const struct image *image, const char *path, struct problem *problem)
{
    const ElfW(Ehdr) *header = table(image, 0, sizeof *header);

    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return problem_unsupported(problem, "%s is neither an ELF program nor a script", path);
    if (header->e_ident[EI_CLASS] != (BITS == 64 ? ELFCLASS64 : ELFCLASS32))
        return problem_unsupported(problem, "%s is a %d-bit program, and the library is a %d-bit one", path,
                                   BITS == 64 ? 32 : 64, BITS);
    const ElfW(Shdr) *sections = table(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
    for (unsigned i = 0; sections && header->e_shstrndx < header->e_shnum && i < header->e_shnum; i++)
        if (!strcmp(text(image, sections[header->e_shstrndx].sh_offset + sections[i].sh_name),
                    ".go.buildinfo"))
            return problem_unsupported(problem,
                                       "%s is a Go program: its calls do not go through the C library", path);
    const char *loader = linker(image, header);
    if (!*loader)
        return problem_unsupported(problem, "%s is a static program: no library can be preloaded", path);
    if (!strstr(loader, "/ld-linux") && !strstr(loader, "/ld64."))
        return problem_unsupported(problem, "%s is loaded by %s, not by the dynamic linker of glibc", path,
                                   loader);
    return 0;
}

static int check_file(const char *path, unsigned depth, struct problem *problem)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    char line[PATH_MAX] = "", inner[PATH_MAX];
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0 || pread(fd, line, sizeof line - 1, 0) < 0)
        return problem_unsupported(problem, "cannot read %s: %s", path, strerror(errno));
    if ((status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
        (status.st_mode & S_ISGID && status.st_gid != getegid()))
        return problem_unsupported(
            problem, "%s is setuid or setgid: the dynamic linker preloads nothing; run it as its own user",
            path);
    if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return problem_unsupported(
            problem, "%s has file capabilities: the dynamic linker preloads nothing; run it as root", path);
    if (sscanf(line, "#! %[^ \t\n]", inner) == 1)
        return depth < SCRIPTS_MOST ? check_file(inner, depth + 1, problem)
                                    : problem_unsupported(problem, "%s: too many interpreters", path);
    size_t size = (size_t)status.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) /* size 0 */
        return problem_unsupported(problem, "%s is not a program: it is empty", path);
    int result = check_elf(&(struct image){bytes, size}, path, problem);
    munmap(bytes, size);
    return result;
}

int reach_check(const char *path, struct problem *problem)
{
    return check_file(path, 0, problem);
}

static int seccomp_filters(pid_t pid)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    scan_file(path, 1, "Seccomp_filters: %d", &count);
    return count;
}

static bool has_ring(pid_t pid)
{
    char path[64], target[64];
    bool found = false;

    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[size > 0 ? size : 0] = '\0';
        found = !strcmp(target, "anon_inode:[io_uring]");
    }
    if (folder)
        closedir(folder);
    return found;
}

int reach_check_process(pid_t pid, struct problem *problem)
{
    if (has_ring(pid))
        return problem_unsupported(
            problem, "process %ld has an io_uring: the library neither sees nor changes its sends",
            (long)pid);
    if (seccomp_filters(pid) > seccomp_filters(getpid()))
        return problem_unsupported(
            problem, "process %ld has a seccomp filter, which may end it when the library makes a call",
            (long)pid);
    return 0;
}

void reach_check_all(const struct shared *shared, struct problem *problem)
{
    for (uint32_t i = 0; i < shared->process_count && i < SHARED_PROCESSES; i++)
        reach_check_process(shared->processes[i], problem);
}
