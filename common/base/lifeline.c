/* SPDX-License-Identifier: MIT */
#include "base/lifeline.h"

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char ignored[64];

    (void)handle, (void)suggested;
    *buffer = uv_buf_init(ignored, sizeof ignored);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct lifeline *lifeline = stream->data;

    (void)buffer;
    if (size >= 0)
        return;
    uv_read_stop(stream);
    lifeline->cut(lifeline->owner);
}

void lifeline_hold(struct lifeline *lifeline, uv_loop_t *loop, int fd, void (*cut)(void *owner), void *owner)
{
    *lifeline = (struct lifeline){.cut = cut, .owner = owner, .held = true};
    uv_pipe_init(loop, &lifeline->pipe, 0);
    lifeline->pipe.data = lifeline;
    if (uv_pipe_open(&lifeline->pipe, fd) == 0)
        uv_read_start((uv_stream_t *)&lifeline->pipe, on_alloc, on_read);
}

void lifeline_release(struct lifeline *lifeline)
{
    if (lifeline->held)
        uv_close((uv_handle_t *)&lifeline->pipe, NULL);
    lifeline->held = false;
}
