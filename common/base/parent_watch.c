/* SPDX-License-Identifier: MIT */
#include "base/parent_watch.h"

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char ignored[64];

    (void)handle, (void)suggested;
    *buffer = uv_buf_init(ignored, sizeof ignored);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct parent_watch *watch = stream->data;

    (void)buffer;
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
