/* SPDX-License-Identifier: MIT */
#include "command.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENDS_WITHIN_MS 2000

static void on_child(int number)
{
    (void)number; /* only interrupts ppoll(2) */
}

/* Ends all descendants of this process, which as their subreaper becomes the parent of orphans. */
static void kill_descendants(void)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    for (;;) {
        CLEANUP_FILE FILE *file = fopen(path, "re");
        long pid;

        while (file && fscanf(file, "%ld", &pid) == 1)
            kill((pid_t)pid, SIGKILL);
        pid = waitpid(-1, NULL, file ? 0 : WNOHANG);
        if (pid == 0 || (pid < 0 && errno != EINTR))
            return;
    }
}

/* Returns the status as of waitpid(2), or -1 where the client has gone. */
static int run_job(const struct job *job, int channel_fd, const sigset_t *wait_mask)
{
    static const int reset[] = {SIGPIPE, SIGTERM, SIGINT, SIGHUP}; /* nohup(1) and `&` ignore some */
    struct pollfd client = {.fd = channel_fd, .events = POLLIN};
    pid_t parent = getpid(), child = fork();
    int status = 127 << 8;

    if (child == 0) {
        int output = open(job->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
            signal(reset[i], SIG_DFL);
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        for (size_t i = 0; job->environment && i < 2; i++)
            putenv(job->environment[i]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            execv(job->arguments[0], (char **)(uintptr_t)job->arguments);
        dprintf(STDERR_FILENO, "cannot execute %s: %s\n", job->arguments[0], strerror(errno));
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
        ppoll(&client, 1, NULL, wait_mask);
        if (client.revents) /* closed: the client sends nothing while a job runs */
            return -1;
    }
    kill_descendants();
    return status;
}

/* Closes all descriptors of the client: an open copy in a load would delay the end of processes
 * that wait for their close. Signals stay blocked: they end the client, and its end ends this
 * process. */
static _Noreturn void supervise(struct command *command, int its_channel_fd)
{
    int null = open("/dev/null", O_RDONLY), status = 0, channel_fd = STDERR_FILENO + 1;
    sigset_t all_but_child;
    uint8_t number;

    sigfillset(&all_but_child);
    sigprocmask(SIG_BLOCK, &all_but_child, NULL);
    sigdelset(&all_but_child, SIGCHLD);
    signal(SIGCHLD, on_child);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    dup2(its_channel_fd, channel_fd);
    syscall(SYS_close_range, channel_fd + 1, ~0U, 0);
    fcntl(channel_fd, F_SETFD, FD_CLOEXEC);
    if (command->cpus.count)
        cores_restrict(&command->cpus);
    if (chdir(command->load.folder) == 0)
        while (status >= 0 && read(channel_fd, &number, 1) == 1) {
            status = run_job(&command->load.jobs[number], channel_fd, &all_but_child);
            if (status >= 0 && write(channel_fd, &status, sizeof status) < 0)
                break;
        }
    kill_descendants();
    folder_remove(command->load.folder);
    _exit(0);
}

int supervisor_start(struct command *command, struct problem *problem)
{
    int ends[2], result = uv_socketpair(SOCK_STREAM, 0, ends, 0, 0);

    if (result < 0)
        return problem_failure(problem, "cannot make a pair of sockets: %s", strerror(-result));
    command->supervisor.pid = fork();
    if (command->supervisor.pid == 0)
        supervise(command, ends[1]);
    close(ends[1]);
    command->channel_fd = ends[0];
    if (command->supervisor.pid > 0)
        return 0;
    command->supervisor.pid = 0;
    return problem_failure(problem, "cannot start a process: %s", strerror(errno));
}

void supervisor_stop(struct command *command)
{
    pid_t session = command->supervisor.pid;
    if (command->channel_fd >= 0)
        close(command->channel_fd);
    command->channel_fd = -1;
    if (session && !child_ends_within(&command->supervisor, ENDS_WITHIN_MS))
        child_end(&command->supervisor, ENDS_WITHIN_MS);
    if (session)
        kill(-session, SIGKILL); /* in case the supervisor was killed */
    folder_remove(command->load.folder);
}
