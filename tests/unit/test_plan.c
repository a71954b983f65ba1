/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "connection/strategy.h"
#include "connection/workload.h"
#include "words/word.h"

static struct plan plan; /* of the last parse() */

static void close_plan(void)
{
    plan_free(&plan);
    plan = (struct plan){0};
}

static void parse(const char *const *words)
{
    close_plan();
    unit_parse(&plan, words);
}

struct unit_fixture unit_fixture = {.after = close_plan};

static void refuse(const char *const *words, const char *why)
{
    struct plan refused;

    if (unit_try(&refused, words) == 0)
        fail_msg("'%s ...' was taken, not refused with '%s'", words[0], why);
    assert_problem(&unit_problem, PROBLEM_USAGE, why);
}

static void refuse_word(const char *word, const char *why)
{
    refuse(WORDS(word), why);
}

static void assert_flat(json_t *json, const char *expected)
{
    CLEANUP_JSON json_t *owned = json;
    CLEANUP_FREE char *text = unit_flatten(owned);

    assert_string_equal(text, expected);
}

static void assert_unused(const char *expected)
{
    json_t *unused = json_array();

    json_decref(plan_words_given(&plan, unused));
    assert_flat(unused, expected);
}

static void assert_given(const char *expected)
{
    CLEANUP_JSON json_t *unused = json_array();

    assert_flat(plan_words_given(&plan, unused), expected);
}

/* The value of a word in a record; NULL: the record does not have it. */
static void assert_word(const char *key, const char *value)
{
    CLEANUP_JSON json_t *words = plan_words(&plan);

    if (value)
        assert_string_equal(json_string_value(json_object_get(words, key)), value);
    else
        assert_null(json_object_get(words, key));
}

TEST(without_words_a_plan_is_a_request_of_64_bytes_with_every_default)
{
    parse(WORDS(NULL));
    CLEANUP_JSON json_t *words = plan_words(&plan);
    assert_word("workload", "request");
    assert_word("message", "64");
    for (size_t i = 0; i < WORD_COUNT; i++) {
        const char *value = json_string_value(json_object_get(words, word_list[i].key));

        if (value)
            assert_string_equal(value, word_list[i].preset);
    }
    assert_given("");
    assert_unused("");
}

TEST(a_prefix_overrides_wherever_it_stands)
{
    const char *const *const orders[] = {WORDS("sndbuf=64K", "client.sndbuf=1M"),
                                         WORDS("client.sndbuf=1M", "sndbuf=64K"),
                                         WORDS("server.sndbuf=64K", "client.sndbuf=1M")};

    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        parse(orders[i]);
        assert_int_equal(plan.ends[END_CLIENT].sndbuf_bytes, 1 << 20);
        assert_int_equal(plan.ends[END_SERVER].sndbuf_bytes, 1 << 16);
    }
}

TEST(a_word_that_differs_between_the_ends_stands_twice)
{
    parse(WORDS("client.sndbuf=1M", "server.rcvbuf=8K", "client.rcvbuf=8K"));
    assert_word("client.sndbuf", "1M");
    assert_word("server.sndbuf", "default");
    assert_word("sndbuf", NULL);
    assert_word("rcvbuf", "8K");
    assert_word("client.rcvbuf", NULL);
}

TEST(a_word_given_twice_is_refused)
{
    refuse(WORDS("write=cork", "write=nodelay"), "'write' is given twice");
    refuse(WORDS("write=cork", "write=cork"), "'write' is given twice");
    refuse(WORDS("client.sndbuf=1K", "client.sndbuf=2K"), "'client.sndbuf' is given twice");
    refuse(WORDS("sndbuf=1K", "client.sndbuf=2K", "sndbuf=1K"), "'sndbuf' is given twice");
}

TEST(an_unknown_word_or_value_names_the_nearest)
{
    refuse(WORDS("mesage=64"), "no word is called 'mesage'; the nearest is 'message'");
    refuse(WORDS("wirte=cork"), "the nearest is 'write'");
    refuse(WORDS("client.sndbuff=1K"), "the nearest is 'sndbuf'");
    refuse(WORDS("write=corc"), "the nearest is 'cork'");
    refuse(WORDS("transport=tpc"), "the nearest is 'tcp'");
    refuse(WORDS("direction=recieve"), "the nearest is 'receive'");
}

