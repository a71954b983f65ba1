/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/program.h"
#include "override/override.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- words ---- */

static struct change change; /* of the last parse() */

static int parse(const char *text)
{
    return override_parse(&change, text, empty_problem());
}

TEST(an_override_is_read_and_written_back)
{
    const char *const *texts =
        WORDS("none", "nodelay", "nagle", "nomore", "nocork", "join", "more:64", "sndbuf:1M", "rcvbuf:256K",
              "nodelay+more:64", "more:1", "nomore+nocork+sndbuf:8K", "nagle+join+rcvbuf:3");

    for (; *texts; texts++) {
        char text[128];

        assert_int_equal(parse(*texts), 0);
        override_format(&change, text, sizeof text);
        assert_string_equal(text, *texts);
    }
}

TEST(a_size_is_stored_with_its_change)
{
    assert_int_equal(parse("sndbuf:256K+more:64"), 0);
    assert_int_equal(change.bits, CHANGE_SNDBUF | CHANGE_MORE);
    assert_int_equal(change.bytes[CHANGE_SNDBUF_POSITION], 262144);
    assert_int_equal(change.bytes[CHANGE_MORE_POSITION], 64);
}

static void refuse(const char *text, const char *says)
{
    assert_refused(parse(text), PROBLEM_USAGE, says);
}

TEST(a_wrong_override_is_one_line_that_says_what_would_be_right)
{
    unit_each(refuse, "write none, nodelay", WORDS("", "mor:64", "nodelay+"));
    refuse("more", "write more:SIZE");
    unit_each(refuse, "1 to 1023M", WORDS("more:", "more:0", "more:1G", "more:64 "));
    refuse("join:64", "write join without a size");
    unit_each(refuse, "undoes", WORDS("nodelay+nagle", "join+more:64", "nomore+join"));
    refuse("nodelay+nodelay", "nodelay twice");
}

/* ---- proof ---- */

static struct shared shared; /* too large for a stack */
static struct shared_kind *const kind = &shared.kinds[0];

/* The counts of a program with one kind of connection. */
static void counts(const char *text, int family, int nodelay)
{
    memset(&shared, 0, sizeof shared);
    assert_int_equal(override_parse(&shared.change, text, &unit_problem), 0);
    shared.process_count = 1;
    *kind = (struct shared_kind){.name = {.family = (uint16_t)family, .role = ROLE_ACCEPTED, .port = 10809},
                                 .connections = 1,
                                 .read_back = 1,
                                 .nodelay = nodelay,
                                 .turns = 100};
    kind->calls[COUNTED_sendto] = 200;
}

static void assert_proof(const char *says)
{
    assert_int_equal(override_proof(&shared, empty_problem()), says ? -1 : 0);
    if (says)
        assert_problem(&unit_problem, PROBLEM_UNSUPPORTED, says);
}

static void assert_proved(const char *text, int family, int nodelay, uint64_t changed, const char *says)
{
    counts(text, family, nodelay);
    kind->changed = changed;
    assert_proof(says);
}

TEST(an_override_is_proved_by_sends_that_were_seen_and_options_that_were_read_back)
{
    assert_proved("none", AF_INET, 0, 0, NULL);
    assert_proved("nodelay", AF_INET, 1, 1, NULL);
    assert_proved("more:64", AF_INET, 0, 100, NULL);
    assert_proved("sndbuf:8K", AF_UNIX, -1, 1, NULL);
    assert_proved("nocork", AF_INET, 1, 0, "there was nothing to change");
    shared.tls_corks = 3; /* of GnuTLS, which is no call on a socket */
    assert_proof(NULL);
}

TEST(an_override_that_did_not_reach_the_program_is_rejected_with_the_reason)
{
    counts("none", AF_INET, 0);
    shared.process_count = 0;
    assert_proof("no process loaded it");
    counts("none", AF_INET, 0);
    kind->calls[COUNTED_sendto] = 0;
    assert_proof("saw no send");
    assert_proved("nodelay", AF_INET, 0, 1, "TCP_NODELAY is off");
    assert_proved("nagle", AF_INET, 1, 1, "TCP_NODELAY is on");
    assert_proved("join", AF_UNIX, -1, 0, "a Unix socket does not have this option");
    assert_proved("nomore", AF_INET, 1, 0, "there was nothing to change");
}

/* ---- advice ---- */

static void shape_add(uint64_t groups, uint32_t sends, const uint64_t *fragments)
{
    struct shared_shape *shape = kind->shapes;

    while (shape->groups)
        shape++;
    *shape = (struct shared_shape){.groups = groups, .sends = sends};
    for (uint32_t i = 0; i < sends && i < SHARED_FRAGMENTS; i++)
        shape->fragments[i] = fragments[i];
}

