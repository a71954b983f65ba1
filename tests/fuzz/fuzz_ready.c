/* SPDX-License-Identifier: MIT */
/* The client reads any bytes, in pieces, as the ready line of the server that it has started: it
 * has an address then, or a problem. */
#include "fuzz.h"

#include "client/own_server.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct own_server server = {0};
    uv_pipe_t pipe = {.data = &server};
    struct input input = {data, size};
    uv_buf_t buffer;

    while (input.size && !server.is_ready) {
        size_t piece = 1 + input_byte(&input);

        on_alloc((uv_handle_t *)&pipe, 65536, &buffer);
        if (buffer.len == 0) /* libuv reports ENOBUFS */
            break;
        struct input part = input_part(&input, piece < buffer.len ? piece : buffer.len);
        memcpy(buffer.base, part.data, part.size);
        on_read((uv_stream_t *)&pipe, (ssize_t)part.size, &buffer);
    }
    abort_if(server.is_ready != (server.address.size != 0));
    return 0;
}
