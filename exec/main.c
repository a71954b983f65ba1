/* SPDX-License-Identifier: MIT */
/* uncork-exec: runs a program under the preloaded library, and reports its calls. */
#include "base/cleanup.h"
#include "base/files.h"
#include "base/program.h"
#include "base/version.h"
#include "override/override.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The same values as those of env(1), nice(1) and stdbuf(1). */
enum status { STATUS_USAGE = 2, STATUS_FAILED = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

#define CHECK_FIRST_MS 200  /* until the first check of the processes; the time doubles, up to */
#define CHECK_LAST_MS 10000 /* this */

static const char help[] = "Usage: uncork-exec [OPTIONS] [override=CHANGE] [--] COMMAND [ARGUMENT ...]\n"
                           "\n"
                           "Runs a program, and says how its messages leave.\n"
                           "With override= the program runs with that change.\n"
                           "The report goes to standard error, at the end and on SIGUSR1.\n"
                           "\n"
                           "  uncork-exec -- nbdkit -f memory 64M\n"
                           "  uncork-exec override=more:64 -- qemu-nbd -t -f raw disk\n"
                           "\n"
                           "CHANGE is one of these, or several joined by +:\n"
                           "  none\n                  changes nothing\n"
#define HELP_ROW(name, bit, size, means) "  " name size "\n                  " means "\n"
    OVERRIDES(HELP_ROW)
#undef HELP_ROW
        "\n"
        "  --json [FILE]   the report as JSON, to FILE or to standard error\n"
        "  --subject NAME  the program is this subject of uncork run; other words may follow,\n"
        "                  in one argument\n"
        "  --version       print the version\n"
        "  -h, --help      print this\n"
        "\n"
        "The exit status is the program's. 125: the program was rejected, 126: it cannot be run, 127: it "
        "was not found.\n";

struct watch {
    struct change change;
    bool json;
    const char *file, *subject; /* NULL: none */
    char **command;             /* NULL: only help or version was printed */
    struct override override;
    pid_t child;
    struct problem limit; /* what the library cannot see, at the last check */
};

static int parse(struct watch *watch, char **arguments, struct problem *problem)
{
    for (; *arguments; arguments++) {
        const char *one = *arguments;
        if (!strcmp(one, "-h") || !strcmp(one, "--help"))
            return fputs(help, stdout);
        if (!strcmp(one, "--version"))
            return printf("uncork %s (%s)\n", UNCORK_VERSION, version_revision);
        if (!strcmp(one, "--json")) {
            watch->json = true;
            if (arguments[1] && *arguments[1] != '-' && !strchr(arguments[1], '='))
                watch->file = *++arguments;
        } else if (!strcmp(one, "--subject") && arguments[1]) {
            watch->subject = *++arguments;
        } else if (!strncmp(one, "override=", 9)) {
            if (override_parse(&watch->change, one + 9, problem) < 0)
                return -1;
        } else if ((*one == '-' || strchr(one, '=')) && strcmp(one, "--") != 0) {
            return problem_usage(problem,
                                 "%s: write override=, --json or --subject, and the command after --", one);
        } else {
            break;
        }
    }
    arguments += *arguments && !strcmp(*arguments, "--");
    if (!*arguments)
        return problem_usage(problem, "nothing to run: uncork exec [override=more:64] -- COMMAND");
    watch->command = arguments;
    return watch->file ? atomic_file_write(watch->file, NULL, NULL, problem) : 0;
}

static int write_json(FILE *file, void *report, struct problem *problem)
{
    return json_dumpf(report, file, JSON_COMPACT) < 0 || fputc('\n', file) < 0 ? -1 : 0;
}

static void report(const struct watch *watch)
{
    static double call_ns;
    const struct shared *shared = watch->override.shared;
    struct problem limit = watch->limit, problem = {0};

    if (!call_ns)
        call_ns = override_call_ns();
    if (watch->change.bits)
        override_proof(shared, &limit);
    CLEANUP_JSON json_t *made = report_make(shared, watch->subject, call_ns, limit.text);
    if (!watch->json)
        report_print(stderr, made);
    else if (!watch->file)
        write_json(stderr, made, &problem);
    else if (atomic_file_write(watch->file, write_json, made, &problem) < 0)
        fprintf(stderr, "uncork: %s\n", problem.text);
}

/* Forwards signals, checks processes and reports until the program has ended. Returns its exit
 * status, or ends by its signal. */
static int wait_for_program(struct watch *watch, const sigset_t *signals)
{
    long check_ms = CHECK_FIRST_MS;
    int status = 0;
    sigset_t all;

    while (waitpid(watch->child, &status, WNOHANG) == 0) {
        struct timespec time = {.tv_sec = check_ms / 1000, .tv_nsec = check_ms % 1000 * 1000000};
        siginfo_t signal;
        int number = sigtimedwait(signals, &signal, &time);

        if (number < 0 && errno == EAGAIN && check_ms < CHECK_LAST_MS)
            check_ms *= 2;
        if (number != SIGCHLD) { /* the last check counts: qemu-nbd 7.2 has a ring only at its start */
            watch->limit = (struct problem){0};
            reach_check_all(watch->override.shared, &watch->limit);
        }
        if (number == SIGUSR1)
            report(watch);
        else if (number > 0 && number != SIGCHLD && signal.si_code <= 0) /* a terminal signals both */
            kill(watch->child, number);
    }
    report(watch);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(WTERMSIG(status), SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

/* Finds the program and runs it. Returns the exit status. */
static int run(struct watch *watch, struct problem *problem)
{
    static const int passed[] = {SIGCHLD, SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM};
    pid_t parent = getpid();
    sigset_t signals, before;
    char path[PATH_MAX];
    int found = program_find(watch->command[0], NULL, path, sizeof path);

    if (found < 0) {
        problem_failure(problem, "%s: %s", watch->command[0], strerror(-found));
        return found == -ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    }
    if (reach_check(path, problem) < 0 ||
        override_open(&watch->override, &watch->change, true, false, problem) < 0)
        return STATUS_FAILED;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        sigaddset(&signals, passed[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    watch->child = fork();
    if (watch->child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        putenv(watch->override.environment[0]);
        putenv(watch->override.environment[1]);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* like nice(1): if uncork-exec is killed, so is the program */
        if (getppid() == parent)
            execv(path, watch->command);
        fprintf(stderr, "uncork exec: %s: %s\n", path, strerror(errno));
        _exit(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
    }
    signal(SIGPIPE, SIG_IGN); /* if no process reads the report, the program continues */
    if (watch->child < 0) {
        problem_failure(problem, "cannot start %s: %s", path, strerror(errno));
        return STATUS_FAILED;
    }
    return wait_for_program(watch, &signals);
}

int main(int count, char **arguments)
{
    struct problem problem = {0};
    struct watch watch = {0};
    int status = 0;

    standard_open();
    if (parse(&watch, arguments + 1, &problem) < 0)
        status = STATUS_USAGE;
    else if (watch.command)
        status = run(&watch, &problem);
    override_close(&watch.override);
    int end_status = standard_end("uncork", &problem);
    return status || watch.command ? status : end_status;
}