#define SHAPE(groups, ...)                                                                                   \
    shape_add(groups, COUNT_OF(((const uint64_t[]){__VA_ARGS__})), (const uint64_t[]){__VA_ARGS__})

/* What the report says about the connections. New reference. */
static json_t *reported(const char *subject)
{
    CLEANUP_JSON json_t *report = report_make(&shared, subject, 0, "");

    return json_incref(json_array_get(json_object_get(report, "connections"), 0));
}

static void assert_advice(const char *says, const char *override, const char *measure)
{
    CLEANUP_JSON json_t *report = reported(NULL);
    const char *said, *tried = "", *measured = "";

    json_unpack(report, "{s:s, s?s, s?s}", "says", &said, "try", &tried, "measure", &measured);
    assert_string_equal(said, says);
    assert_string_equal(tried, override);
    assert_string_equal(measured, measure);
}

TEST(the_report_is_about_the_most_frequent_shape)
{
    counts("none", AF_INET, 0);
    assert_advice("The library saw no send.", "", "");
    SHAPE(2, 18);
    SHAPE(100, 38, 4118);
    SHAPE(3, 20);
    CLEANUP_JSON json_t *report = reported(NULL);
    assert_non_null(strstr(json_string_value(json_object_get(report, "says")), "(38, 4118)"));
}

TEST(a_short_send_before_a_long_one_wants_more_of_the_next_power_of_two)
{
    counts("none", AF_INET, 0);
    SHAPE(100, 38, 4118);
    kind->waits_40ms = 99;
    assert_advice(
        "Messages are groups of 2 sends (38, 4118), no TCP_NODELAY, and a wait of about 40 ms after "
        "each: they would join; try override=more:64.",
        "more:64", "uncork run workload=request message=64 reply=38+4118 reply_write=nagle,more");
    counts("none", AF_INET, 1);
    SHAPE(100, 65, 10, 4118);
    kind->name.role = ROLE_CONNECTED;
    assert_advice("Messages are groups of 3 sends (65, 10, 4118): they would join; try override=more:128.",
                  "more:128", "uncork run message=65+10+4118 reply=64 write=nodelay,more");
}

TEST(sends_of_one_size_and_long_headers_want_join)
{
    static const uint64_t alike[SHARED_FRAGMENTS] = {100, 100, 100, 100, 100, 100, 100, 100};
    counts("none", AF_INET6, 1);
    shape_add(10, 16, alike);
    assert_advice("Messages are groups of 16 sends (16 x 100): they would join; try override=join.", "join",
                  "uncork run workload=request message=64 reply=16x100 reply_write=nodelay,more");
    counts("none", AF_INET, 1);
    SHAPE(10, 8000, 9000);
    assert_advice("Messages are groups of 2 sends (8000, 9000): they would join; try override=join.", "join",
                  "uncork run workload=request message=64 reply=8000+9000 reply_write=nodelay,more");
}

TEST(messages_that_are_joined_already_are_compared_with_separate_ones)
{
    counts("none", AF_INET, 1);
    SHAPE(100, 16 | FRAGMENT_MORE, 4096);
    assert_advice(
        "Messages are groups of 2 sends (16 MSG_MORE, 4096), joined by MSG_MORE: override=nomore shows "
        "what that saves.",
        "nomore", "uncork run workload=request message=64 reply=16+4096 reply_write=nodelay,more");
    counts("none", AF_INET, 1);
    SHAPE(100, 234 | FRAGMENT_CORKED, 4096 | FRAGMENT_CORKED);
    assert_advice(
        "Messages are groups of 2 sends (234 corked, 4096 corked), joined by TCP_CORK: override=nocork "
        "shows what that saves.",
        "nocork", "uncork run workload=request message=64 reply=234+4096 reply_write=nodelay,cork");
}

TEST(a_single_send_has_nothing_to_join_and_may_want_nodelay)
{
    counts("none", AF_INET, 0);
    SHAPE(100, 4112);
    assert_advice("Messages are single sends (4112): nothing to join.", "", "");
    kind->waits_200ms = 90;
    assert_advice(
        "Messages are single sends (4112), no TCP_NODELAY, and a wait of about 200 ms after each: nothing "
        "to join; try override=nodelay.",
        "nodelay", "uncork run workload=request message=64 reply=4112 reply_write=nagle,nodelay");
    kind->waits_200ms = 0;
    kind->waits_40ms = 3; /* now and then: no reason for an advice */
    assert_advice("Messages are single sends (4112): nothing to join.", "", "");
}

TEST(on_a_unix_socket_no_override_is_offered)
{
    counts("none", AF_UNIX, -1);
    SHAPE(100, 16 | FRAGMENT_MORE, 4096);
    assert_advice(
        "Messages are groups of 2 sends (16 MSG_MORE, 4096): on a Unix socket no override joins them; one "
        "writev(2) would.",
        "",
        "uncork run workload=request message=64 reply=16+4096 reply_write=nodelay,writev,coalesce "
        "transport=unix");
}

