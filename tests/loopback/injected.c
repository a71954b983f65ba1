/* SPDX-License-Identifier: MIT */
/* Preloaded into one program: it counts the calls of injected.def, and lets one of them fail.
 *
 * The file INJECTED has the state, which the test shares: it says from when on calls count, and
 * which one fails. Only the first process counts whose program has the name INJECTED_PROGRAM: not
 * its children. No header that declares a call is included, since `...` would be in the way. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#define EAI_MEMORY (-10)
#define FRAMES 24
#define SHARED_FILE 1    /* MAP_SHARED */
#define READ_AND_WRITE 3 /* PROT_READ | PROT_WRITE */
#define OWN_ENTRY 9      /* AT_ENTRY */
#define BOTH_WAYS 2      /* SHUT_RDWR */
#define OPEN_BOTH 02     /* O_RDWR */

/* injected.py has the same fields, each of 8 bytes */
struct state {
    _Atomic int64_t pid;      /* of the process that counts; 0: none yet */
    _Atomic int64_t left;     /* calls that succeed before one fails; less than 0: none counts */
    _Atomic int64_t variant;  /* which of its errors, modulo their number */
    _Atomic int64_t calls;    /* that were counted */
    _Atomic int64_t failed;   /* number of the row in injected.def, from 1; 0: none has failed */
    _Atomic int64_t variants; /* errors of that row */
    _Atomic int64_t error;    /* the one that was injected */
    _Atomic int64_t blocks;   /* of memory that are allocated now */
    int64_t frames[FRAMES];   /* who called: addresses in the program itself, others are 0 */
};
static struct state none = {.left = -1}, *state = &none;
static int64_t own_pid;

enum row {
    NO_ROW,
#define BY_HAND(name) ROW_##name,
#define CALL(type, name, ...) ROW_##name,
#define SOCKET_CALL CALL
#define SPARED(library, calls, why)
#include "injected.def"
#undef BY_HAND
#undef CALL
#undef SOCKET_CALL
#undef SPARED
};

extern int getpid(void);
extern unsigned long getauxval(unsigned long type);
extern char *getenv(const char *name), *program_invocation_short_name;

static const struct {
    const char *library, *calls;
} spared[] = {
#define BY_HAND(name)
#define CALL(...)
#define SOCKET_CALL(...)
#define SPARED(library, calls, why) {library, calls},
#include "injected.def"
#undef BY_HAND
#undef CALL
#undef SOCKET_CALL
#undef SPARED
};

static int is_of(const void *at, const char *library)
{
    Dl_info info;
    return dladdr(at, &info) && info.dli_fname && strstr(info.dli_fname, library);
}

static int is_spared(const void *caller, const char *call)
{
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++)
        if (strstr(spared[i].calls, call) && is_of(caller, spared[i].library))
            return 1;
    return 0;
}

/* libuv starts the threads of its pool. */
static __thread int is_pool;

static int counts(void)
{
    return state->left >= 0 && !is_pool && getpid() == own_pid;
}

/* Whether this call fails: then with `*error`, one of `errors`. */
static int fails(enum row row, const int *errors, size_t count, int *error)
{
    void *frames[FRAMES];
    Dl_info own, info;

    state->calls++;
    if (atomic_fetch_sub(&state->left, 1) != 0) /* then it is less than 0: no further call counts */
        return 0;
    *error = errors[(size_t)state->variant % count];
    state->failed = row;
    state->variants = (int64_t)count;
    state->error = *error;
    int found = dladdr((void *)getauxval(OWN_ENTRY), &own) ? backtrace(frames, FRAMES) : 0;
    for (int i = 0; i < found; i++)
        if (dladdr(frames[i], &info) && info.dli_fbase == own.dli_fbase)
            state->frames[i] = (char *)frames[i] - (char *)info.dli_fbase;
    return 1;
}

