/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/clock.h"
#include "base/digest.h"
#include "connection/connection.h"
#include "connection/workload.h"
#include "engine/engine.h"

static struct plan plan;
static struct thread_shared shared;
static struct connection connection;
static uint8_t pattern[4096];

static void close_end(void)
{
    unit_close(&plan, &shared, &connection);
}

static void open_end(enum end end, const char *const *words)
{
    close_end();
    unit_parse(&plan, words);
    unit_open(&plan, &shared, &connection, end, 0);
    assert_int_equal(security_begin(&connection), 0);
    pattern_fill(pattern, sizeof pattern, 0);
}

struct unit_fixture unit_fixture = {.after = close_end};

static void begin_phase(uint64_t duration_ns, uint64_t messages)
{
    thread_shared_begin_phase(&shared, duration_ns, plan.rate != 0);
    connection.messages_left = messages;
    if (connection.role->begin)
        connection.role->begin(&connection);
}

/* Sends and releases `bytes`. */
static void send_bytes(size_t bytes)
{
    queue_accept(&connection.queue, bytes);
    queue_flush(&connection.queue);
    queue_release(&connection.queue);
}

TEST(messages_become_whole_across_and_within_arrivals)
{
    open_end(END_SERVER, WORDS("workload=stream", "message=10", "verify=on"));
    assert_int_equal(connection_process_bytes(&connection, pattern, 4), 0);
    assert_int_equal(connection.arrivals.partial, 4);
    assert_int_equal(connection_process_bytes(&connection, pattern + 4, 6), 0);
    assert_int_equal(connection.arrivals.messages, 1);
    assert_int_equal(connection_process_bytes(&connection, pattern + 10, 35), 0);
    assert_int_equal(connection.arrivals.partial, 5);
    assert_int_equal(connection.arrivals.messages, 4);
    assert_int_equal(connection.arrivals.bytes, 45);
}

TEST(wrong_content_is_named_by_its_byte)
{
    open_end(END_SERVER, WORDS("workload=stream", "message=10", "verify=on"));
    assert_int_equal(connection_process_bytes(&connection, pattern, 100), 0);
    pattern[123] ^= 1;
    assert_int_equal(connection_process_bytes(&connection, pattern + 100, 100), -EBADMSG);
    assert_problem(&shared.problem, PROBLEM_FAILURE, "the server received wrong content at byte 123");
    assert_int_equal(connection.arrivals.bytes, 100);
}

TEST(bytes_that_are_not_verified_are_only_counted)
{
    open_end(END_SERVER, WORDS("workload=stream", "message=10"));
    assert_int_equal(connection_process_bytes(&connection, NULL, 25), 0);
    assert_int_equal(connection.arrivals.messages, 2);
    memset(pattern, 0, sizeof pattern);
    assert_int_equal(connection_process_bytes(&connection, pattern, 25), 0);
    assert_int_equal(connection.arrivals.messages, 5);
}

TEST(a_checksum_touches_every_byte)
{
    uint8_t sums[3][DIGEST_SIZE];

    skip_unless(digest_check(&unit_problem) == 0, unit_problem.text);
    for (size_t i = 0; i < COUNT_OF(sums); i++) {
        open_end(END_SERVER, WORDS("workload=stream", "message=10", "touch=checksum"));
        pattern[3999] ^= i == 1;
        connection_process_bytes(&connection, pattern, 1000);
        connection_process_bytes(&connection, pattern + 1000, 3000);
        digest_read(connection.digest, sums[i]);
    }
    assert_memory_equal(sums[0], sums[2], DIGEST_SIZE);
    assert_memory_not_equal(sums[0], sums[1], DIGEST_SIZE);
}

TEST(every_request_that_comes_in_one_read_is_answered)
{
    open_end(END_SERVER, WORDS("message=10", "reply=3x2"));
    assert_int_equal(connection.role->arrived(&connection, pattern, 45), 0);
    for (uint64_t replies = 1; replies <= 4; replies++) {
        connection.role->fill(&connection);
        assert_int_equal(connection.queue.appended, replies);
        send_bytes(6);
    }
    connection.role->fill(&connection);
    assert_true(queue_is_idle(&connection.queue));
    assert_int_equal(connection.queue.flushed_messages, 4);
}

TEST(a_driver_begins_as_many_messages_as_its_budget_holds)
{
    open_end(END_CLIENT, WORDS("workload=stream", "message=2x5"));
    begin_phase(UINT64_MAX, 3);
    for (int i = 0; i < 5; i++) {
        connection.role->fill(&connection);
        send_bytes(i < 3 ? 10 : 0);
    }
    assert_int_equal(connection.queue.flushed_messages, 3);
}

TEST(a_deadline_that_has_passed_lets_nothing_begin)
{
    open_end(END_CLIENT, WORDS("message=10"));
    begin_phase(0, UINT64_MAX);
    assert_false(connection_may_begin(&connection, true));
    assert_false(connection_may_begin(&connection, false));
    begin_phase(UINT64_MAX, UINT64_MAX);
    assert_true(connection_may_begin(&connection, true));
}

TEST(a_deadline_is_noticed_however_fast_the_messages_go)
{
    unsigned begun = 0;

    open_end(END_CLIENT, WORDS("workload=stream", "message=10"));
    begin_phase(NS_PER_MS, UINT64_MAX);
    while (connection_may_begin(&connection, true))
        begun++;
    assert_true(begun > 0);
    assert_true(clock_now_ns() >= shared.deadline_ns);
}

/* The bytes arrive, and then the role wants so many. */
static void arrive(size_t bytes, size_t wants)
{
    assert_int_equal(connection.role->arrived(&connection, pattern, bytes), 0);
    assert_int_equal(connection.role->wants(&connection), wants);
}

