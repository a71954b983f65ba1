/* SPDX-License-Identifier: MIT */
#include "override/override.h"

#include "base/cleanup.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define FILE_FROM 200 /* lowest descriptor: above those that programs expect (LISTEN_FDS) */

#define CHANGE_NAME(name, bit, size, means) ", " name size
#define CHANGE_ROW(name, bit, size, means) {name, size},
static const struct {
    const char *name, *size;                     /* size: ":SIZE" or "" */
} known[CHANGE_COUNT] = {OVERRIDES(CHANGE_ROW)}; /* by position: bit 1 << i */

static const uint64_t opposites[] = {CHANGE_NODELAY | CHANGE_NAGLE, CHANGE_NOMORE | CHANGE_MORE,
                                     CHANGE_NOMORE | CHANGE_JOIN, CHANGE_MORE | CHANGE_JOIN};

int override_parse(struct change *change, const char *text, struct problem *problem)
{
    CLEANUP_FREE char *copy = strdup(text);
    char *rest = copy, *one;

    *change = (struct change){0};
    if (!copy)
        return problem_failure(problem, "no memory for override=");
    while (strcmp(text, "none") != 0 && (one = strsep(&rest, "+"))) {
        size_t length = strcspn(one, ":");
        const char *size = one[length] ? one + length + 1 : NULL;
        uint64_t bytes = 0;
        int i = 0;

        while (i < CHANGE_COUNT &&
               (strlen(known[i].name) != length || strncmp(known[i].name, one, length) != 0))
            i++;
        if (i == CHANGE_COUNT)
            return problem_usage(problem, "override=%.40s: write none" OVERRIDES(CHANGE_NAME), one);
        if (!size != !*known[i].size)
            return problem_usage(problem, "override=%s: write %s%s", one, known[i].name,
                                 size ? " without a size" : ":SIZE, like 64 or 256K");
        if (size && (units_parse(&units_size, size, &bytes) < 0 || !bytes || bytes > INT_MAX / 2))
            return problem_usage(problem, "override=%s: the size is 1 to 1023M, like 64 or 256K", one);
        if (change->bits & UINT64_C(1) << i)
            return problem_usage(problem, "override has %s twice", known[i].name);
        change->bits |= UINT64_C(1) << i;
        change->bytes[i] = bytes;
    }
    for (size_t i = 0; i < sizeof opposites / sizeof *opposites; i++)
        if ((change->bits & opposites[i]) == opposites[i])
            return problem_usage(problem, "override=%s: one change undoes the other", text);
    return 0;
}

void override_format(const struct change *change, char *text, size_t size)
{
    size_t length = 0;
    snprintf(text, size, "none");
    for (int i = 0; i < CHANGE_COUNT && length < size; i++) {
        bool sized = *known[i].size;
        if (change->bits & UINT64_C(1) << i)
            length +=
                (size_t)snprintf(text + length, size - length, "%s%s%s%s", length ? "+" : "", known[i].name,
                                 sized ? ":" : "", sized ? units_text(&units_size, change->bytes[i]) : "");
    }
}

