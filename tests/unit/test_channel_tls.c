/* SPDX-License-Identifier: MIT */
/* Both ends of a handshake in memory: each receives the bytes that the other wrote. */
#include "unit.h"

#include "control/channel.h"

#define KEY "00112233445566778899aabbccddeeff"
#define ANOTHER_KEY "ff112233445566778899aabbccddeeff"

struct side {
    struct psk_list keys;
    struct channel_tls *tls;
    struct problem problem;
    size_t plain_size;
    uint8_t plain[100000];
};

static struct side client, server;

static void end_open(struct side *end, const char *keys, bool is_server)
{
    if (end->tls)
        channel_tls_free(end->tls);
    memset(end, 0, sizeof *end);
    assert_int_equal(psk_parse(&end->keys, keys, strlen(keys), "keys", &end->problem), 0);
    end->tls = channel_tls_create(&end->keys, is_server, &end->problem);
    if (!end->tls)
        fail_msg("%s", end->problem.text);
}

static void open_both(const char *keys_of_client, const char *keys_of_server)
{
    end_open(&client, keys_of_client, false);
    end_open(&server, keys_of_server, true);
}

static int send_plain(struct side *end, const void *data, size_t size)
{
    assert_int_equal(bytes_append(&end->tls->unsent, data, size), 0);
    return channel_tls_flush(end->tls, &end->problem);
}

/* Passes the bytes in pieces of this size, because a stream may cut them anywhere. */
static int feed(struct side *to, const uint8_t *bytes, size_t size, size_t piece)
{
    for (size_t done = 0; done < size; done += piece) {
        ssize_t plain;

        to->tls->arrived = bytes + done;
        to->tls->arrived_size = size - done < piece ? size - done : piece;
        while ((plain = channel_tls_read(to->tls, to->plain + to->plain_size, &to->problem)) > 0)
            to->plain_size += (size_t)plain;
        if (plain < 0)
            return -1;
    }
    return 0;
}

/* Returns how many bytes were passed on; -1: the other end refused them. */
static int pass_on(struct side *from, struct side *to, size_t piece)
{
    struct bytes *output = &from->tls->output;
    size_t size = output->size;
    int result = feed(to, output->data, size, piece);

    output->size = 0;
    return result < 0 ? -1 : (int)size;
}

/* Passes bytes both ways until no end writes more, or one refuses them; passes on its alert. */
static void exchange(size_t piece)
{
    int there, back;

    do {
        there = pass_on(&client, &server, piece);
        back = pass_on(&server, &client, piece);
    } while (there > 0 && back > 0);
    pass_on(&client, &server, piece);
}

static void assert_no_key(void)
{
    assert_null(strstr(client.problem.text, KEY));
    assert_null(strstr(server.problem.text, KEY));
}

TEST(a_message_before_the_handshake_arrives_after_it)
{
    for (size_t piece = 1; piece <= 65536; piece *= 4) {
        open_both("alice:" KEY "\n", "bob:" ANOTHER_KEY "\nalice:" KEY "\n");
        assert_int_equal(send_plain(&client, "plan", 4), 0);
        assert_true(client.tls->unsent.size > 0);
        exchange(piece);
        assert_true(client.tls->is_established && server.tls->is_established);
        assert_false(client.tls->unsent.size > 0);
        assert_int_equal(server.plain_size, 4);
        assert_memory_equal(server.plain, "plan", 4);
    }
}

TEST(much_data_arrives_whole_and_is_never_plain)
{
    static uint8_t much[70000];

    memset(much, 'x', sizeof much);
    open_both("alice:" KEY "\n", "alice:" KEY "\n");
    exchange(65536);
    assert_int_equal(send_plain(&server, much, sizeof much), 0);
    size_t size = server.tls->output.size;
    assert_true(size > sizeof much);
    assert_null(memmem(server.tls->output.data, server.tls->output.size, "xxxxxxxx", 8));
    assert_int_equal(pass_on(&server, &client, 1000), size);
    assert_int_equal(client.plain_size, sizeof much);
    assert_memory_equal(client.plain, much, sizeof much);
}

TEST(an_unknown_identity_is_named_at_both_ends)
{
    open_both("mallory:" KEY "\n", "alice:" KEY "\n");
    exchange(65536);
    assert_problem(&server.problem, PROBLEM_FAILURE,
                   "has the identity 'mallory', for which there is no key here");
    assert_problem(&client.problem, PROBLEM_FAILURE, "knows no key for 'mallory'");
    assert_no_key();
}

