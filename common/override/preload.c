/* SPDX-License-Identifier: MIT */
#include "override/preload.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct next preload_next;
struct shared *preload_shared;
pid_t preload_process;

uint64_t preload_hash(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(1099511628211);
    return sum;
}

bool preload_claim(_Atomic uint64_t *key, uint64_t wanted)
{
    uint64_t found = *key;
    wanted += !wanted; /* 0: the entry is free */
    return found == wanted ||
           (!found && (atomic_compare_exchange_strong(key, &found, wanted) || found == wanted));
}

/* Maps the file of a descriptor. NULL if it is not the shared memory. */
static struct shared *map(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || status.st_size != (off_t)sizeof(struct shared))
        return NULL;
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED || shared->magic == SHARED_MAGIC)
        return shared == MAP_FAILED ? NULL : shared;
    munmap(shared, sizeof *shared);
    return NULL;
}

/* Records the process id, once even if the process runs another program by execve(2). */
static void note_process(void)
{
    preload_process = getpid();
    for (size_t i = 0; i < SHARED_PROCESSES; i++)
        if (preload_shared->processes[i] == preload_process)
            return;
    uint32_t number = preload_shared->process_count++;
    if (number < SHARED_PROCESSES)
        preload_shared->processes[number] = preload_process;
}

/* A program that this program starts no longer has the inherited descriptor: it opens the path. */
__attribute__((constructor(101))) void preload_start(void)
{
    static _Atomic bool started;
    char *path = NULL;

    if (atomic_exchange(&started, true))
        return;
#define LOOK_UP(name) *(void **)&preload_next.name = dlsym(RTLD_NEXT, #name);
    INTERPOSED(LOOK_UP)
    const char *where = getenv(SHARED_VARIABLE);
    if (!where)
        return;
    int fd = (int)strtol(where, &path, 10);
    struct shared *shared = map(fd);
    if (!shared && *path != ':')
        return;
    if (!shared) {
        fd = open(path + 1, O_RDWR | O_CLOEXEC);
        shared = map(fd);
    }
    preload_next.close(fd); /* the program gets the same numbers as without the library */
    preload_shared = shared;
    if (!shared)
        return;
    note_process();
    groups_start();
    pthread_atfork(NULL, NULL, note_process);
}
