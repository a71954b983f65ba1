/* SPDX-License-Identifier: MIT */
/* Data connections begin with any bytes, in pieces: the acceptor takes those with the token of the
 * run, each once, and closes and counts all others. */
#include "fuzz.h"

#include "control/hello.h"
#include "net/address.h"

#define NUMBERS 4 /* of connections */
#define STREAMS 3

static const uint8_t token[TOKEN_SIZE] = "0123456789abcde";
static size_t accepted;
static bool is_sink;

static bool on_hello(void *owner, const uint8_t *hello, int fd)
{
    uint8_t answer[SINK_ANSWER_SIZE];
    int64_t number =
        is_sink ? sink_hello_read(hello, token, NUMBERS, answer) : hello_read(hello, token, NUMBERS);

    abort_if(number >= NUMBERS || (number >= 0 && is_sink && !sink_has_accepted(answer, hello)));
    abort_if(number >= 0 && !is_sink && memcmp(hello, token, TOKEN_SIZE) != 0);
    accepted += number >= 0;
    if (number >= 0)
        close(fd);
    return number >= 0;
}

/* The first byte: whether the end is a sink, and how many entries may be late. Then pieces follow,
 * behind a byte with the number of their stream and their length. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    uint8_t kind = input_byte(&input);
    struct address address = {.un.sun_family = AF_UNIX,
                              .size = sizeof(sa_family_t)}; /* the system names it */
    struct call_counts counts = {0};
    struct problem problem = {0};
    int fds[STREAMS];
    uint64_t rejected = 0;
    uv_loop_t loop;

    accepted = 0;
    is_sink = kind & 1;
    int listener = sockets_make(AF_UNIX, SOCK_STREAM, 0, false);
    abort_if(bind(listener, &address.any, address.size) < 0 || listen(listener, STREAMS) < 0 ||
             address_of_socket(&address, listener) < 0 || uv_loop_init(&loop) < 0);
    struct hello_acceptor acceptor = {.listener = listener,
                                      .sink_token = is_sink ? token : NULL,
                                      .late_max = 1 + (kind >> 1 & 1),
                                      .loop = &loop,
                                      .counts = &counts,
                                      .rejected = &rejected,
                                      .on_hello = on_hello};
    hello_acceptor_open(&acceptor);
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = sockets_make(AF_UNIX, SOCK_STREAM, 0, false);
        abort_if(connect(fds[i], &address.any, address.size) < 0);
    }
    while (input.size) {
        uint8_t head = input_byte(&input);
        struct input part = input_part(&input, head >> 2);

        if (head & 3 && part.size)
            (void)!send(fds[head % 4 - 1], part.data, part.size, MSG_NOSIGNAL);
        else
            hello_acceptor_accept(&acceptor, 1);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    hello_acceptor_accept(&acceptor, STREAMS);
    for (int i = 0; i < STREAMS; i++)
        close(fds[i]);
    uv_run(&loop, UV_RUN_NOWAIT);
    uv_run(&loop, UV_RUN_NOWAIT);
    abort_if(accepted + rejected != STREAMS || problem.kind != PROBLEM_NONE);
    hello_acceptor_close(&acceptor);
    uv_run(&loop, UV_RUN_NOWAIT);
    abort_if(uv_loop_close(&loop) < 0);
    close(listener);
    return 0;
}
