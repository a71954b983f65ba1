/* SPDX-License-Identifier: MIT */
/* Both ends of a handshake in memory: what one gives out is what the other takes in. */
#include "unit.h"

#include "control/channel_tls.h"
#include "control/codec.h"

#define KEY "00112233445566778899aabbccddeeff"
#define ANOTHER_KEY "ff112233445566778899aabbccddeeff"

struct end {
    struct psk_list keys;
    struct channel_tls *tls;
    struct problem problem;
    char plain[100000]; /* what it was given */
    size_t size;
    uint8_t output[100000]; /* what it wrote, and the other end has not got yet */
    size_t written;
};

static struct end client, server;

static int take(void *owner, const uint8_t *bytes, size_t size, struct problem *problem)
{
    struct end *end = owner;

    (void)problem;
    assert_true(size <= sizeof end->plain - end->size);
    memcpy(end->plain + end->size, bytes, size);
    end->size += size;
    return 0;
}

static int write_output(void *owner, const uint8_t *bytes, size_t size)
{
    struct end *end = owner;

    assert_true(size <= sizeof end->output - end->written);
    memcpy(end->output + end->written, bytes, size);
    end->written += size;
    return 0;
}

static void end_open(struct end *end, const char *keys, bool is_server)
{
    static const struct channel_tls_events events = {write_output, take};

    if (end->tls)
        channel_tls_library->free(end->tls);
    memset(end, 0, sizeof *end);
    assert_int_equal(psk_parse(&end->keys, keys, strlen(keys), "keys", &end->problem), 0);
    end->tls = channel_tls_library->create(&end->keys, is_server, &events, end, &end->problem);
    if (!end->tls)
        fail_msg("%s", end->problem.text);
}

static void open_both(const char *keys_of_client, const char *keys_of_server)
{
    end_open(&client, keys_of_client, false);
    end_open(&server, keys_of_server, true);
}

/* In pieces of so many bytes, as a stream may cut them anywhere. */
static int give(struct end *to, const uint8_t *bytes, size_t size, size_t piece)
{
    for (size_t done = 0; done < size; done += piece) {
        size_t part = size - done < piece ? size - done : piece;

        if (channel_tls_library->receive(to->tls, bytes + done, part, &to->problem) < 0)
            return -1;
    }
    return 0;
}

/* How many bytes went; -1: the other end refused them. */
static int carry(struct end *from, struct end *to, size_t piece)
{
    size_t size = from->written;
    int result = give(to, from->output, size, piece);

    from->written = 0;
    return result < 0 ? -1 : (int)size;
}

/* Until nothing more is said, or an end refuses what it hears; the other then hears why. */
static void talk(size_t piece)
{
    int there, back;

    do {
        there = carry(&client, &server, piece);
        back = carry(&server, &client, piece);
    } while (there > 0 && back > 0);
    carry(&client, &server, piece);
}

static void assert_no_key(void)
{
    assert_null(strstr(client.problem.text, KEY));
    assert_null(strstr(server.problem.text, KEY));
}

TEST(what_was_said_before_the_handshake_arrives_after_it)
{
    for (size_t piece = 1; piece <= 65536; piece *= 4) {
        open_both("alice:" KEY "\n", "bob:" ANOTHER_KEY "\nalice:" KEY "\n");
        channel_tls_library->send(client.tls, (const uint8_t *)"plan", 4, &client.problem);
        assert_true(client.tls->waiting.size > 0);
        talk(piece);
        assert_true(client.tls->is_up && server.tls->is_up);
        assert_false(client.tls->waiting.size > 0);
        assert_int_equal(server.size, 4);
        assert_memory_equal(server.plain, "plan", 4);
    }
}

TEST(much_goes_both_ways_and_not_a_byte_of_it_in_the_clear)
{
    static uint8_t much[70000];
    size_t size;

    memset(much, 'x', sizeof much);
    open_both("alice:" KEY "\n", "alice:" KEY "\n");
    talk(65536);
    assert_int_equal(channel_tls_library->send(server.tls, much, sizeof much, &server.problem), 0);
    size = server.written;
    assert_true(size > sizeof much);
    assert_null(memmem(server.output, server.written, "xxxxxxxx", 8));
    assert_int_equal(carry(&server, &client, 1000), size);
    assert_int_equal(client.size, sizeof much);
    assert_memory_equal(client.plain, much, sizeof much);
}

TEST(an_unknown_identity_is_named_at_both_ends)
{
    open_both("mallory:" KEY "\n", "alice:" KEY "\n");
    talk(65536);
    assert_problem(&server.problem, PROBLEM_FAILURE,
                   "shows the identity 'mallory', for which there is no key");
    assert_problem(&client.problem, PROBLEM_FAILURE, "knows no key for 'mallory'");
    assert_no_key();
}