/* The next function of this name. */
#define NEXT(name)                                                                                           \
    static typeof(name) *next;                                                                               \
    if (!next)                                                                                               \
    *(void **)&next = dlsym(RTLD_NEXT, #name)

#define FAILS(name, ...)                                                                                     \
    (counts() && !is_spared(__builtin_return_address(0), " " #name " ") &&                                   \
     fails(ROW_##name, (const int[]){__VA_ARGS__}, sizeof(int[]){__VA_ARGS__} / sizeof(int), &error))

/* A function that returns `failed` when it fails. */
#define WRAP(type, name, parameters, arguments, failed, ...)                                                 \
    type name parameters;                                                                                    \
    type name parameters                                                                                     \
    {                                                                                                        \
        int error = 0;                                                                                       \
        NEXT(name);                                                                                          \
        if (FAILS(name, __VA_ARGS__))                                                                        \
            return errno = error, failed;                                                                    \
        return next arguments;                                                                               \
    }

/* ---- memory ---- */

#define ALLOCATE(name, parameters, arguments)                                                                \
    void *name parameters;                                                                                   \
    void *name parameters                                                                                    \
    {                                                                                                        \
        int error;                                                                                           \
        NEXT(name);                                                                                          \
        if (FAILS(name, ENOMEM))                                                                             \
            return errno = error, NULL;                                                                      \
        void *block = next arguments;                                                                        \
        state->blocks += block != NULL;                                                                      \
        return block;                                                                                        \
    }
ALLOCATE(malloc, (size_t size), (size))
ALLOCATE(calloc, (size_t count, size_t size), (count, size))
ALLOCATE(aligned_alloc, (size_t alignment, size_t size), (alignment, size))

void *realloc(void *old, size_t size);
void *realloc(void *old, size_t size)
{
    int error;
    NEXT(realloc);
    if (FAILS(realloc, ENOMEM))
        return errno = error, NULL;
    void *block = next(old, size);
    state->blocks += (!old && block) - (old && !block && !size);
    return block;
}

int posix_memalign(void **block, size_t alignment, size_t size);
int posix_memalign(void **block, size_t alignment, size_t size)
{
    int error;
    NEXT(posix_memalign);
    if (FAILS(posix_memalign, ENOMEM))
        return error;
    error = next(block, alignment, size);
    state->blocks += error == 0;
    return error;
}

void free(void *block);
void free(void *block)
{
    NEXT(free);
    state->blocks -= block != NULL;
    next(block);
}

/* ---- connections that break ---- */

int shutdown(int fd, int how);

/* Where the peer is said to be gone, it is. Returns -1. */
static int broken(int error, int fd)
{
    static typeof(shutdown) *next;
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "shutdown");
    if (error == EPIPE || error == ECONNRESET || error == ENOTCONN)
        next(fd, BOTH_WAYS);
    errno = error;
    return -1;
}

/* ---- calls that are spared in part ---- */

ssize_t read(int fd, void *data, size_t size);
ssize_t write(int fd, const void *data, size_t size);
int pthread_create(size_t *thread, const void *attributes, void *(*start)(void *), void *argument);
int pipe2(int *fds, int flags);

/* An eventfd or a pipe: this process has both ends, so that no call on it fails. */
static int is_wake_up(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || (status.st_mode & S_IFMT) == 0);
}

ssize_t read(int fd, void *data, size_t size)
{
    int error;
    NEXT(read);
    if (counts() && !is_wake_up(fd) && FAILS(read, EIO, EINTR))
        return errno = error, -1;
    return next(fd, data, size);
}

ssize_t write(int fd, const void *data, size_t size)
{
    int error;
    NEXT(write);
    if (counts() && !is_wake_up(fd) && FAILS(write, EPIPE, ENOSPC))
        return broken(error, fd);
    return next(fd, data, size);
}

/* The first pipe of libuv has the signals of all loops. */
int pipe2(int *fds, int flags)
{
    static _Atomic int of_libuv;
    int error;
    NEXT(pipe2);
    int is_first = is_of(__builtin_return_address(0), "/libuv") && of_libuv++ == 0;
    if (!is_first && FAILS(pipe2, EMFILE))
        return errno = error, -1;
    return next(fds, flags);
}

int pthread_create(size_t *thread, const void *attributes, void *(*start)(void *), void *argument)
{
    int error;
    NEXT(pthread_create);
    is_pool = is_of((const void *)start, "/libuv");
    if (FAILS(pthread_create, EAGAIN))
        return error;
    error = next(thread, attributes, start, argument);
    is_pool = 0;
    return error;
}

/* ---- all other calls ---- */

#define BY_HAND(name)
#define CALL(type, name, parameters, arguments, failed, ...)                                                 \
    WRAP(type, name, parameters, arguments, failed, __VA_ARGS__)
#define SOCKET_CALL(type, name, parameters, arguments, ...)                                                  \
    WRAP(type, name, parameters, arguments, broken(error, fd), __VA_ARGS__)
#define SPARED(library, calls, why)
#include "injected.def"

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("INJECTED"), *program = getenv("INJECTED_PROGRAM");
    void *frames[1];
    int64_t nobody = 0;

    if (!path || !program || strcmp(program, program_invocation_short_name) != 0)
        return;
    backtrace(frames, 1); /* loads what it needs */
    int fd = open(path, OPEN_BOTH, 0);
    void *at = mmap(NULL, sizeof *state, READ_AND_WRITE, SHARED_FILE, fd, 0);
    own_pid = getpid();
    if (at == (void *)-1 || !atomic_compare_exchange_strong(&((struct state *)at)->pid, &nobody, own_pid))
        return;
    ((struct state *)at)->blocks = none.blocks;
    state = at;
}
