/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "control/channel.h"
#include "control/codec.h"

#include <sys/socket.h>
#include <unistd.h>

/* A valid body of every type; a new type needs one. */
static const char *const bodies[CONTROL_TYPE_COUNT] = {
    [CONTROL_PLAN] =
        "{\"version\": \"0.1.0\", \"end\": \"server\", \"host\": \"h\", \"words\": [\"a=b\", \"c=d\"]}",
    [CONTROL_ASK] = "{\"version\": \"0.1.0\"}",
    [CONTROL_WAIT] = "{}",
    [CONTROL_READY] = ("{\"port\": 80, \"path\": \"\", \"token\": \"00ff\", \"key\": \"\", \"handshake\": "
                       "\"psk\", \"host\": \"h\"}"),
    [CONTROL_SINK] = "{\"address\": \"[::1]:81\", \"token\": \"ff00\", \"key\": \"0f\", \"host\": \"i\"}",
    [CONTROL_REFUSED] = "{\"kind\": \"usage\", \"text\": \"a 'word'\\t\\\"\"}",
    [CONTROL_JOINED] = "{}",
    [CONTROL_DRAIN] = "{\"end\": \"client\", \"bytes\": [0, 9007199254740993, 5]}",
    [CONTROL_DRAINING] = "{\"end\": \"client\"}",
    [CONTROL_MARKED] = "{}",
    [CONTROL_FAILED] = "{\"kind\": \"failed\", \"phase\": \"run\", \"text\": \"why\"}",
    [CONTROL_REPORT] = "{\"value\": {\"a\": [1, \"b\"]}}",
    [CONTROL_FACTS] = "{\"value\": {}}",
    [CONTROL_PING] = "{}",
};

/* ---- what the decoder delivered ---- */

static struct codec codec;
static struct problem problem;
static struct taken {
    size_t count;
    enum control_type types[64];
    json_t *bodies[64];
    int result; /* of take() */
} taken;

static int take(void *owner, enum control_type type, const json_t *body)
{
    assert_ptr_equal(owner, &taken);
    assert_true(taken.count < COUNT_OF(taken.types));
    taken.types[taken.count] = type;
    taken.bodies[taken.count++] = json_deep_copy(body);
    return taken.result;
}

/* Forgets everything: a new decoder. */
static void restart(void)
{
    for (size_t i = 0; i < taken.count; i++)
        json_decref(taken.bodies[i]);
    free(codec.received.data);
    codec = (struct codec){0};
    problem = (struct problem){0};
    taken = (struct taken){0};
}

static int feed(const void *bytes, size_t size)
{
    return codec_feed(&codec, bytes, size, take, &taken, &problem);
}

/* ---- valid messages ---- */

static void encode(enum control_type type, const char *text, struct bytes *bytes)
{
    CLEANUP_JSON json_t *body = json_loads(text, 0, NULL);

    assert_non_null(body);
    assert_accepted(control_encode(type, body, bytes, &unit_problem));
}

/* Every type once, in one stream; and a message by itself. */
static struct bytes all, ping;

static void encode_all(void)
{
    for (int type = 0; type < CONTROL_TYPE_COUNT; type++) {
        struct bytes one = {0};

        encode((enum control_type)type, bodies[type], &one);
        assert_int_equal(bytes_append(&all, one.data, one.size), 0);
        free(one.data);
    }
    encode(CONTROL_PING, "{}", &ping);
}

static void free_all(void)
{
    free(all.data);
    free(ping.data);
}

struct unit_fixture unit_fixture = {.before_all = encode_all, .after = restart, .after_all = free_all};

/* Every type came once, in order, as it is in `bodies`. */
static void assert_all_taken(void)
{
    assert_int_equal(taken.count, CONTROL_TYPE_COUNT);
    for (int type = 0; type < CONTROL_TYPE_COUNT; type++) {
        CLEANUP_JSON json_t *expected = json_loads(bodies[type], 0, NULL);

        assert_int_equal(taken.types[type], type);
        json_object_set(expected, "type", json_object_get(taken.bodies[type], "type"));
        assert_true(json_equal(taken.bodies[type], expected));
    }
}

TEST(every_message_comes_out_as_it_went_in)
{
    assert_int_equal(feed(all.data, all.size), 0);
    assert_all_taken();
}

TEST(a_stream_may_be_cut_anywhere)
{
    for (size_t cut = 0; cut <= all.size; cut++) {
        restart();
        assert_int_equal(feed(all.data, cut), 0);
        assert_int_equal(feed(all.data + cut, all.size - cut), 0);
        assert_all_taken();
    }
}

