/* SPDX-License-Identifier: MIT */
#include "keeper.h"

#include "base/folder.h"
#include "net/sockets.h"
#include "placement/cores.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENDS_WITHIN_MS 2000

static const int ended_by[] = {SIGTERM, SIGINT, SIGHUP}; /* the client is; then its keeper ends */

static void on_child(int number)
{
    (void)number; /* ends ppoll(2) */
}

/* Ends all descendants of this process: it is their subreaper, so that orphans become its children. */
static void end_all(void)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    for (;;) {
        FILE *file = fopen(path, "re");
        long pid;

        while (file && fscanf(file, "%ld", &pid) == 1)
            kill((pid_t)pid, SIGKILL);
        if (file)
            fclose(file);
        pid = waitpid(-1, NULL, file ? 0 : WNOHANG);
        if (pid == 0 || (pid < 0 && errno != EINTR))
            return;
    }
}

static _Noreturn void become(const struct job *job, pid_t parent)
{
    int output = open(job->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    for (size_t i = 0; i < sizeof ended_by / sizeof *ended_by; i++)
        signal(ended_by[i], SIG_DFL);
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

/* Returns the status as of waitpid(2), or -1 where the client has gone. */
static int do_job(const struct job *job, int tie, const sigset_t *awake)
{
    struct pollfd client = {.fd = tie, .events = POLLIN};
    pid_t parent = getpid(), child = fork();
    int status = 127 << 8;

    if (child == 0)
        become(job, parent);
    while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
        ppoll(&client, 1, NULL, awake);
        if (client.revents) /* it sends nothing while a job runs */
            return -1;
    }
    end_all();
    return status;
}

/* Descriptors of the client stay open in no load: some end other processes by closing. */
static _Noreturn void keep(const struct keeper *keeper, int its_tie)
{
    int null = open("/dev/null", O_RDONLY), status = 0, tie = STDERR_FILENO + 1;
    sigset_t child, awake;
    uint8_t number;

    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (size_t i = 0; i < sizeof ended_by / sizeof *ended_by; i++)
        signal(ended_by[i], SIG_IGN);
    signal(SIGCHLD, on_child);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &awake);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    dup2(its_tie, tie);
    syscall(SYS_close_range, tie + 1, ~0U, 0);
    fcntl(tie, F_SETFD, FD_CLOEXEC);
    if (keeper->cpus->count)
        cores_restrict(keeper->cpus);
    if (chdir(keeper->folder) == 0)
        while (status >= 0 && read(tie, &number, 1) == 1) {
            status = do_job(&keeper->jobs[number], tie, &awake);
            if (status >= 0 && write(tie, &status, sizeof status) < 0)
                break;
        }
    end_all();
    folder_remove(keeper->folder);
    _exit(0);
}

int keeper_start(struct keeper *keeper, struct problem *problem)
{
    int ends[2];

    if (sockets_make_pair(ends) < 0)
        return problem_failure(problem, "cannot make a pair of sockets: %s", strerror(errno));
    keeper->process.pid = fork();
    if (keeper->process.pid == 0)
        keep(keeper, ends[1]);
    close(ends[1]);
    keeper->tie = ends[0];
    if (keeper->process.pid > 0)
        return 0;
    keeper->process.pid = 0;
    return problem_failure(problem, "cannot start a process: %s", strerror(errno));
}

void keeper_begin(const struct keeper *keeper, uint8_t number)
{
    send(keeper->tie, &number, 1, MSG_NOSIGNAL);
}

bool keeper_ended(const struct keeper *keeper, int *status)
{
    return recv(keeper->tie, status, sizeof *status, MSG_DONTWAIT) == sizeof *status;
}

void keeper_stop(struct keeper *keeper)
{
    pid_t session = keeper->process.pid;

    if (keeper->tie >= 0)
        close(keeper->tie);
    keeper->tie = -1;
    if (session && !child_ends_within(&keeper->process, ENDS_WITHIN_MS))
        child_end(&keeper->process, ENDS_WITHIN_MS);
    if (session)
        kill(-session, SIGKILL); /* where the keeper was killed */
    folder_remove(keeper->folder);
}
