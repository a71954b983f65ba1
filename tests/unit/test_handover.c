/* SPDX-License-Identifier: MIT */
/* The blocking engine with a thread that sends for it, against an echoing peer on a pair of sockets. */
#include "unit.h"

#include "base/clock.h"
#include "connection/workload.h"
#include "engine/engine.h"
#include "team/thread.h"
#include "words/parse.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES 200

extern const struct engine engine_block;

/* Who called, and what the test makes of the calls. */
static struct {
    pthread_t data_thread;
    atomic_uint sent_by_data_thread, received_by_sender;
    atomic_uint replies;    /* receives that brought something */
    unsigned requests;      /* sends, by the sender thread */
    bool waits_for_replies; /* a send comes back when its reply has been received */
    int fails;              /* errno value of every send, 0: none */
} calls;

static ssize_t send_watched(int fd, const void *data, size_t size, int flags)
{
    ssize_t sent;

    if (pthread_equal(pthread_self(), calls.data_thread))
        calls.sent_by_data_thread++;
    if (calls.fails) {
        errno = calls.fails;
        return -1;
    }
    sent = send(fd, data, size, flags);
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

/* Answers what comes with a byte for each, until the end. */
static void *answer(void *argument)
{
    int fd = *(int *)argument;
    uint8_t bytes[64];

    while (recv(fd, bytes, sizeof bytes, 0) > 0 && send(fd, "", 1, MSG_NOSIGNAL) == 1)
        ;
    return NULL;
}

struct bed {
    struct plan plan;
    struct thread_shared shared;
    struct connection connection;
    struct sender sender;
    struct engine_job job;
    pthread_t peer;
    int other;
};

static struct bed *bed_open(void)
{
    static const char *const words[] = {"transport=unix", "message=64", "reply=1", "handoff=thread"};
    static struct bed bed;
    struct problem problem = {0};
    int fds[2];

    memset(&bed, 0, sizeof bed);
    memset(&calls, 0, sizeof calls);
    calls.data_thread = pthread_self();
    assert_int_equal(plan_parse(&bed.plan, words, COUNT_OF(words), &problem), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(thread_shared_open(&bed.shared, &bed.plan, END_CLIENT, 1), 0);
    bed.connection.calls.fd = fds[0];
    assert_int_equal(connection_open(&bed.connection, &bed.shared), 0);
    assert_int_equal(security_begin(&bed.connection), 0);
    bed.connection.calls.table = &watched;
    bed.connection.messages_left = MESSAGES;
    bed.other = fds[1];
    assert_int_equal(pthread_create(&bed.peer, NULL, answer, &bed.other), 0);
    bed.job = (struct engine_job){.connections = &bed.connection, .count = 1, .shared = &bed.shared};
    thread_shared_begin_phase(&bed.shared, UINT64_MAX, false);
    bed.connection.role->begin(&bed.connection);
    assert_int_equal(engine_block.open(&bed.job), 0);
    return &bed;
}

static void start_sender(struct bed *bed)
{
    struct problem problem = {0};

    assert_int_equal(sender_start(&bed->sender, &bed->connection, -1, &problem), 0);
    bed->job.handover = &bed->sender.handover;
}

static void bed_close(struct bed *bed)
{
    shutdown(bed->connection.calls.fd, SHUT_RDWR);
    sender_end(&bed->sender);
    assert_int_equal(pthread_join(bed->peer, NULL), 0);
    engine_block.close(&bed->job);
    close(bed->connection.calls.fd);
    close(bed->other);
    connection_close(&bed->connection);
    thread_shared_close(&bed->shared);
    plan_free(&bed->plan);
}

TEST(the_sender_thread_sends_and_the_data_thread_receives)
{
    struct bed *bed = bed_open();

    start_sender(bed);
    assert_int_equal(engine_block.run(&bed->job), 0);
    assert_int_equal(calls.requests, MESSAGES);
    assert_int_equal(calls.replies, MESSAGES);
    assert_int_equal(calls.sent_by_data_thread, 0);
    assert_int_equal(calls.received_by_sender, 0);
    assert_int_equal(bed->connection.queue.flushed_messages, MESSAGES);
    assert_int_equal(bed->shared.handover.count, MESSAGES);
    assert_int_equal(bed->shared.latency.count, MESSAGES);
    bed_close(bed);
}

TEST(without_a_sender_nothing_is_handed_over)
{
    struct bed *bed = bed_open();

    assert_int_equal(engine_block.run(&bed->job), 0);
    assert_int_equal(calls.sent_by_data_thread, MESSAGES);
    assert_int_equal(bed->shared.handover.count, 0);
    bed_close(bed);
}

TEST(a_reply_may_come_before_the_sender_knows_that_all_is_sent)
{
    struct bed *bed = bed_open();

    start_sender(bed);
    calls.waits_for_replies = true;
    assert_int_equal(engine_block.run(&bed->job), 0);
    assert_int_equal(bed->connection.queue.flushed_messages, MESSAGES);
    assert_int_equal(bed->shared.handover.count, MESSAGES);
    bed_close(bed);
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

TEST(the_delay_lasts_until_the_sender_has_it_and_is_part_of_the_latency)
{
    struct bed *bed = bed_open();
    struct handover handover;
    uint64_t before = clock_now_ns();
    pthread_t late;

    handover_open(&handover, &bed->connection);
    assert_int_equal(pthread_create(&late, NULL, serve_late, &handover), 0);
    bed->job.handover = &handover;
    bed->connection.messages_left = 1;
    thread_shared_begin_phase(&bed->shared, UINT64_MAX, false);
    assert_int_equal(engine_block.run(&bed->job), 0);
    assert_true(bed->shared.handover.maximum + (handover.posted_ns - before) >= LATE_NS);
    assert_true(bed->shared.handover.maximum <= bed->shared.latency.maximum);
    handover_post(&handover, HANDOVER_END);
    assert_int_equal(pthread_join(late, NULL), 0);
    handover_close(&handover);
    bed_close(bed);
}

TEST(what_fails_in_the_sender_is_told_as_its_failure)
{
    struct bed *bed = bed_open();

    start_sender(bed);
    calls.fails = ENOBUFS;
    assert_int_equal(engine_block.run(&bed->job), -ENOBUFS);
    assert_problem(&bed->shared.problem, PROBLEM_FAILURE,
                   "the client could not send to the server: No buffer space");
    bed_close(bed);
}

TEST(a_sender_ends_whatever_it_was_given)
{
    struct bed *bed = bed_open();
    static uint8_t full[1 << 20];

    start_sender(bed);
    while (send(bed->connection.calls.fd, full, sizeof full, MSG_DONTWAIT) > 0)
        ; /* the peer answers, nobody takes the answers, and it comes to wait as well */
    connection_append(&bed->connection, 1);
    handover_post(&bed->sender.handover, HANDOVER_SEND);
    bed_close(bed);
}

static int wrong_cpu(struct problem *problem)
{
    struct bed *bed = bed_open();
    int result = sender_start(&bed->sender, &bed->connection, 65535, problem);

    bed_close(bed);
    return result;
}

TEST(a_sender_that_cannot_be_where_it_is_to_run_says_so)
{
    struct problem problem = {0};

    assert_int_equal(wrong_cpu(&problem), -1);
    assert_problem(&problem, PROBLEM_UNSUPPORTED, "a thread cannot be pinned to CPU 65535");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sender_thread_sends_and_the_data_thread_receives),
        cmocka_unit_test(without_a_sender_nothing_is_handed_over),
        cmocka_unit_test(a_reply_may_come_before_the_sender_knows_that_all_is_sent),
        cmocka_unit_test(the_delay_lasts_until_the_sender_has_it_and_is_part_of_the_latency),
        cmocka_unit_test(what_fails_in_the_sender_is_told_as_its_failure),
        cmocka_unit_test(a_sender_ends_whatever_it_was_given),
        cmocka_unit_test(a_sender_that_cannot_be_where_it_is_to_run_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