/* "lab" and a NUL. */
TEST(an_identity_with_a_zero_byte_is_another_one_and_is_named_whole)
{
    open_both("#6c616200:" KEY "\n", "lab:" KEY "\n");
    exchange(65536);
    assert_problem(&server.problem, PROBLEM_FAILURE, "has the identity 'lab?', for which");
    assert_problem(&client.problem, PROBLEM_FAILURE, "knows no key for 'lab?'");
    open_both("#00:" KEY "\n", "#00:" ANOTHER_KEY "\n");
    exchange(65536);
    assert_problem(&server.problem, PROBLEM_FAILURE, "has another key for '?' than this server");
    assert_no_key();
}

TEST(a_wrong_key_has_another_error_than_an_unknown_identity)
{
    open_both("alice:" KEY "\n", "alice:" ANOTHER_KEY "\n");
    exchange(65536);
    assert_problem(&server.problem, PROBLEM_FAILURE, "has another key for 'alice' than this server");
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

TEST(a_client_without_a_key_gets_a_plain_refusal)
{
    static struct codec codec;
    bool was_refused = false;

    end_open(&server, "alice:" KEY "\n", true);
    assert_int_equal(feed(&server, (const uint8_t *)"\0\0\0\2{}", 6, 6), -1);
    assert_problem(&server.problem, PROBLEM_FAILURE, "speaks no TLS");
    assert_int_equal(codec_feed(&codec, server.tls->output.data, server.tls->output.size, take_refusal,
                                &was_refused, &unit_problem),
                     0);
    assert_true(was_refused);
}

TEST(a_server_without_tls_is_named)
{
    end_open(&client, "alice:" KEY "\n", false);
    assert_int_equal(feed(&client, (const uint8_t *)"SSH-2.0", 7, 7), -1);
    assert_problem(&client.problem, PROBLEM_FAILURE, "speaks no TLS: start it with --psk FILE");
}

/* With a wrong byte anywhere in the client's first bytes, the server gets no plain text. */
TEST(a_handshake_with_a_wrong_byte_is_refused)
{
    for (size_t at = 0; at < 400; at += 3) {
        size_t size;

        open_both("alice:" KEY "\n", "alice:" KEY "\n");
        assert_int_equal(send_plain(&client, "plan", 4), 0);
        size = client.tls->output.size;
        if (at < size)
            client.tls->output.data[at] ^= 0x20;
        exchange(65536);
        /* bytes 1 and 2 are the version of the record, which no end reads */
        assert_true(server.plain_size == 0 || at >= size || at == 1 || at == 2);
    }
}

TEST(a_wrong_byte_after_the_handshake_is_refused)
{
    open_both("alice:" KEY "\n", "alice:" KEY "\n");
    exchange(65536);
    assert_int_equal(send_plain(&client, "plan", 4), 0);
    client.tls->output.data[client.tls->output.size - 1] ^= 1;
    assert_int_equal(pass_on(&client, &server, 65536), -1);
    assert_problem(&server.problem, PROBLEM_FAILURE, "sent no valid TLS");
    assert_int_equal(server.plain_size, 0);
}

TEST(garbage_that_begins_like_tls_is_refused)
{
    static const char garbage[] = "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00";

    end_open(&server, "alice:" KEY "\n", true);
    assert_int_equal(feed(&server, (const uint8_t *)garbage, sizeof garbage - 1, 1), -1);
    assert_problem(&server.problem, PROBLEM_FAILURE, "sent no valid TLS");
    end_open(&client, "alice:" KEY "\n", false);
    assert_int_equal(feed(&client, (const uint8_t *)garbage, sizeof garbage - 1, 1), -1);
    assert_problem(&client.problem, PROBLEM_FAILURE, "sent no valid TLS");
}

TEST(an_alert_without_a_name_is_an_error_with_its_number)
{
    static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 200};

    for (int is_server = 0; is_server < 2; is_server++) {
        struct side *end = is_server ? &server : &client;

        end_open(end, "alice:" KEY "\n", is_server);
        assert_int_equal(feed(end, alert, sizeof alert, 1), -1);
        assert_problem(&end->problem, PROBLEM_FAILURE, "ended TLS with alert 200");
    }
}

static int check(struct problem *problem)
{
    return channel_tls_check("this test", problem);
}

static void close_both(void)
{
    if (client.tls)
        channel_tls_free(client.tls);
    if (server.tls)
        channel_tls_free(server.tls);
}

struct unit_fixture unit_fixture = {.check = check, .after_all = close_both};
