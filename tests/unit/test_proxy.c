/* SPDX-License-Identifier: MIT */
/* The role of a proxy, without an engine: what it holds, groups and releases, when it is over. */
#include "unit.h"

#include "connection/memory.h"
#include "connection/strategy.h"
#include "connection/workload.h"

#define CHUNK 8u
#define WINDOW 4u

static struct plan plan;
static struct thread_shared shared;
static struct connection pair[2];

static void open_pair(const char *direction)
{
    unit_parse(&plan, WORDS("workload=proxy", "transport=unix", "chunk=8", "window=4", "verify=on",
                            unit_text("direction=%s", direction)));
    memset(&shared, 0, sizeof shared);
    memset(pair, 0, sizeof pair);
    assert_int_equal(thread_shared_open(&shared, &plan, END_PROXY, 2), 0);
    for (int i = 0; i < 2; i++) {
        pair[i].peer = i ? END_SERVER : END_CLIENT;
        pair[i].twin = &pair[!i];
        pair[i].calls.fd = -1;
        assert_int_equal(connection_open(&pair[i], &shared), 0);
    }
}

static void close_pair(void)
{
    for (int i = 0; i < 2; i++)
        connection_close(&pair[i]);
    thread_shared_close(&shared);
    plan_free(&plan);
}

struct unit_fixture unit_fixture = {.after = close_pair};

/* As an engine does: receives into the next buffer, and takes it. Each byte is `mark`. */
static int arrive(struct connection *connection, size_t size, uint8_t mark)
{
    uint8_t *data = pool_next(&shared.pool);

    if (!data)
        fail_msg("no buffer is spare");
    else
        memset(data, mark, CHUNK);
    pool_take(&shared.pool);
    return connection->role->arrived(connection, data, size);
}

/* Sends and releases everything in the queue. */
static void send_all(struct connection *connection)
{
    struct send_queue *queue = &connection->queue;

    queue_accept(queue, queue_group_bytes(queue));
    queue_flush(queue);
    queue_release(queue);
}

TEST(bytes_that_arrive_on_one_twin_are_sent_by_the_other_in_groups_of_a_window)
{
    const struct send_queue *queue = &pair[1].queue;
    struct fragment last = {0};

    open_pair("send");
    for (uint8_t i = 0; i < 6; i++)
        assert_int_equal(arrive(&pair[0], i == 5 ? 3 : CHUNK, i), 0);
    pair[1].role->fill(&pair[1]);
    struct queue_cursor cursor = queue_begin(queue);
    for (unsigned i = 0; i < WINDOW; i++) {
        struct fragment fragment = queue_next(queue, &cursor);

        assert_int_equal(fragment.data[0], i);
        assert_int_equal(fragment.size, CHUNK);
        assert_int_equal(fragment.marks, i == WINDOW - 1 ? FRAGMENT_ENDS_GROUP : 0);
    }
    assert_int_equal(cursor.span, queue->appended);
    send_all(&pair[1]);
    pair[1].role->fill(&pair[1]);
    cursor = queue_begin(queue);
    for (unsigned i = WINDOW; i < 6; i++)
        last = queue_next(queue, &cursor);
    assert_int_equal(cursor.span, queue->appended);
    assert_int_equal(last.size, 3);
    assert_int_equal(last.marks, FRAGMENT_ENDS_GROUP);
    assert_int_equal(pair[1].groups, 2);
    pair[0].role->fill(&pair[0]);
    assert_int_equal(pair[0].queue.appended, 0);
}

TEST(a_relay_holds_two_windows_and_wants_no_more_until_one_is_released)
{
    open_pair("send");
    for (unsigned i = 0; i < 2 * WINDOW; i++) {
        assert_int_equal(pair[0].role->wants(&pair[0]), CHUNK);
        arrive(&pair[0], 1, 0);
    }
    assert_int_equal(pair[0].role->wants(&pair[0]), 0);
    assert_int_equal(shared.pool.spare_count, 1); /* for unexpected bytes */
    pair[1].role->fill(&pair[1]);
    assert_int_equal(pair[0].role->wants(&pair[0]), 0); /* in the queue, not released */
    send_all(&pair[1]);
    assert_int_equal(pair[0].role->wants(&pair[0]), CHUNK);
    assert_int_equal(shared.pool.spare_count, WINDOW + 1);
    pair[1].role->fill(&pair[1]);
    send_all(&pair[1]);
    assert_int_equal(shared.pool.spare_count, 2 * WINDOW + 1);
}