TEST(a_stream_may_come_byte_by_byte)
{
    for (size_t i = 0; i < all.size; i++)
        assert_int_equal(feed(all.data + i, 1), 0);
    assert_all_taken();
}

TEST(a_nonzero_result_of_take_stops_the_decoder)
{
    taken.result = 7;
    assert_int_equal(feed(all.data, all.size), 7);
    assert_int_equal(taken.count, 1);
    assert_int_equal(problem.kind, PROBLEM_NONE);
}

/* ---- invalid messages ---- */

static void refuse_bytes(const void *bytes, size_t size, const char *why)
{
    restart();
    assert_int_equal(feed(bytes, size), -1);
    assert_problem(&problem, PROBLEM_FAILURE, why);
    /* every later message is refused */
    problem = (struct problem){0};
    assert_int_equal(feed(ping.data, ping.size), -1);
    assert_int_equal(problem.kind, PROBLEM_FAILURE);
    assert_int_equal(taken.count, 0);
}

static void refuse(const char *body, const char *why)
{
    size_t length = strlen(body);
    CLEANUP_FREE uint8_t *bytes = malloc(length + 4);

    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(length >> (24 - 8 * i));
    memcpy(bytes + 4, body, length);
    refuse_bytes(bytes, length + 4, why);
}

TEST(a_length_that_no_message_has_is_refused_before_its_body_comes)
{
    refuse_bytes("\0\0\0\0", 4, "length that no message has");
    refuse_bytes("\0\4\0\1", 4, "length that no message has");
    refuse_bytes("\xff\xff\xff\xff", 4, "length that no message has");
    refuse_bytes("GET / HTTP/1.1\r\n\r\n", 18, "this is not uncork's channel");
}

TEST(only_a_json_object_is_accepted)
{
    unit_each(refuse, "is not a JSON object",
              WORDS("{", "[]", "7", "\"ping\"", "{\"type\": \"ping\"} ?", "{\"type\": \"ping\"}{}",
                    "{\"type\": \"pi\\u0000ng\"}", "{\"type\": \"ask\", \"version\": \"\xff\"}"));
}

TEST(an_unknown_type_is_refused)
{
    unit_each(refuse, "unknown type '(none)'", WORDS("{}", "{\"type\": 7}"));
    refuse("{\"type\": \"pong\"}", "unknown type 'pong'");
    refuse("{\"type\": \"\"}", "unknown type ''");
}

TEST(fields_must_be_those_of_the_type_and_no_others)
{
    unit_each(refuse, "'ask' without a valid 'version'",
              WORDS("{\"type\": \"ask\"}", "{\"type\": \"ask\", \"version\": 1}",
                    "{\"type\": \"ask\", \"version\": null}"));
    unit_each(refuse, "fields that do not belong to it",
              WORDS("{\"type\": \"ask\", \"version\": \"1\", \"more\": 1}",
                    "{\"type\": \"ping\", \"version\": \"1\"}"));
    refuse("{\"type\": \"drain\", \"end\": \"client\", \"bytes\": {}}", "without a valid 'bytes'");
    refuse("{\"type\": \"drain\", \"end\": \"client\", \"bytes\": [1, \"2\"]}",
           "item 1 of 'bytes' has the wrong type");
    refuse("{\"type\": \"drain\", \"end\": \"client\", \"bytes\": [1e300]}",
           "item 0 of 'bytes' has the wrong type");
    refuse("{\"type\": \"drain\", \"end\": \"client\", \"bytes\": [99999999999999999999]}",
           "is not a JSON object");
    refuse("{\"type\": \"plan\", \"version\": \"\", \"end\": \"\", \"host\": \"\", \"words\": [[]]}",
           "item 0 of 'words'");
}

TEST(the_kind_of_a_failure_is_a_problem)
{
    static const char *const kinds[] = {"ok", "", "Failed", "failed ", "none"};

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        refuse(unit_text("{\"type\": \"refused\", \"kind\": \"%s\", \"text\": \"why\"}", kinds[i]),
               "'refused' without a valid 'kind'");
        refuse(unit_text("{\"type\": \"failed\", \"kind\": \"%s\", \"phase\": \"run\", \"text\": \"why\"}",
                         kinds[i]),
               "'failed' without a valid 'kind'");
    }
}

/* ---- text from other ends ---- */

static void assert_cleaned(const char *text, const char *expected)
{
    CLEANUP_JSON json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    CLEANUP_JSON json_t *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);

    assert_true(value && wanted);
    assert_int_equal(control_clean(value, &problem), 0);
    if (!json_equal(value, wanted))
        fail_msg("%s became %s", text, json_dumps(value, JSON_ENCODE_ANY));
}