TEST(an_invalid_word_is_refused)
{
    unit_each(refuse_word, "write key=value", WORDS("write", "", "--json"));
    unit_each(refuse_word, "no word is called ''", WORDS("client.=1", "=cork"));
    refuse(WORDS("sink.read=recv"), "no word is called 'sink.read'");
    refuse(WORDS("write="), "write=");
    refuse(WORDS("client.message=64"), "write message=... without a prefix");
    refuse(WORDS("client.client.sndbuf=1K"), "no word is called 'client.sndbuf'");
    refuse(WORDS("rounds=3"), "rounds= is for all cells");
    refuse(WORDS("arm=small"), "arm= chooses an arm of a scenario: uncork run");
    refuse(WORDS("server=\xff:80"), "not valid UTF-8");
}

TEST(a_value_out_of_range_names_the_range)
{
    refuse(WORDS("connections=0"), "connections=0 is out of range: 1 to 10000");
    refuse(WORDS("connections=10001"), "1 to 10000");
    unit_each(refuse_word, "1 to 1G", WORDS("chunk=0", "sndbuf=2G"));
    unit_each(refuse_word, "1ms to 3600s", WORDS("duration=0s", "duration=3601s"));
    refuse(WORDS("spin=2s"), "0s to 1s");
    unit_each(refuse_word, "out of range",
              WORDS("messages=0", "messages=99999999999999999999", "bytes=17179869184G"));
    refuse(WORDS("connections=-1"), "is not a valid count");
    refuse(WORDS("duration=2"), "is not a valid duration; write it like 2s");
    refuse(WORDS("chunk=64k"), "is not a valid size; write it like");
    refuse(WORDS("link_rate=1g"), "is not a valid rate; write it like 100mbit");
    refuse(WORDS("link_rate=999kbit"), "link_rate=999kbit is out of range: 1mbit to 400gbit");
    refuse(WORDS("link_mtu=575"), "576 to 65535");
    refuse(WORDS("link_loss=0.1"), "is not a valid percent; write it like 1% or 0.01%");
    refuse(WORDS("link_loss=51%"), "0% to 50%");
}

TEST(a_sysctl_is_below_net)
{
    const char *const *settings = WORDS("net.ipv4.tcp_sack", "net.ipv4.tcp_sack:", "kernel.panic:1", "net:1",
                                        "net.:1", "net..ipv4:1", "net.../..:1", "net.ipv4/tcp_sack:1",
                                        "net.ipv4.tcp_sack:1 2", "net.ipv4.tcp_sack:'", "None", "");

    for (; *settings; settings++)
        refuse(WORDS(unit_text("sysctl=%s", *settings), "lab=on"),
               "write none, or NAME:VALUE like net.ipv4.tcp_sack:0");
}

TEST(a_build_is_any_folder_whose_path_can_stand_in_a_list)
{
    parse(WORDS("build=../old/build/release", "transport=null"));
    assert_given("transport=null build=../old/build/release");
    refuse(WORDS("build="), "write the path of a folder");
    refuse(WORDS("build=old tree/bin"), "neither blanks nor commas");
    refuse(WORDS("client.build=old"), "build is the same at all ends");
}

TEST(a_target_can_stand_in_a_list_and_is_not_too_long)
{
    char text[TARGET_TEXT_MAX + 8] = "target=ssh:";

    unit_each(refuse_word, "neither blanks nor commas", WORDS("target=ssh:a b", "target=ssh:a\n"));
    memset(text + 11, 'h', TARGET_TEXT_MAX - 4);
    refuse(WORDS(text), "at most 255 characters");
    text[TARGET_TEXT_MAX + 6] = '\0';
    parse(WORDS(text));
}

TEST(only_tcp_to_a_server_of_uncork_has_a_lab)
{
    parse(WORDS("lab=on", "link_rate=1000mbit", "sysctl=net.ipv4.tcp_rmem:1:2:3"));
    assert_unused("");
    assert_given("lab=on link_rate=1gbit sysctl=net.ipv4.tcp_rmem:1:2:3");
    parse(WORDS("lab=off", "link_rate=1gbit", "link_mtu=9000", "link_delay=1ms", "link_loss=1%",
                "sysctl=none"));
    assert_unused("link_rate link_mtu link_delay link_loss sysctl");
    parse(WORDS("lab=on", "link_rate=1gbit", "transport=unix"));
    assert_unused("lab link_rate");
    refuse(WORDS("lab=on", "server=192.0.2.1:7"), "lab=on and server=192.0.2.1:7 contradict each other");
    refuse(WORDS("lab=on", "workload=proxy", "via=192.0.2.1:7"),
           "lab=on and via=192.0.2.1:7 contradict each other");
}

