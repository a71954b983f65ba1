/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/bytes.h"
#include "control/hello.h"
#include "net/address.h"

#include <fcntl.h>
#include <unistd.h>

#define TAKEN_MAX 8

static const uint8_t token[TOKEN_SIZE] = "0123456789abcde";
static uv_loop_t loop;
static struct hello_acceptor acceptor;
static struct call_counts counts;
static uint64_t rejected;
static struct address address;
static int taken[TAKEN_MAX]; /* by the number of a hello; -1: none */

static bool on_hello(void *owner, const uint8_t *hello, int fd)
{
    int64_t number = hello_read(hello, token, TAKEN_MAX);

    if (number >= 0)
        taken[number] = fd;
    return number >= 0;
}

static void before(void)
{
    assert_int_equal(address_parse_numeric(&address, "127.0.0.1:0", &unit_problem), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    int fd = address_listen(sockets_make(AF_INET, SOCK_STREAM, 0, true), &address, &unit_problem);
    assert_true(fd >= 0);
    rejected = 0;
    memset(taken, -1, sizeof taken);
    acceptor = (struct hello_acceptor){.listener = fd,
                                       .late_max = 2,
                                       .loop = &loop,
                                       .counts = &counts,
                                       .rejected = &rejected,
                                       .on_hello = on_hello};
    hello_acceptor_open(&acceptor);
}

static void after(void)
{
    int listener = acceptor.listener;

    hello_acceptor_close(&acceptor);
    close(listener);
    for (int i = 0; i < TAKEN_MAX; i++)
        if (taken[i] >= 0)
            close(taken[i]);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

struct unit_fixture unit_fixture = {.before = before, .after = after};

static int connect_one(void)
{
    int fd = sockets_make(AF_INET, SOCK_STREAM, 0, true);

    assert_int_equal(connect(fd, &address.any, address.size), 0);
    return fd;
}

static void say(int fd, uint64_t number, size_t from, size_t to)
{
    uint8_t hello[HELLO_SIZE];

    hello_make(hello, token, number);
    assert_int_equal(send(fd, hello + from, to - from, 0), to - from);
}

static bool is_blocking(int fd)
{
    return !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

TEST(a_descriptor_has_the_mode_that_its_owner_expects_early_or_late)
{
    for (int blocking = 0; blocking < 2; blocking++) {
        int early = connect_one(), late = connect_one();

        acceptor.blocking = blocking;
        say(early, 0, 0, HELLO_SIZE);
        say(late, 1, 0, 7);
        assert_true(hello_acceptor_accept(&acceptor, 8));
        assert_true(taken[0] >= 0);
        assert_int_equal(is_blocking(taken[0]), blocking);
        uv_run(&loop, UV_RUN_NOWAIT);
        assert_int_equal(taken[1], -1);
        say(late, 1, 7, HELLO_SIZE);
        uv_run(&loop, UV_RUN_ONCE);
        assert_true(taken[1] >= 0);
        assert_int_equal(is_blocking(taken[1]), blocking);
        for (int i = 0; i < 2; i++)
            close(taken[i]);
        memset(taken, -1, sizeof taken);
        close(early);
        close(late);
    }
    assert_int_equal(rejected, 0);
}

TEST(the_oldest_silent_connection_makes_room_for_a_new_one)
{
    int silent[4];

    for (int i = 0; i < 4; i++)
        silent[i] = connect_one();
    assert_true(hello_acceptor_accept(&acceptor, 8));
    assert_int_equal(rejected, 2);
    assert_int_equal(acceptor.late_count, 2);
    say(silent[3], 3, 0, HELLO_SIZE);
    uv_run(&loop, UV_RUN_ONCE);
    assert_true(taken[3] >= 0);
    for (int i = 0; i < 4; i++)
        close(silent[i]);
    uv_run(&loop, UV_RUN_ONCE); /* the last one has ended without a hello */
    assert_int_equal(rejected, 3);
}

TEST(a_wrong_hello_is_closed_and_counted)
{
    CLEANUP_CLOSE int fd = connect_one();
    char byte;

    say(fd, TAKEN_MAX, 0, HELLO_SIZE);
    assert_false(hello_acceptor_accept(&acceptor, 8));
    assert_int_equal(rejected, 1);
    assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

/* ---- the hello itself ---- */

static const uint8_t another[TOKEN_SIZE] = "0123456789abcdf";

TEST(a_hello_gives_its_number_for_the_right_token)
{
    uint8_t hello[HELLO_SIZE];

    hello_make(hello, token, 259);
    assert_int_equal(hello_read(hello, token, 260), 259);
    assert_int_equal(hello_read(hello, token, 259), -1);
    assert_int_equal(hello_read(hello, another, 260), -1);
}

TEST(a_sink_accepts_its_token_and_the_proxy_recognises_the_answer)
{
    uint8_t request[SINK_HELLO_SIZE], answer[SINK_ANSWER_SIZE];

    assert_int_equal(sink_hello_make(request, token, 3), 0);
    assert_int_equal(sink_hello_read(request, another, 4, answer), -1);
    assert_int_equal(sink_hello_read(request, token, 3, answer), -1);
    assert_int_equal(sink_hello_read(request, token, 4, answer), 3);
    assert_true(sink_has_accepted(answer, request));
    answer[SINK_ANSWER_SIZE - 1] ^= 1;
    assert_false(sink_has_accepted(answer, request));
}

/* The greeting names the run, and gives a stranger only half of the token. */
TEST(a_sink_greets_with_half_of_its_token)
{
    uint8_t greeting[SINK_GREETING_SIZE], byte;
    CLEANUP_CLOSE int fd = connect_one();

    acceptor.sink_token = token;
    hello_acceptor_accept(&acceptor, 8);
    assert_int_equal(recv(fd, greeting, sizeof greeting, 0), sizeof greeting);
    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
    assert_true(sink_has_greeted(greeting, token));
    assert_false(sink_has_greeted(greeting, (const uint8_t *)"another token ..."));
    assert_null(memmem(greeting, sizeof greeting, token + TOKEN_SIZE / 2, TOKEN_SIZE / 2));
    greeting[0] ^= 1;
    assert_false(sink_has_greeted(greeting, token));
}

/* No part of a request is its answer, and two requests differ. */
TEST(an_echo_is_not_an_answer_and_a_request_hides_its_token)
{
    uint8_t request[SINK_HELLO_SIZE], again[SINK_HELLO_SIZE];

    for (int round = 0; round < 1000; round++) {
        assert_int_equal(sink_hello_make(request, token, 0), 0);
        for (size_t i = 0; i + SINK_ANSWER_SIZE <= SINK_HELLO_SIZE; i++)
            assert_false(sink_has_accepted(request + i, request));
        assert_true(memcmp(request + SINK_ANSWER_SIZE, token, TOKEN_SIZE) != 0);
        assert_int_equal(sink_hello_make(again, token, 0), 0);
        assert_true(memcmp(again, request, SINK_ANSWER_SIZE) != 0);
    }
}

TEST(a_token_is_read_back_from_its_digits)
{
    const char *const *refused =
        WORDS("", "00", "zz112233445566778899aabbccddeeff", "00112233445566778899aabbccddeeff0",
              " 0112233445566778899aabbccddeeff", "+0112233445566778899aabbccddeeff");
    uint8_t parsed[TOKEN_SIZE];
    char text[2 * TOKEN_SIZE + 1];

    hex_format(text, token, TOKEN_SIZE);
    assert_int_equal(strlen(text), 2 * TOKEN_SIZE);
    assert_int_equal(hex_parse(parsed, TOKEN_SIZE, text), 0);
    assert_memory_equal(parsed, token, TOKEN_SIZE);
    for (; *refused; refused++)
        assert_int_equal(hex_parse(parsed, TOKEN_SIZE, *refused), -1);
}
