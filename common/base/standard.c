/* SPDX-License-Identifier: MIT */
#include "base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    bool is_made = json_dumpf(json, stdout, flags) == 0;

    putchar('\n');
    if (check(fflush(stdout) == 0 && !ferror(stdout), problem) < 0)
        return -1;
    return is_made ? 0 : problem_failure(problem, "no memory for a line of JSON");
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