TEST(a_wrong_key_is_told_from_an_unknown_identity)
{
    open_both("alice:" KEY "\n", "alice:" ANOTHER_KEY "\n");
    talk(65536);
    assert_problem(&server.problem, PROBLEM_FAILURE, "has another key for 'alice' than we");
    assert_problem(&client.problem, PROBLEM_FAILURE, "has another key for 'alice'");
    assert_no_key();
}

static int take_refusal(void *owner, enum control_type type, const json_t *body)
{
    assert_int_equal(type, CONTROL_REFUSED);
    assert_non_null(strstr(json_string_value(json_object_get(body, "text")), "only clients with a key"));
    *(bool *)owner = true;
    return 0;
}

TEST(an_end_without_a_key_is_told_so_in_the_clear)
{
    static struct codec codec;
    struct problem problem = {0};
    bool was_told = false;

    end_open(&server, "alice:" KEY "\n", true);
    assert_int_equal(give(&server, (const uint8_t *)"\0\0\0\2{}", 6, 6), -1);
    assert_problem(&server.problem, PROBLEM_FAILURE, "speaks no TLS");
    assert_int_equal(codec_feed(&codec, server.output, server.written, take_refusal, &was_told, &problem), 0);
    assert_true(was_told);
}

TEST(a_server_without_tls_is_named_so)
{
    end_open(&client, "alice:" KEY "\n", false);
    assert_int_equal(give(&client, (const uint8_t *)"SSH-2.0", 7, 7), -1);
    assert_problem(&client.problem, PROBLEM_FAILURE, "speaks no TLS: start it with --psk FILE");
}

/* Whatever byte of a handshake is another, neither end comes up with something wrong, and no end comes up
 * alone with plain text for the other. */
TEST(a_handshake_with_a_wrong_byte_is_refused)
{
    for (size_t at = 0; at < 400; at += 3) {
        size_t size;

        open_both("alice:" KEY "\n", "alice:" KEY "\n");
        channel_tls_library->send(client.tls, (const uint8_t *)"plan", 4, &client.problem);
        size = client.written;
        if (at < size)
            client.output[at] ^= 0x20;
        talk(65536);
        assert_true(server.size == 0 || at >= size || at == 1 || at == 2); /* the version is nobody's */
    }
}

TEST(a_wrong_byte_behind_the_handshake_is_refused)
{
    open_both("alice:" KEY "\n", "alice:" KEY "\n");
    talk(65536);
    channel_tls_library->send(client.tls, (const uint8_t *)"plan", 4, &client.problem);
    client.output[client.written - 1] ^= 1;
    assert_int_equal(carry(&client, &server, 65536), -1);
    assert_problem(&server.problem, PROBLEM_FAILURE, "cannot be understood in TLS");
    assert_int_equal(server.size, 0);
}

/* An old version and certificates are what a stranger may offer. */
TEST(garbage_that_begins_as_tls_does_is_refused)
{
    static const char garbage[] = "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00";

    end_open(&server, "alice:" KEY "\n", true);
    assert_int_equal(give(&server, (const uint8_t *)garbage, sizeof garbage - 1, 1), -1);
    assert_problem(&server.problem, PROBLEM_FAILURE, "cannot be understood in TLS");
    end_open(&client, "alice:" KEY "\n", false);
    assert_int_equal(give(&client, (const uint8_t *)garbage, sizeof garbage - 1, 1), -1);
    assert_problem(&client.problem, PROBLEM_FAILURE, "cannot be understood in TLS");
}

static int close_both(void **state)
{
    (void)state;
    if (client.tls)
        channel_tls_library->free(client.tls);
    if (server.tls)
        channel_tls_library->free(server.tls);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_said_before_the_handshake_arrives_after_it),
        cmocka_unit_test(much_goes_both_ways_and_not_a_byte_of_it_in_the_clear),
        cmocka_unit_test(an_unknown_identity_is_named_at_both_ends),
        cmocka_unit_test(a_wrong_key_is_told_from_an_unknown_identity),
        cmocka_unit_test(an_end_without_a_key_is_told_so_in_the_clear),
        cmocka_unit_test(a_server_without_tls_is_named_so),
        cmocka_unit_test(a_handshake_with_a_wrong_byte_is_refused),
        cmocka_unit_test(a_wrong_byte_behind_the_handshake_is_refused),
        cmocka_unit_test(garbage_that_begins_as_tls_does_is_refused),
    };
    struct problem problem = {0};

    if (channel_tls_check("this test", &problem) < 0) {
        fprintf(stderr, "skipped: %s\n", problem.text);
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, close_both);
}
