/* SPDX-License-Identifier: MIT */
/* The blocking engine with a sender thread, against an echo server on a pair of sockets. */
#include "unit.h"

#include "base/clock.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "team/team.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES 200

extern const struct engine engine_block;

/* Which thread made the calls, and what the test makes of them. */
static struct {
    pthread_t data_thread;
    atomic_uint sent_by_data_thread, received_by_sender;
    atomic_uint replies;    /* receives that brought something */
    unsigned requests;      /* sends, by the sender thread */
    bool waits_for_replies; /* a send returns only when its reply is received */
    int fails;              /* errno value of every send, 0: none */
} calls;

static ssize_t send_watched(int fd, const void *data, size_t size, int flags)
{
    if (pthread_equal(pthread_self(), calls.data_thread))
        calls.sent_by_data_thread++;
    if (calls.fails) {
        errno = calls.fails;
        return -1;
    }
    ssize_t sent = send(fd, data, size, flags);
    calls.requests++;
    while (calls.waits_for_replies && calls.replies < calls.requests)
        sched_yield();
    return sent;
}

static ssize_t receive_watched(int fd, void *data, size_t size, int flags)
{
    ssize_t received = recv(fd, data, size, flags);

    if (!pthread_equal(pthread_self(), calls.data_thread))
        calls.received_by_sender++;
    calls.replies += received > 0;
    return received;
}

static const struct call_table watched = {.send = send_watched, .recv = receive_watched};

/* Answers each receive with one byte, until the end of the stream. */
static void *answer(void *argument)
{
    int fd = *(int *)argument;
    uint8_t bytes[64];

    while (recv(fd, bytes, sizeof bytes, 0) > 0 && send(fd, "", 1, MSG_NOSIGNAL) == 1)
        ;
    return NULL;
}

static struct fixture {
    struct plan plan;
    struct thread_shared shared;
    struct connection connection;
    struct sender sender;
    struct engine_job job;
    pthread_t peer;
    int other;
} fixture;

static void fixture_open(void)
{
    int fds[2];

    memset(&fixture, 0, sizeof fixture);
    memset(&calls, 0, sizeof calls);
    calls.data_thread = pthread_self();
    unit_parse(&fixture.plan, WORDS("transport=unix", "message=64", "reply=1", "handoff=thread"));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    unit_open(&fixture.plan, &fixture.shared, &fixture.connection, END_CLIENT, fds[0]);
    assert_int_equal(security_begin(&fixture.connection), 0);
    fixture.connection.calls.table = &watched;
    fixture.connection.messages_left = MESSAGES;
    fixture.other = fds[1];
    assert_int_equal(pthread_create(&fixture.peer, NULL, answer, &fixture.other), 0);
    fixture.job =
        (struct engine_job){.connections = &fixture.connection, .count = 1, .shared = &fixture.shared};
    thread_shared_begin_phase(&fixture.shared, UINT64_MAX, false);
    fixture.connection.role->begin(&fixture.connection);
    assert_int_equal(engine_block.open(&fixture.job), 0);
}

static void start_sender(void)
{
    assert_int_equal(sender_start(&fixture.sender, &fixture.connection, -1, &unit_problem), 0);
    fixture.job.handover = &fixture.sender.handover;
}

static void fixture_close(void)
{
    shutdown(fixture.connection.calls.fd, SHUT_RDWR);
    sender_end(&fixture.sender);
    assert_int_equal(pthread_join(fixture.peer, NULL), 0);
    engine_block.close(&fixture.job);
    close(fixture.connection.calls.fd);
    close(fixture.other);
    unit_close(&fixture.plan, &fixture.shared, &fixture.connection);
}

struct unit_fixture unit_fixture = {.before = fixture_open, .after = fixture_close};

TEST(the_sender_thread_sends_and_the_data_thread_receives)
{
    start_sender();
    assert_int_equal(engine_run(&fixture.job), 0);
    assert_int_equal(calls.requests, MESSAGES);
    assert_int_equal(calls.replies, MESSAGES);
    assert_int_equal(calls.sent_by_data_thread, 0);
    assert_int_equal(calls.received_by_sender, 0);
    assert_int_equal(fixture.connection.queue.flushed_messages, MESSAGES);
    assert_int_equal(fixture.shared.handover.count, MESSAGES);
    assert_int_equal(fixture.shared.latency.count, MESSAGES);
}

TEST(without_a_sender_nothing_is_handed_over)
{
    assert_int_equal(engine_run(&fixture.job), 0);
    assert_int_equal(calls.sent_by_data_thread, MESSAGES);
    assert_int_equal(fixture.shared.handover.count, 0);
}

TEST(a_reply_may_come_before_the_sender_knows_that_all_is_sent)
{
    start_sender();
    calls.waits_for_replies = true;
    assert_int_equal(engine_run(&fixture.job), 0);
    assert_int_equal(fixture.connection.queue.flushed_messages, MESSAGES);
    assert_int_equal(fixture.shared.handover.count, MESSAGES);
}

#define LATE_NS (20 * NS_PER_MS)

static void *serve_late(void *handover)
{
    uint64_t until = clock_now_ns() + LATE_NS;

    while (clock_now_ns() < until)
        sched_yield();
    handover_serve(handover);
    return NULL;
}

TEST(the_delay_ends_when_the_sender_wakes_and_is_part_of_the_latency)
{
    struct handover handover;
    uint64_t before = clock_now_ns();
    pthread_t late;

    handover_open(&handover, &fixture.connection);
    assert_int_equal(pthread_create(&late, NULL, serve_late, &handover), 0);
    fixture.job.handover = &handover;
    fixture.connection.messages_left = 1;
    thread_shared_begin_phase(&fixture.shared, UINT64_MAX, false);
    assert_int_equal(engine_run(&fixture.job), 0);
    assert_true(fixture.shared.handover.maximum + (handover.posted_ns - before) >= LATE_NS);
    assert_true(fixture.shared.handover.maximum <= fixture.shared.latency.maximum);
    handover_post(&handover, HANDOVER_END);
    assert_int_equal(pthread_join(late, NULL), 0);
    handover_close(&handover);
}

TEST(an_error_of_the_sender_is_reported_as_an_error_of_sending)
{
    start_sender();
    calls.fails = ENOBUFS;
    assert_int_equal(engine_run(&fixture.job), -ENOBUFS);
    assert_problem(&fixture.shared.problem, PROBLEM_FAILURE,
                   "the client could not send to the server: No buffer space");
}

TEST(a_sender_ends_while_its_send_blocks)
{
    static uint8_t full[1 << 20];

    start_sender();
    while (send(fixture.connection.calls.fd, full, sizeof full, MSG_DONTWAIT) > 0)
        ; /* no thread receives the answers, so the peer blocks as well */
    connection_append(&fixture.connection, 1);
    handover_post(&fixture.sender.handover, HANDOVER_SEND);
}

TEST(a_sender_that_cannot_be_pinned_reports_it)
{
    assert_refused(sender_start(&fixture.sender, &fixture.connection, 65535, &unit_problem),
                   PROBLEM_UNSUPPORTED, "a thread cannot be pinned to CPU 65535");
}