TEST(text_from_another_end_is_safe_for_a_terminal)
{
    assert_cleaned("\"plain 'text' ~\"", "\"plain 'text' ~\"");
    assert_cleaned("\"4096\\t16384\"", "\"4096\\t16384\"");
    assert_cleaned("\"\\u001b[31m\\u0007\\r\\n\\b\\u007f\"", "\"?[31m?????\"");
    assert_cleaned("\"\\u009b1m caf\\u00e9 \\u202e \\ud83c\\udf7e\"", "\"??1m caf?? ??? ????\"");
    assert_cleaned("{\"a\": [{\"b\": \"\\n\"}, 7, null], \"c\": {}}",
                   "{\"a\": [{\"b\": \"?\"}, 7, null], \"c\": {}}");
    assert_cleaned("\"\"", "\"\"");
}

TEST(a_key_that_is_not_printable_is_refused)
{
    CLEANUP_JSON json_t *value = json_loads("[{\"a\\u001bb\": 1}]", 0, NULL);

    assert_int_equal(control_clean(value, &problem), -1);
    assert_problem(&problem, PROBLEM_FAILURE, "sent the name 'a?b', which is not printable");
    refuse("{\"type\": \"ping\", \"\\u001b\": 1}", "not printable");
}

TEST(a_message_is_clean_when_it_is_delivered)
{
    static const char body[] =
        "{\"type\": \"failed\", \"kind\": \"failed\", \"phase\": \"\\u0007\", \"text\": \"\\u001b[m\"}";
    static const uint8_t header[] = {0, 0, 0, sizeof body - 1};

    assert_int_equal(feed(header, sizeof header), 0);
    assert_int_equal(feed(body, sizeof body - 1), 0);
    assert_int_equal(taken.count, 1);
    assert_string_equal(json_string_value(json_object_get(taken.bodies[0], "phase")), "?");
    assert_string_equal(json_string_value(json_object_get(taken.bodies[0], "text")), "?[m");
}

TEST(a_field_given_twice_is_refused)
{
    unit_each(refuse, "is not a JSON object",
              WORDS("{\"type\": \"ping\", \"type\": \"ping\"}",
                    "{\"type\": \"ask\", \"version\": \"1\", \"version\": \"1\"}"));
}

TEST(deep_nesting_is_refused)
{
    static char deep[CONTROL_BODY_MAX + 1];

    memset(deep, '[', CONTROL_BODY_MAX);
    refuse(deep, "is not a JSON object");
    memcpy(deep, "{\"type\":\"plan\",\"version\":\"\",\"host\":\"\",\"words\":", 46);
    refuse(deep, "is not a JSON object");
}

TEST(a_wrong_message_after_good_ones_is_refused_wherever_it_is_cut)
{
    static const char wrong[] = "\0\0\0\x0f{\"type\":\"pong\"}";
    size_t size = ping.size + sizeof wrong - 1;
    CLEANUP_FREE uint8_t *bytes = malloc(size);

    memcpy(bytes, ping.data, ping.size);
    memcpy(bytes + ping.size, wrong, sizeof wrong - 1);
    for (size_t cut = 0; cut < size; cut++) {
        restart();
        assert_int_equal(feed(bytes, cut), 0);
        assert_int_equal(feed(bytes + cut, size - cut), -1);
        assert_int_equal(taken.count, 1);
    }
}

/* ---- encoding ---- */

TEST(only_valid_messages_are_encoded)
{
    static const struct {
        enum control_type type;
        const char *body;
    } wrong[] = {
        {CONTROL_ASK, "{}"}, {CONTROL_PING, "{\"left\": 1}"}, {CONTROL_DRAIN, "{\"bytes\": [\"1\"]}"}};

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        CLEANUP_JSON json_t *body = json_loads(wrong[i].body, 0, NULL);
        struct bytes unused = {0};

        problem = (struct problem){0};
        assert_int_equal(control_encode(wrong[i].type, body, &unused, &problem), -1);
        assert_int_equal(problem.kind, PROBLEM_FAILURE);
        assert_null(json_object_get(body, "type")); /* not stolen, not changed */
    }
}

/* A version so long that the body has exactly `size` bytes. */
static int encode_long(size_t size, struct bytes *bytes)
{
    size_t length = size - strlen("{\"version\":\"\",\"type\":\"ask\"}");
    CLEANUP_FREE char *version = calloc(1, length + 1);

    memset(version, 'v', length);
    CLEANUP_JSON json_t *body = json_pack("{s:s}", "version", version);
    return control_encode(CONTROL_ASK, body, bytes, &problem);
}