TEST(a_half_sent_group_releases_its_whole_chunks)
{
    open_pair("send");
    arrive(&pair[0], 1, 0); /* not full: the next chunk is no part of its span */
    arrive(&pair[0], CHUNK, 1);
    pair[1].role->fill(&pair[1]);
    queue_accept(&pair[1].queue, 1 + 3);
    queue_release(&pair[1].queue);
    assert_int_equal(shared.pool.spare_count, 2 * WINDOW);
}

/* The header before the data of a buffer separates two chunks. */
TEST(chunks_behind_headroom_are_spans_of_their_own)
{
    open_pair("send");
    pool_close(&shared.pool);
    assert_int_equal(pool_open(&shared.pool, CHUNK, 16, 2 * WINDOW + 1), 0);
    for (uint8_t i = 0; i < 3; i++)
        assert_int_equal(arrive(&pair[0], CHUNK, i), 0);
    pair[1].role->fill(&pair[1]);
    assert_int_equal(pair[1].queue.appended, 3);
    for (uint8_t i = 0; i < 3; i++)
        assert_int_equal(pair[1].queue.ring[i].data[CHUNK - 1], i);
}

TEST(a_relay_is_over_at_the_announced_byte_when_all_is_forwarded)
{
    open_pair("send");
    atomic_store(&pair[0].stop, 2 * CHUNK + 1);
    arrive(&pair[0], CHUNK, 0);
    assert_false(role_is_over(&pair[0]) || role_is_over(&pair[1]));
    arrive(&pair[0], CHUNK, 0);
    assert_int_equal(pair[0].role->wants(&pair[0]), 0);
    assert_true(role_is_over(&pair[0]));
    assert_false(role_is_over(&pair[1]));
    pair[1].role->fill(&pair[1]);
    send_all(&pair[1]);
    assert_true(role_is_over(&pair[1]));
}

TEST(a_relay_of_both_directions_is_over_when_both_have_ended)
{
    open_pair("both");
    assert_true(pair[0].drives && pair[0].follows && pair[1].drives && pair[1].follows);
    arrive(&pair[1], CHUNK, 9);
    pair[1].state = STATE_HALF_CLOSED_REMOTE;
    assert_false(role_is_over(&pair[1]));
    pair[0].state = STATE_HALF_CLOSED_REMOTE;
    assert_true(role_is_over(&pair[1]));
    assert_false(role_is_over(&pair[0]));
    pair[0].role->fill(&pair[0]);
    assert_int_equal(pair[0].queue.ring[0].data[0], 9);
    send_all(&pair[0]);
    assert_true(role_is_over(&pair[0]));
}

TEST(a_proxy_follows_the_driver_and_drives_the_follower)
{
    open_pair("send");
    assert_true(pair[0].follows && !pair[0].drives && pair[1].drives && !pair[1].follows);
    close_pair();
    open_pair("receive");
    assert_true(pair[1].follows && !pair[1].drives && pair[0].drives && !pair[0].follows);
}

TEST(bytes_from_the_sink_are_an_error)
{
    open_pair("send");
    assert_int_equal(arrive(&pair[1], 1, 0), -EBADMSG);
    assert_problem(&shared.problem, PROBLEM_FAILURE, "came from the end that only receives");
}

/* A strategy that copies has room for the longest group. */
TEST(the_longest_group_of_a_proxy_is_a_window_of_chunks)
{
    open_pair("send");
    assert_int_equal(plan_longest_group(&plan, END_PROXY), WINDOW * CHUNK);
    assert_int_equal(plan_longest_group(&plan, END_CLIENT), 64 << 10);
    assert_string_equal(plan_strategy(&plan, END_CLIENT)->strategy->variant.name, "coalesce");
    assert_string_equal(plan_strategy(&plan, END_PROXY)->strategy->variant.name, "nodelay");
    assert_int_equal(plan.ends[END_SERVER].chunk_bytes, 64 << 10);
    assert_int_equal(plan.ends[END_PROXY].chunk_bytes, CHUNK);
    assert_int_equal(plan_window(&plan, END_CLIENT), 1);
}