TEST(a_request_waits_for_its_whole_reply)
{
    open_end(END_CLIENT, WORDS("message=10", "reply=6"));
    begin_phase(UINT64_MAX, 2);
    connection.role->fill(&connection);
    connection.role->fill(&connection);
    assert_int_equal(connection.queue.appended, 1);
    send_bytes(10);
    assert_int_equal(connection.role->wants(&connection), 6);
    arrive(4, 2);
    assert_int_equal(shared.latency.count, 0);
    assert_int_equal(connection.role->arrived(&connection, pattern, 2), 0);
    assert_int_equal(shared.latency.count, 1);
    connection.role->fill(&connection);
    assert_int_equal(connection.queue.appended, 2);
}

TEST(a_follower_stops_at_the_announced_byte)
{
    open_end(END_SERVER, WORDS("workload=stream", "message=10"));
    assert_true(connection.role->wants(&connection) > 0);
    connection.stop = 31;
    assert_int_equal(connection.role->arrived(&connection, pattern, 20), 0);
    assert_true(connection.role->wants(&connection) > 0);
    arrive(10, 0);
}

TEST(a_stop_that_is_set_before_the_thread_begins_is_kept)
{
    open_end(END_SERVER, WORDS("workload=stream", "message=10"));
    connection_close(&connection);
    memset(&connection, 0, sizeof connection);
    connection.stop = 31;
    assert_int_equal(connection_open(&connection, &shared), 0);
    arrive(30, 0);
}

TEST(up_to_depth_requests_are_under_way_and_replies_answer_them_in_order)
{
    open_end(END_CLIENT, WORDS("message=10", "reply=6", "depth=3"));
    begin_phase(UINT64_MAX, 5);
    for (int i = 0; i < 4; i++) {
        connection.role->fill(&connection);
        send_bytes(i < 3 ? 10 : 0);
    }
    assert_int_equal(connection.queue.appended, 3);
    assert_int_equal(connection.role->wants(&connection), 18);
    arrive(13, 5);
    assert_int_equal(shared.latency.count, 2);
    connection.role->fill(&connection);
    assert_int_equal(connection.queue.appended, 4);
}

TEST(a_window_joins_messages_and_keeps_the_groups_within_them)
{
    static const uint32_t joined = FRAGMENT_ENDS_MESSAGE, whole = FRAGMENT_ENDS_MESSAGE | FRAGMENT_ENDS_GROUP;

    open_end(END_CLIENT, WORDS("workload=stream", "message=8/2x16", "window=3"));
    assert_int_equal(connection_room(&connection), 3);
    connection_append(&connection, 3);
    for (uint64_t i = 0; i < 6; i++) { /* 8 and 2x16, three times */
        uint32_t expected = i % 2 == 0 ? FRAGMENT_ENDS_GROUP : i == 5 ? whole : joined;

        assert_int_equal(connection.queue.ring[i].marks, expected | (i % 2 ? SPAN_OF_MANY : 0));
    }
}

TEST(a_window_takes_no_more_than_are_due)
{
    open_end(END_SERVER, WORDS("message=10", "reply=3x2", "window=4"));
    assert_int_equal(connection.role->arrived(&connection, pattern, 25), 0);
    connection.role->fill(&connection);
    assert_int_equal(connection.queue.appended, 2);
    queue_accept(&connection.queue, 12);
    queue_flush(&connection.queue);
    assert_int_equal(connection.queue.flushed_messages, 2);
}

TEST(only_a_driver_ends_the_work_and_only_between_two_messages)
{
    open_end(END_SERVER, WORDS("workload=stream", "message=10"));
    assert_int_equal(connection.role->arrived(&connection, pattern, 10), 0);
    assert_int_equal(engine_on_data(&connection, NULL, 0), 0);
    assert_int_equal(connection.role->wants(&connection), 0);
    open_end(END_SERVER, WORDS("workload=stream", "message=10"));
    assert_int_equal(connection.role->arrived(&connection, pattern, 11), 0);
    assert_int_equal(engine_on_data(&connection, NULL, 0), -EPIPE);
    assert_problem(&shared.problem, PROBLEM_FAILURE,
                   "the client closed its connection in the middle of a message");
    open_end(END_CLIENT, WORDS("message=10"));
    assert_int_equal(engine_on_data(&connection, NULL, 0), -EPIPE);
    assert_problem(&shared.problem, PROBLEM_FAILURE,
                   "the server closed its connection before the work was done");
}

TEST(an_end_that_sends_and_receives_does_not_wait_for_a_closed_peer)
{
    open_end(END_SERVER, WORDS("workload=stream", "direction=both", "message=10"));
    begin_phase(UINT64_MAX, 0);
    connection.until_stop = true;
    assert_false(role_is_over(&connection));
    assert_int_equal(engine_on_data(&connection, NULL, 0), 0);
    assert_true(role_is_over(&connection));
}

TEST(bytes_from_the_receiver_of_a_stream_are_an_error)
{
    open_end(END_CLIENT, WORDS("workload=stream", "message=10"));
    assert_int_equal(connection.role->wants(&connection), 0);
    assert_int_equal(connection.role->arrived(&connection, pattern, 1), -EBADMSG);
    assert_problem(&shared.problem, PROBLEM_FAILURE, "1 bytes came from the end that only receives");
}

TEST(bytes_beyond_the_reply_are_an_error)
{
    open_end(END_CLIENT, WORDS("message=10", "reply=6"));
    begin_phase(UINT64_MAX, 1);
    connection.role->fill(&connection);
    assert_int_equal(connection.role->arrived(&connection, pattern, 7), -EBADMSG);
    assert_problem(&shared.problem, PROBLEM_FAILURE, "7 bytes of replies came, and only 6 were due");
}
