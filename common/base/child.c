/* SPDX-License-Identifier: MIT */
#include "base/child.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

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
    if (!child->pid)
        return;
    kill(child->pid, SIGTERM);
    if (child_ends_within(child, ms))
        return;
    kill(child->pid, SIGKILL);
    child_ends_within(child, ms);
}

void child_describe(const struct child *child, char text[CHILD_TEXT_MAX])
{
    if (WIFSIGNALED(child->status))
        snprintf(text, CHILD_TEXT_MAX, "was ended by signal %d", WTERMSIG(child->status));
    else
        snprintf(text, CHILD_TEXT_MAX, "ended with status %d", WEXITSTATUS(child->status));
}
