/* SPDX-License-Identifier: MIT */
#include "process.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define INHERITED_FD 3
#define NOTHING "-" /* an argument without a value */

/* The arguments of --start-child, in this order. Variables and the program with its arguments
 * follow; only the program begins with a slash. */
enum argument { PARENT, FOLDER, OUTPUT, USER, LISTENS, CPUS, VARIABLES };

/* ---- in the child ---- */

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "cannot %s: %s\n", what, strerror(errno));
    exit(126);
}

/* The output is a new file, so its owner may change: a device or a file of others never does. */
static void open_output(const char *name, const struct passwd *user)
{
    int output = open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (output < 0 || (user && fchown(output, user->pw_uid, user->pw_gid) < 0))
        fail("make the file for the output");
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
}

_Noreturn void process_become(char **arguments)
{
    char *environment[6] = {"PATH=" PROCESS_PATH}, **variables = arguments + VARIABLES, listen_pid[32];
    bool is_other_user = strcmp(arguments[USER], NOTHING) != 0;
    const struct passwd *user = is_other_user ? getpwnam(arguments[USER]) : NULL;
    struct place_list cpus = {0};
    size_t count = 1;

    if (is_other_user && !user)
        fail("find the user of the program");
    if (*arguments[LISTENS] == '1') {
        snprintf(listen_pid, sizeof listen_pid, "LISTEN_PID=%ld", (long)getpid());
        environment[count++] = "LISTEN_FDS=1";
        environment[count++] = listen_pid;
    }
    while (*variables && **variables != '/' && count < 5)
        environment[count++] = *variables++;
    if (!*variables)
        exit(126);
    signal(SIGPIPE, SIG_DFL);
    for (char *cpu; (cpu = strsep(&arguments[CPUS], ",")) && *cpu;)
        cpus.cpus[cpus.count++] = atoi(cpu);
    if (cpus.count)
        cores_restrict(&cpus);
    if (chdir(arguments[FOLDER]) < 0)
        fail("enter the folder of the program");
    open_output(arguments[OUTPUT], user);
#ifdef __linux__
    int program = open(*variables, O_RDONLY | O_CLOEXEC);
#endif
    if (user && (setgroups(0, NULL) < 0 || setgid(user->pw_gid) < 0 || setuid(user->pw_uid) < 0))
        fail("become another user");
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setuid(2), which clears it */
#endif
    if (getppid() != atoi(arguments[PARENT]))
        exit(126);
    execve(*variables, variables, environment);
#ifdef __linux__
    if (errno == EACCES) { /* the user may run the program, but not enter its folder */
        fexecve(program, variables, environment);
        errno = EACCES; /* fexecve(3) of a script fails with ENOENT: its interpreter cannot open it */
    }
#endif
    fprintf(stderr, "%s cannot execute %s: %s\n", user ? user->pw_name : "this user", *variables,
            strerror(errno));
    exit(127);
}

/* ---- in the server ---- */

static void on_closed(uv_handle_t *handle)
{
    const struct process *process = handle->data;
    process->ended(process->owner);
}

static void on_ended(uv_process_t *handle, int64_t status, int signal_number)
{
    struct process *process = handle->data;
    kill(-process->child.pid, SIGKILL); /* its workers, if it has crashed */
    child_note_end(&process->child, status, signal_number);
    uv_close((uv_handle_t *)handle, on_closed);
}

void process_start(struct process *process, uv_loop_t *loop, const struct launch *launch)
{
    char parent[16], cpus[8 * PLACE_CPUS_MAX] = "";
    char path[4096] = "/proc/self/exe"; /* the file itself may be gone: a new build has its name */
    char *arguments[PROCESS_ARGUMENTS_MAX + VARIABLES + 6] = {path,
                                                              PROCESS_START_CHILD,
                                                              parent,
                                                              launch->folder,
                                                              launch->output,
                                                              launch->user ? launch->user : NOTHING,
                                                              launch->listener >= 0 ? "1" : "0",
                                                              cpus};
    uv_stdio_container_t stdio[INHERITED_FD + 1] = {
        [STDERR_FILENO] = {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO}, /* until it has its output */
        [INHERITED_FD] = {.flags = UV_INHERIT_FD, .data.fd = launch->listener}};
    uv_process_options_t options = {.exit_cb = on_ended,
                                    .file = path,
                                    .args = arguments,
                                    .flags = UV_PROCESS_DETACHED, /* setsid(2) */
                                    .stdio = stdio,
                                    .stdio_count = INHERITED_FD + (launch->listener >= 0)};
    char **next = arguments + 2 + VARIABLES;
    const json_t *text;
    size_t i;

#ifndef __linux__
    if (uv_exepath(path, &(size_t){sizeof path}) < 0)
        *path = '\0';
#endif
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    for (int at = 0, used = 0; launch->cpus && at < launch->cpus->count; at++)
        used += snprintf(cpus + used, sizeof cpus - (size_t)used, "%d,", launch->cpus->cpus[at]);
    for (i = 0; launch->variables && i < 2; i++)
        *next++ = launch->variables[i];
    json_array_foreach(launch->arguments, i, text)
        *next++ = (char *)(uintptr_t)json_string_value(text);
    process->handle.data = process;
    process->child = (struct child){0};
    process->error = uv_spawn(loop, &process->handle, &options);
    if (process->error < 0)
        uv_close((uv_handle_t *)&process->handle, on_closed);
    else
        process->child.pid = process->handle.pid;
}

void process_kill(const struct process *process)
{
    if (process->child.pid)
        kill(process->child.pid, SIGKILL); /* SIGTERM would take memcached 1.6.18 a second */
}

uint64_t process_cpu_ns(const struct process *process)
{
    struct timespec used = {0};
#ifndef __APPLE__
    clockid_t clock;
    if (!process->child.pid || clock_getcpuclockid(process->child.pid, &clock) != 0 ||
        clock_gettime(clock, &used) < 0)
        return 0;
#endif
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}
