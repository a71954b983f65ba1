/* SPDX-License-Identifier: MIT */
#include "process.h"

#include "base/clock.h"
#include "placement/cores.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define ENDS_WITHIN_MS 1000
#define INHERITED_FD 3

/* Runs in the child. It may call any function, because the server has one thread now. Descriptors
 * from 3 on are close-on-exec, except the listener. */
static void run_child(const struct launch *launch, pid_t parent)
{
    static char path[] = "PATH=" PROCESS_PATH, fds[] = "LISTEN_FDS=1", listen_pid[32];
    char *environment[6] = {path};
    size_t count = 1;
    int input = open("/dev/null", O_RDONLY), output;
#ifdef __linux__
    int program = open(launch->arguments[0], O_RDONLY | O_CLOEXEC);
#endif
    sigset_t none;

    if (launch->listener >= 0) {
        snprintf(listen_pid, sizeof listen_pid, "LISTEN_PID=%ld", (long)getpid());
        environment[count++] = fds;
        environment[count++] = listen_pid;
    }
    for (size_t i = 0; launch->variables && i < 2; i++)
        environment[count++] = launch->variables[i];
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    if (launch->cpus && launch->cpus->count)
        cores_restrict(launch->cpus);
    if (chdir(launch->folder) < 0)
        _exit(126);
    output = open(launch->output, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (launch->user &&
        (fchown(output, launch->user->pw_uid, launch->user->pw_gid) < 0 || setgroups(0, NULL) < 0 ||
         setgid(launch->user->pw_gid) < 0 || setuid(launch->user->pw_uid) < 0))
        _exit(126);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setuid(2), which clears it */
#endif
    if (getppid() != parent)
        _exit(126);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    if (launch->listener == INHERITED_FD)
        fcntl(INHERITED_FD, F_SETFD, 0);
    else if (launch->listener >= 0)
        dup2(launch->listener, INHERITED_FD);
    execve(launch->arguments[0], launch->arguments, environment);
#ifdef __linux__
    if (errno == EACCES) { /* the user may run the program, but not enter its folder */
        fexecve(program, launch->arguments, environment);
        errno = EACCES; /* fexecve(3) of a script fails with ENOENT: its interpreter cannot open it */
    }
#endif
    dprintf(STDERR_FILENO, "%s cannot execute %s: %s\n", launch->user ? launch->user->pw_name : "this user",
            launch->arguments[0], strerror(errno));
    _exit(127);
}

int process_start(struct child *child, const struct launch *launch)
{
    pid_t parent = getpid(), pid = fork();

    if (pid == 0)
        run_child(launch, parent);
    child->pid = pid < 0 ? 0 : pid;
    return pid < 0 ? -1 : 0;
}

void process_end(struct child *child)
{
    pid_t session = child->pid;

    if (!session)
        return;
    kill(session, SIGKILL); /* SIGTERM would take memcached 1.6.18 a second */
    child_ends_within(child, ENDS_WITHIN_MS);
    kill(-session, SIGKILL);
}

uint64_t process_cpu_ns(const struct child *child)
{
    struct timespec used = {0};
#ifndef __APPLE__
    clockid_t clock;

    if (!child->pid || clock_getcpuclockid(child->pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
        return 0;
#else
    (void)child;
#endif
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}