TEST(a_subject_is_measured_by_its_name)
{
    counts("none", AF_INET, 0);
    SHAPE(100, 38, 4118);
    CLEANUP_JSON json_t *whole = reported("qemu-nbd protocol=nbd");
    assert_string_equal(json_string_value(json_object_get(whole, "measure")),
                        "uncork run subject=qemu-nbd protocol=nbd override=none,more:64");
}

TEST(a_program_may_write_anything_into_the_memory_of_its_report)
{
    counts("none", AF_INET, 0);
    shape_add(UINT64_MAX, 0, NULL);
    assert_advice("The library saw no send.", "", "");
    SHAPE(UINT64_MAX, 38);
    shared.calls[0] = shared.calls[1] = INT64_MAX;
    CLEANUP_JSON json_t *report = report_make(&shared, NULL, 0, "");
    json_t *kinds = json_object_get(report, "connections"), *one = json_array_get(kinds, 0);
    json_t *shape = json_array_get(json_object_get(one, "shapes"), 0);
    assert_int_equal(json_integer_value(json_object_get(report, "calls_seen")), INT64_MAX);
    assert_int_equal(json_integer_value(json_object_get(shape, "groups")), INT64_MAX);
}

TEST(the_report_has_what_is_known_and_nothing_else)
{
    counts("more:64", AF_INET, 0);
    SHAPE(100, 38, 4118 | FRAGMENT_MORE);
    CLEANUP_JSON json_t *report = report_make(&shared, NULL, 60.0, "it has an io_uring");
    json_t *one = json_array_get(json_object_get(report, "connections"), 0);
    assert_int_equal(json_array_size(json_object_get(report, "connections")), 1);
    assert_string_equal(json_string_value(json_object_get(report, "override")), "more:64");
    assert_string_equal(json_string_value(json_object_get(report, "limit")), "it has an io_uring");
    assert_true(json_is_false(json_object_get(one, "nodelay")));
    assert_null(json_object_get(one, "path"));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(one, "calls"), "sendto")), 200);
}

/* ---- programs ---- */

#define FOLDERS "/no/such:/usr/bin:/bin"

TEST(a_program_is_found_as_execvp_finds_it)
{
    char path[PATH_MAX];

    assert_int_equal(program_find("/bin/sh", FOLDERS, path, sizeof path), 0);
    assert_string_equal(path, "/bin/sh");
    assert_int_equal(program_find("sh", FOLDERS, path, sizeof path), 0);
    assert_non_null(strstr(path, "/sh"));
    assert_int_equal(program_find("no-such-program", FOLDERS, path, sizeof path), -ENOENT);
    assert_int_equal(program_find("bin", "/etc:/usr", path, sizeof path), -EACCES); /* a folder */
    assert_int_equal(program_find("passwd", "/etc:", path, sizeof path), -EACCES);
    assert_int_equal(program_find("sh", "/bin", path, 7), -ENOENT); /* no room for its path */
    assert_int_equal(program_find("/etc/passwd", FOLDERS, path, sizeof path), -EACCES);
    assert_int_equal(program_find("/no/such/program", FOLDERS, path, sizeof path), -ENOENT);
}

/* Whether a file with these bytes is a program. */
static int check_bytes(const char *bytes, size_t size)
{
    char path[] = "/tmp/uncork-unit-XXXXXX";
    int fd = mkstemp(path);

    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    int result = reach_check(path, empty_problem());
    close(fd);
    unlink(path);
    return result;
}

TEST(a_file_that_is_no_program_and_a_truncated_one_are_rejected)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } files[] = {{"", 0, "empty"},
                 {"text\n", 5, "neither an ELF program nor a script"},
                 {"\177ELF\2\1\1", 7, "neither an ELF program nor a script"},
                 {"#!/no/such/interpreter\n", 23, "/no/such/interpreter"},
                 {"#!", 2, "neither an ELF program nor a script"}};

    for (size_t i = 0; i < COUNT_OF(files); i++)
        assert_refused(check_bytes(files[i].bytes, files[i].size), PROBLEM_UNSUPPORTED, files[i].says);
}

TEST(an_ordinary_program_is_accepted_and_a_truncated_one_is_not_read_beyond_its_end)
{
    char image[65536];
    CLEANUP_CLOSE int from = open("/bin/sh", 0);
    ssize_t size = read(from, image, sizeof image);

    assert_int_equal(reach_check("/bin/sh", &unit_problem), 0);
    for (ssize_t kept = size; kept > 1; kept -= kept > 4096 ? 997 : 13)
        if (check_bytes(image, (size_t)kept) < 0)
            assert_int_equal(unit_problem.kind, PROBLEM_UNSUPPORTED);
}
