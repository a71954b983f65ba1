/* SPDX-License-Identifier: MIT */
#include "base/program.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int program_find(const char *name, const char *folders, char *path, size_t size)
{
    int result = -ENOENT;

    folders = folders ? folders : getenv("PATH");
    folders = strchr(name, '/') ? "" : folders ? folders : "/bin:/usr/bin";
    for (const char *folder = folders, *end;; folder = end + 1) {
        struct stat status;

        errno = 0;
        end = folder + strcspn(folder, ":"); /* an empty folder is the working directory */
        int length =
            snprintf(path, size, "%.*s%s%s", (int)(end - folder), folder, end > folder ? "/" : "", name);
        bool exists = length < (int)size && stat(path, &status) == 0;
        if (exists && S_ISREG(status.st_mode) && access(path, X_OK) == 0)
            return 0;
        if (exists || errno == EACCES)
            result = -EACCES;
        if (!*end)
            return result;
    }
}

void standard_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* the lowest number, fd */
}

/* errno is that of the last write: after a failure each later one fails in the same way. */
static int check(bool written, struct problem *problem)
{
    if (written)
        return 0;
    if (errno == EBADF)
        return problem_failure(problem, "standard output is closed");
    return problem_failure(problem, "cannot write to standard output: %s", strerror(errno));
}

int standard_print(const json_t *json, size_t flags, struct problem *problem)
{
    CLEANUP_FREE char *line = json_dumps(json, flags);
    if (json_memory_lacked() || !line) /* no part of a line is printed */
        return problem_failure(problem, "no memory for a line of JSON");
    fputs(line, stdout);
    putchar('\n');
    return check(fflush(stdout) == 0 && !ferror(stdout), problem);
}

int standard_end(const char *program, struct problem *problem)
{
    bool failed = ferror(stdout);
    if (problem->kind == PROBLEM_NONE)
        check(fclose(stdout) == 0 && !failed, problem);
    if (problem->kind != PROBLEM_NONE)
        fprintf(stderr, "%s: %s\n", program, problem->text);
    return problem_exit_status(problem);
}

#define HEADING(text) {NULL, NULL, text},
#define OPTION(name, argument, letter, value, help) {name, value, help},

const struct option_help client_options[] = {
#include "base/options_client.def"
    {NULL, NULL, NULL},
};

const struct option_help server_options[] = {
#include "base/options_server.def"
    {NULL, NULL, NULL},
};

void option_print(const struct option_help *options, int column)
{
    for (const struct option_help *option = options; option->help; option++) {
        if (!option->name) {
            printf("\n%s%s", option->help, *option->help ? "\n" : "");
            continue;
        }
        const char *letter = strcmp(option->name, "help") != 0 ? "" : "-h, ";
        int width = printf("  %s--%s%s", letter, option->name, option->value);
        if (width >= column)
            width = printf("\n") - 1;
        for (const char *line = option->help; *line; width = 0) {
            int length = (int)strcspn(line, "\n");

            printf("%*s%.*s\n", column - width, "", length, line);
            line += line[length] ? length + 1 : length;
        }
    }
}

int loop_init(uv_loop_t *loop)
{
    *loop = (uv_loop_t){.backend_fd = -1};
    int result = uv_loop_init(loop);
#if UV_VERSION_HEX < 0x012d00
    if (result < 0 && loop->backend_fd >= 0)
        close(loop->backend_fd);
#endif
    return result;
}

#define NEEDED 4 /* descriptors that libuv opens up to that pipe, and one more */

int loop_open(uv_loop_t *loop, struct problem *problem)
{
    int free_fds[NEEDED], count = 0;
    while (count < NEEDED && (free_fds[count] = dup(STDIN_FILENO)) >= 0)
        count++;
    int result = count < NEEDED ? -errno : 0;
    while (count > 0)
        close(free_fds[--count]);
    if (result == 0)
        result = loop_init(loop);
    return result == 0 ? 0 : problem_failure(problem, "cannot open an event loop: %s", uv_strerror(result));
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char ignored[64];
    *buffer = uv_buf_init(ignored, sizeof ignored);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct parent_watch *watch = stream->data;
    if (size >= 0)
        return;
    uv_read_stop(stream);
    watch->gone(watch->owner);
}

int parent_watch_start(struct parent_watch *watch, uv_loop_t *loop, int fd, void (*gone)(void *owner),
                       void *owner, struct problem *problem)
{
    if (uv_guess_handle(fd) != UV_NAMED_PIPE)
        return problem_usage(problem, "--with-parent needs a pipe or a socket; descriptor %d is neither", fd);
    *watch = (struct parent_watch){.gone = gone, .owner = owner, .started = true};
    uv_pipe_init(loop, &watch->pipe, 0);
    watch->pipe.data = watch;
    if (uv_pipe_open(&watch->pipe, fd) < 0 ||
        uv_read_start((uv_stream_t *)&watch->pipe, on_alloc, on_read) < 0)
        return problem_usage(problem, "--with-parent cannot read descriptor %d", fd);
    return 0;
}

void parent_watch_stop(struct parent_watch *watch)
{
    if (watch->started)
        uv_close((uv_handle_t *)&watch->pipe, NULL);
    watch->started = false;
}

/* The encoding of waitpid(2), which child_describe() reads. */
void child_note_end(struct child *child, int64_t exit_status, int term_signal)
{
    *child = (struct child){.status = term_signal ? term_signal : (int)(exit_status << 8)};
}

bool child_ends_within(struct child *child, uint64_t ms)
{
    uint64_t until = clock_now_ns() + ms * NS_PER_MS;

    while (child->pid) {
        pid_t ended = waitpid(child->pid, &child->status, WNOHANG);

        if (ended == child->pid || (ended < 0 && errno != EINTR))
            child->pid = 0;
        else if (clock_now_ns() >= until)
            return false;
        else
            nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    return true;
}

void child_end(struct child *child, uint64_t ms)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    for (int i = 0; i < 2 && child->pid; i++) {
        kill(child->pid, signals[i]);
        child_ends_within(child, ms);
    }
}

/* Since the state stays as it is (WNOWAIT), libuv still sees the end of the child. */
int child_stopped_by(const struct child *child)
{
    siginfo_t info = {0};
    if (!child->pid || waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) < 0)
        return 0;
    return info.si_status;
}

void child_describe(const struct child *child, char text[CHILD_TEXT_MAX])
{
    int stopped_by = child_stopped_by(child);
    if (stopped_by)
        snprintf(text, CHILD_TEXT_MAX, "was stopped by signal %d", stopped_by);
    else if (WIFSIGNALED(child->status))
        snprintf(text, CHILD_TEXT_MAX, "was ended by signal %d", WTERMSIG(child->status));
    else
        snprintf(text, CHILD_TEXT_MAX, "ended with status %d", WEXITSTATUS(child->status));
}
