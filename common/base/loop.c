/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include <errno.h>
#include <unistd.h>

#define NEEDED 4 /* descriptors that libuv opens up to that pipe, and one more */

int loop_open(uv_loop_t *loop, struct problem *problem)
{
    int free_fds[NEEDED], count = 0, result = 0;

    while (count < NEEDED && (free_fds[count] = dup(STDIN_FILENO)) >= 0)
        count++;
    if (count < NEEDED)
        result = -errno;
    while (count > 0)
        close(free_fds[--count]);
    if (result == 0)
        result = uv_loop_init(loop);
    return result == 0 ? 0 : problem_failure(problem, "cannot open an event loop: %s", uv_strerror(result));
}
