/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/bytes.h"
#include "control/hello.h"

static const uint8_t token[TOKEN_SIZE] = "0123456789abcde";
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