TEST(contradictory_words_are_refused)
{
    refuse(WORDS("duration=1s", "bytes=1M"), "duration and bytes contradict each other");
    refuse(WORDS("messages=5", "bytes=1M"), "messages and bytes contradict each other");
    refuse(WORDS("messages=5", "duration=2s"), "duration and messages contradict each other");
    refuse(WORDS("verify=on", "read=msgtrunc"), "verify=on and read=msgtrunc contradict");
    refuse(WORDS("verify=on", "server.read=msgtrunc"), "verify=on and read=msgtrunc contradict");
    refuse(WORDS("touch=checksum", "read=msgtrunc"), "touch=checksum and read=msgtrunc contradict");
    refuse(WORDS("workload=stream", "verify=on", "server.read=msgtrunc"), "contradict");
}

TEST(an_end_that_does_not_read_contradicts_nothing)
{
    parse(WORDS("workload=stream", "verify=on", "client.read=msgtrunc"));
    parse(WORDS("server.touch=checksum", "client.read=msgtrunc"));
}

TEST(a_cork_has_a_layer_and_a_size)
{
    parse(WORDS("write=cork:segment:65536", "reply_write=cork:record"));
    assert_int_equal(plan.write.layer, CORK_SEGMENT);
    assert_int_equal(plan.write.parameter, 65536);
    assert_int_equal(plan.reply_write.layer, CORK_RECORD);
    assert_word("write", "cork:segment:64K");
    assert_word("reply_write", "cork:record");
}

TEST(either_all_ends_are_encrypted_or_none)
{
    parse(WORDS("client.security=gnutls", "server.security=openssl", "cipher=chacha20-poly1305"));
    assert_word("client.security", "gnutls");
    assert_word("server.security", "openssl");
    assert_word("handshake", "psk-ecdhe");
    refuse(WORDS("client.security=gnutls"), "server.security=plain contradict each other");
    refuse(WORDS("workload=proxy", "security=gnutls", "proxy.security=plain"), "proxy.security=plain");
    refuse(WORDS("security=openssl", "peer=127.0.0.1:7", "control=none"),
           "neither its key nor its certificate");
    refuse(WORDS("cipher=aes-128"), "the nearest is 'aes-128-gcm'");
}

TEST(a_strategy_takes_its_parameter_after_a_colon)
{
    parse(WORDS("write=cork:65536", "reply_write=coalesce"));
    assert_string_equal(plan.write.strategy->variant.name, "cork");
    assert_int_equal(plan.write.parameter, 65536);
    assert_true(plan.reply_write.parameter == PARAMETER_NONE);
    assert_word("write", "cork:64K");
    assert_word("reply_write", "coalesce");
    refuse(WORDS("write=nodelay:4K"), "nodelay takes no parameter");
    unit_each(refuse_word, "a size from 1 to 1G must follow the colon",
              WORDS("write=cork:segment:record", "write=cork:"));
    refuse(WORDS("write=cork:64K:record"), "or a layer: record, segment");
    unit_each(
        refuse_word, "must follow the colon",
        WORDS("write=coalesce:record", "write=cork:0", "write=cork:2G", "write=cork:x", "write=cork:4K:4K"));
    refuse(WORDS("write=:4K"), "no write strategy is called ''");
}

static void is_encoded(const char *typed, const char *expected)
{
    parse(WORDS("workload=command", "subject=served", "moves=1M", typed));
    assert_string_equal(plan.command, expected);
}

TEST(a_command_is_one_word_whatever_it_is)
{
    is_encoded("command=copy {uri} - | sum", "copy%20{uri}%20-%20|%20sum");
    is_encoded("command=copy%20{uri}", "copy%20{uri}");
    is_encoded("command=a,b\tc\nd", "a%2Cb%09c%0Ad");
    is_encoded("command=\u00e4", "\u00e4");
    refuse(WORDS("command="), "command= is empty");
}