int override_open(struct override *override, const struct change *change, bool records_groups,
                  bool other_user, struct problem *problem)
{
    CLEANUP_CLOSE int file = memfd_create("uncork-override", MFD_CLOEXEC);
    const char *others = getenv("LD_PRELOAD");
    struct shared *shared = MAP_FAILED;
    char *path = override->library, folder[PATH_MAX - 64] = "";
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);

    *override = (struct override){0};
    /* The library is beside this program, else in the folder of the installation. */
    while (length > 0 && folder[length - 1] != '/')
        folder[--length] = '\0';
    snprintf(path, PATH_MAX, "%s" SHARED_LIBRARY, folder);
    if (access(path, R_OK) < 0)
        snprintf(path, PATH_MAX, "%s" OVERRIDE_FOLDER SHARED_LIBRARY, folder);
    if (access(path, R_OK) < 0)
        return problem_failure(problem, "there is no " SHARED_LIBRARY " in %s or %s" OVERRIDE_FOLDER, folder,
                               folder);
    if (strpbrk(path, ": "))
        return problem_failure(problem, "%s: a path in LD_PRELOAD may not contain a colon or a blank", path);
    if (other_user) {
        CLEANUP_CLOSE int library = open(path, O_RDONLY | O_CLOEXEC);
        override->library_file = fcntl(library, F_DUPFD, FILE_FROM);
        if (override->library_file < 0)
            return problem_failure(problem, "cannot open %s: %s", path, strerror(errno));
        snprintf(path, PATH_MAX, "/proc/self/fd/%d", override->library_file);
    }
    override->file = fcntl(file, F_DUPFD, FILE_FROM);
    if (override->file >= 0 && ftruncate(override->file, sizeof *shared) == 0)
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, override->file, 0);
    if (shared == MAP_FAILED)
        return problem_failure(problem, "cannot make the shared memory of an override: %s",
                               errno == EINVAL ? "ulimit -n is too low" : strerror(errno));
    override->shared = shared;
    shared->magic = SHARED_MAGIC;
    shared->change = *change;
    shared->records_groups = records_groups;
    if (asprintf(&override->environment[0], "LD_PRELOAD=%s%s%s", override->library,
                 others && *others ? ":" : "", others ? others : "") < 0 ||
        asprintf(&override->environment[1], SHARED_VARIABLE "=%d:/proc/%ld/fd/%d", override->file,
                 (long)getpid(), override->file) < 0)
        return problem_failure(problem, "no memory");
    return 0;
}

int override_start(struct override *override, const char *text, const char *path, bool other_user,
                   struct problem *problem)
{
    struct change change;
    if (override_parse(&change, text, problem) < 0)
        return -1;
    if (reach_check(path, problem) == 0 && override_open(override, &change, false, other_user, problem) == 0)
        return 0;
    problem->kind = PROBLEM_UNSUPPORTED;
    return -1;
}

void override_close(struct override *override)
{
    if (override->shared)
        munmap(override->shared, sizeof *override->shared);
    if (override->file > 0)
        close(override->file);
    if (override->library_file > 0)
        close(override->library_file);
    free(override->environment[0]);
    free(override->environment[1]);
    *override = (struct override){0};
}

int override_proof(const struct shared *shared, struct problem *problem)
{
    uint64_t sends = 0, changed = shared->tls_corks, tcp = 0;
    bool needs_tcp = shared->change.bits & ~(uint64_t)(CHANGE_SNDBUF | CHANGE_RCVBUF);

    if (!shared->process_count)
        return problem_unsupported(problem, "the library did not reach the program: no process loaded it");
    for (size_t i = 0; i < SHARED_KINDS; i++) {
        const struct shared_kind *kind = &shared->kinds[i];

        for (size_t call = 0; call < COUNTED_SENDS; call++)
            sends += kind->calls[call];
        changed += kind->changed;
        tcp += kind->read_back && kind->nodelay >= 0;
        if (kind->read_back && kind->nodelay == !(shared->change.bits & CHANGE_NODELAY) &&
            shared->change.bits & (CHANGE_NODELAY | CHANGE_NAGLE))
            return problem_unsupported(problem, "TCP_NODELAY is %s when it is read back",
                                       kind->nodelay ? "on" : "off");
    }
    if (!sends)
        return problem_unsupported(problem,
                                   "the library saw no send on a stream connection: the program sends by "
                                   "other calls, or has sent nothing");
    if (needs_tcp && !tcp)
        return problem_unsupported(problem, "no TCP connection: a Unix socket does not have this option");
    if (shared->change.bits && !changed)
        return problem_unsupported(problem,
                                   "there was nothing to change: no send and no option of this kind");
    return 0;
}