TEST(a_body_has_at_most_256_kib)
{
    struct bytes bytes = {0}, unused = {0};

    assert_int_equal(encode_long(CONTROL_BODY_MAX, &bytes), 0);
    assert_int_equal(bytes.size, CONTROL_HEADER_SIZE + CONTROL_BODY_MAX);
    assert_int_equal(feed(bytes.data, bytes.size), 0);
    assert_int_equal(taken.count, 1);
    free(bytes.data);
    assert_int_equal(encode_long(CONTROL_BODY_MAX + 1, &unused), -1);
    assert_problem(&problem, PROBLEM_FAILURE, "does not fit into 256 KiB");
}

/* ---- channels on one loop ---- */

static uv_loop_t loop;
static int fds[2];

struct side {
    struct channel channel;
    json_t *whole;
    char why[100];
    int messages, ended, closed;
};

static void on_message(void *owner, enum control_type type, const json_t *body)
{
    struct side *side = owner;

    assert_int_equal(type, CONTROL_REPORT);
    side->messages++;
    side->whole = json_incref(json_object_get(body, "value"));
    channel_close(&side->channel);
}

static void on_ended(void *owner, const char *why)
{
    struct side *side = owner;

    snprintf(side->why, sizeof side->why, "%s", why);
    side->ended++;
    channel_close(&side->channel);
}

static void on_closed(void *owner)
{
    ((struct side *)owner)->closed++;
}

static const struct channel_events events = {on_message, on_ended, on_closed, false};

static struct side sides[2];

static void open_loop(void)
{
    memset(sides, 0, sizeof sides);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
}

static void open_side(int i)
{
    assert_int_equal(channel_open(&sides[i].channel, &loop, fds[i], NULL, &events, &sides[i], &problem), 0);
}

static void run_loop(void)
{
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static json_t *make_long(void)
{
    json_t *list = json_array();

    for (int i = 0; i < 20000; i++)
        json_array_append_new(list, json_string(i % 3 ? "\"quoted\" \\ \\u001b \t" : "plain"));
    return json_pack("{s:o}", "list", list);
}

TEST(only_a_client_takes_a_report_of_more_than_256_kib)
{
    CLEANUP_JSON json_t *body = json_pack("{s:o}", "value", make_long());
    struct bytes bytes = {0};

    assert_int_equal(control_encode(CONTROL_REPORT, body, &bytes, &problem), 0);
    assert_true(bytes.size > CONTROL_BODY_MAX);
    assert_int_equal(feed(bytes.data, bytes.size), -1);
    assert_problem(&problem, PROBLEM_FAILURE, "of a length that no message has");
    restart();
    codec.takes_long = true;
    assert_int_equal(feed(bytes.data, bytes.size), 0);
    assert_int_equal(taken.count, 1);
    free(bytes.data);
}

TEST(a_long_value_comes_through_a_channel_whole)
{
    CLEANUP_JSON json_t *value = make_long();

    open_loop();
    open_side(0);
    open_side(1);
    channel_send(&sides[0].channel, CONTROL_REPORT, json_pack("{s:O}", "value", value));
    run_loop();
    assert_int_equal(sides[1].messages, 1);
    assert_true(json_equal(sides[1].whole, value));
    assert_int_equal(sides[1].ended, 0);
    assert_int_equal(sides[0].ended, 1);
    assert_int_equal(sides[0].closed + sides[1].closed, 2);
    json_decref(sides[1].whole);
}

/* A peer that says why and closes, before this end has read that and while it sends. */
TEST(the_last_message_of_a_peer_that_has_closed_is_read_although_sending_fails)
{
    struct bytes bytes = {0};

    encode(CONTROL_REPORT, "{\"value\": {}}", &bytes);
    open_loop();
    assert_int_equal(send(fds[1], bytes.data, bytes.size, 0), bytes.size);
    free(bytes.data);
    close(fds[1]);
    open_side(0);
    channel_send(&sides[0].channel, CONTROL_PING, NULL);
    run_loop();
    assert_int_equal(sides[0].messages, 1);
    assert_int_equal(sides[0].ended, 0);
    assert_int_equal(sides[0].closed, 1);
    json_decref(sides[0].whole);
}

TEST(a_channel_ends_once_on_an_invalid_message)
{
    open_loop();
    open_side(0);
    assert_int_equal(send(fds[1], "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    run_loop();
    assert_int_equal(sides[0].ended, 1);
    assert_int_equal(sides[0].closed, 1);
    assert_int_equal(sides[0].messages, 0);
    assert_non_null(strstr(sides[0].why, "this is not uncork's channel"));
    close(fds[1]);
}