TEST(a_load_needs_a_subject_and_uses_no_word_of_a_data_thread)
{
    parse(WORDS("workload=command", "subject=served", "load=asks", "asks.count=3", "served.size=4K",
                "other.x=1", "sndbuf=64K", "client.sndbuf=4K", "depth=4", "warmup=0s"));
    assert_true(plan.runs_command && !plan.frames && !plan.relays);
    assert_unused("depth client.sndbuf warmup other.x");
    refuse(WORDS("workload=command", "load=asks"), "needs subject=");
    refuse(WORDS("workload=command", "subject=served"), "needs either load=NAME");
    refuse(WORDS("workload=command", "subject=served", "load=asks", "command=ls", "moves=1"),
           "either load=NAME");
    refuse(WORDS("workload=command", "subject=served", "command=ls"), "command= needs moves=");
    refuse(WORDS("load=Asks"), "load=Asks: write a name");
}

TEST(values_with_a_grammar_of_their_own_are_strict)
{
    unit_each(refuse_word, "write hot, or cold:SIZE", WORDS("source=cold", "source=warm"));
    unit_each(refuse_word, "out of range", WORDS("source=cold:0", "source=cold:5G"));
    unit_each(refuse_word, "write the name of a congestion control",
              WORDS("congestion=", "congestion=CUBIC", "congestion=longer-than-kernel"));
    unit_each(refuse_word, "write own, HOST:PORT", WORDS("server=nowhere", "server=host:99999"));
    refuse(WORDS("place=near"), "write together, apart, free");
    refuse(WORDS("message=0"), "a count or a size of zero");
}

TEST(an_unused_word_is_reported_and_left_out)
{
    parse(WORDS("direction=receive", "write=more", "client.sndbuf=4096"));
    assert_unused("direction");
    assert_given("write=more client.sndbuf=4K");
    assert_word("direction", NULL);
    parse(
        WORDS("workload=stream", "reply=2", "reply_write=cork", "client.chunk=4K", "server.source=cold:1M"));
    assert_unused("reply reply_write client.chunk server.source");
    assert_given("workload=stream");
    parse(WORDS("transport=null", "verify=on", "congestion=cubic", "sndbuf=4K", "server.perf=on"));
    assert_unused("verify sndbuf congestion server.perf");
}

TEST(the_given_words_keep_a_word_with_and_without_a_prefix)
{
    parse(WORDS("client.sndbuf=1M", "sndbuf=65536"));
    assert_given("sndbuf=64K client.sndbuf=1M");
    parse(WORDS("server.sndbuf=1M", "sndbuf=65536"));
    assert_given("sndbuf=64K server.sndbuf=1M");
}

TEST(fixed_work_takes_the_place_of_the_duration)
{
    parse(WORDS("messages=10", "connections=3"));
    assert_word("duration", NULL);
    assert_word("messages", "10");
    assert_int_equal(plan_messages_of(&plan, 0), 4);
    assert_int_equal(plan_messages_of(&plan, 1), 3);
    assert_int_equal(plan_messages_of(&plan, 2), 3);
    parse(WORDS("bytes=1001", "message=10"));
    assert_int_equal(plan_messages_of(&plan, 0), 101);
    parse(WORDS("duration=1s"));
    assert_true(plan_messages_of(&plan, 0) == UINT64_MAX);
}

TEST(the_roles_follow_from_the_workload_and_its_direction)
{
    parse(WORDS("message=15x2", "reply=16+4K", "write=cork", "reply_write=more"));
    assert_true(plan.ends[END_CLIENT].drives && !plan.ends[END_CLIENT].follows);
    assert_true(plan.ends[END_SERVER].follows && !plan.ends[END_SERVER].drives);
    assert_ptr_equal(plan_outgoing(&plan, END_CLIENT), &plan.message);
    assert_ptr_equal(plan_incoming(&plan, END_CLIENT), &plan.reply);
    assert_ptr_equal(plan_outgoing(&plan, END_SERVER), &plan.reply);
    assert_ptr_equal(plan_incoming(&plan, END_SERVER), &plan.message);
    assert_ptr_equal(plan_strategy(&plan, END_SERVER), &plan.reply_write);
    parse(WORDS("workload=stream", "direction=receive", "write=cork"));
    assert_true(plan.ends[END_SERVER].drives && plan.ends[END_CLIENT].follows);
    assert_ptr_equal(plan_role(&plan, END_SERVER), plan.workload->roles[ROLE_DRIVER]);
    assert_ptr_equal(plan_outgoing(&plan, END_SERVER), &plan.message);
    assert_ptr_equal(plan_incoming(&plan, END_CLIENT), &plan.message);
    assert_null(plan_outgoing(&plan, END_CLIENT));
    assert_null(plan_incoming(&plan, END_SERVER));
    assert_ptr_equal(plan_strategy(&plan, END_SERVER), &plan.write);
}

