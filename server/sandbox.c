/* SPDX-License-Identifier: MIT */
/* By libseccomp. A forbidden call raises SIGSYS in its thread, whose handler logs the name and lets
 * the call fail. */
#include "rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1 /* si_code of a forbidden call; musl has no name for it */
#endif
#define CALLS_MAX 1024u

#if defined __x86_64__
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined __aarch64__
#define RESULT(context) ((context)->uc_mcontext.regs[0])
#endif

/* ---- a forbidden call ---- */

static char *names[CALLS_MAX]; /* of calls, by number; NULL: none */
static atomic_bool is_logged[CALLS_MAX];

/* Only functions that are safe in a handler, wherever it interrupts. Like all of the log, the line
 * does not wait for a reader. */
static void log_call(const char *name)
{
    struct pollfd ready = {STDERR_FILENO, POLLOUT, 0};
    char line[256], *end = stpcpy(line, "uncork-server: the sandbox forbids the call ");
    end = stpcpy(stpcpy(end, name), " (EPERM); --sandbox off would allow it\n");
    if (poll(&ready, 1, 0) == 1 && write(STDERR_FILENO, line, (size_t)(end - line)) < 0)
        return; /* the reader is gone */
}

static void on_forbidden(int number, siginfo_t *info, void *context)
{
    int before = errno;
    unsigned call = (unsigned)info->si_syscall;

    if (info->si_code != SYS_SECCOMP) /* of kill(2) */
        return;
    if (call >= CALLS_MAX || !atomic_exchange(&is_logged[call], true))
        log_call(call < CALLS_MAX && names[call] ? names[call] : "of an unknown number");
    RESULT((ucontext_t *)context) = -EPERM;
    errno = before;
}

/* ---- the list ---- */

struct allowed {
    const char *name;
    unsigned word; /* 1 << enum right: only then; 0: always */
    bool is_compared;
    unsigned argument;
    uint32_t mask, value;
};

static int add(scmp_filter_ctx filter, const struct allowed *allowed)
{
    int call = seccomp_syscall_resolve_name(allowed->name);
    struct scmp_arg_cmp where =
        SCMP_CMP(allowed->argument, SCMP_CMP_MASKED_EQ, allowed->mask, allowed->value);
    return call < 0 ? 0 : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, allowed->is_compared, &where);
}

/* 0 or a negative errno value. */
static int fill(scmp_filter_ctx filter, const struct rights *rights)
{
#define CALL(call) {#call, 0, false, 0, 0, 0},
#define CALL_WHERE(call, argument, mask, value) {#call, 0, true, argument, mask, (uint32_t)(value)},
#define CALL_FOR(word, call) {#call, 1u << RIGHT_##word, false, 0, 0, 0},
    const struct allowed list[] = {
#include "sandbox.def"
    };
    unsigned words = rights->kept;
    int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

    for (size_t i = 0; result == 0 && i < sizeof list / sizeof *list; i++)
        if (!list[i].word || rights->has_parent || list[i].word & words)
            result = add(filter, &list[i]);
    return result;
}

int sandbox_check(struct problem *problem)
{
    return 0;
}

int sandbox_enter(const struct rights *rights, struct problem *problem)
{
    struct sigaction action = {.sa_sigaction = on_forbidden, .sa_flags = SA_SIGINFO | SA_RESTART};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
    int result = filter ? 0 : -ENOMEM;

    for (int call = 0; call < (int)CALLS_MAX; call++) /* this allocates, so the handler cannot do it */
        if (!names[call])
            names[call] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);
    sigaction(SIGSYS, &action, NULL);
    if (result == 0 && /* for all threads; without the mitigations that slow down every thread */
        (result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1)) == 0 &&
        (result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1)) == 0 &&
        (result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2)) == 0 &&
        (result = fill(filter, rights)) == 0)
        result = seccomp_load(filter);
    seccomp_release(filter);
    return result == 0 ? 0 : problem_failure(problem, "the sandbox cannot be set up: %s", strerror(-result));
}