TEST(a_run_with_a_proxy_uses_the_words_of_the_proxy)
{
    parse(WORDS("workload=proxy", "direction=both", "write=cork", "chunk=32", "proxy.rcvbuf=4K", "message=64",
                "reply=1", "client.chunk=1K", "source=hot", "reply_write=more", "rate=5", "depth=2"));
    assert_unused("message reply reply_write client.chunk source depth rate");
    assert_given("workload=proxy direction=both write=cork chunk=32 proxy.rcvbuf=4K");
    assert_word("server.rcvbuf", "default");
    assert_word("proxy.rcvbuf", "4K");
    assert_word("via", "own");
    assert_int_equal(plan.message.bytes, 65536);
    assert_true(plan_has_proxy(&plan) && !plan.ends[END_PROXY].drives && plan.ends[END_PROXY].follows);
    assert_int_equal(plan_neighbour(&plan, END_CLIENT), END_PROXY);
    refuse(WORDS("workload=proxy", "read=msgtrunc"), "read=msgtrunc discards the bytes");
    refuse(WORDS("workload=proxy", "peer=127.0.0.1:9", "control=none"), "needs a server of uncork");
}

TEST(without_a_proxy_its_words_have_no_effect)
{
    parse(WORDS("workload=stream", "proxy.sndbuf=4K", "via=127.0.0.1:1"));
    assert_unused("proxy.sndbuf via");
}

/* The words of a record make the same plan again. In this way a plan also goes to the server. */
static void assert_words_read_back(const char *const *typed)
{
    const char *words[2 * PLAN_WORDS_MAX + 1];
    char texts[2 * PLAN_WORDS_MAX][200];
    const char *key;
    json_t *value;
    size_t count = 0;

    parse(typed);
    CLEANUP_JSON json_t *first = plan_words(&plan);
    json_object_foreach(first, key, value) {
        snprintf(texts[count], sizeof texts[count], "%s=%s", key, json_string_value(value));
        words[count] = texts[count];
        count++;
    }
    words[count] = NULL;
    parse(words);
    CLEANUP_JSON json_t *second = plan_words(&plan);
    if (!json_equal(first, second))
        fail_msg("%s ... does not read back", typed[0]);
    assert_unused("");
}

TEST(the_words_of_a_plan_read_back_to_the_same_plan)
{
    const char *const *const typed[] = {
        WORDS("message=15x2"),
        WORDS("workload=stream", "direction=receive", "message=32/2x4K/2x4K", "write=coalesce:16K",
              "bytes=1M"),
        WORDS("transport=null", "messages=3"),
        WORDS("transport=null", "workload=stream", "source=cold:1M"),
        WORDS("transport=unix", "verify=on", "client.chunk=1", "server.chunk=2", "warmup=0s"),
        WORDS("server=[::1]:80", "congestion=system", "client.congestion=bbr", "place=0.2/1.3",
              "spin=1500ns"),
        WORDS("workload=proxy", "write=cork:4K", "chunk=32", "window=256", "sndbuf=4K", "proxy.sndbuf=8K",
              "client.threads=2", "via=127.0.0.1:1", "place=0/1/2"),
        WORDS("server=unix:/tmp/a b=c", "nodelay=off", "server.nodelay=on", "read=msgtrunc", "perf=on"),
    };

    for (size_t i = 0; i < COUNT_OF(typed); i++)
        assert_words_read_back(typed[i]);
}

TEST(every_word_of_the_list_is_complete)
{
    for (size_t i = 0; i < WORD_COUNT; i++) {
        const struct word *word = &word_list[i];

        assert_ptr_equal(word_find(word->key, &unit_problem), word);
        assert_non_null(word->help);
        assert_true(!word->per_end || !word->for_run); /* only a word of a cell has ends */
        assert_true(word->minimum <= word->maximum);
        assert_null(strpbrk(word->key, "=., "));
    }
}
