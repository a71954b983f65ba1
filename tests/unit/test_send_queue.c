/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "connection/send_queue.h"

#define GROUP FRAGMENT_ENDS_GROUP
#define MESSAGE (FRAGMENT_ENDS_GROUP | FRAGMENT_ENDS_MESSAGE)

static const uint8_t memory[4096];

static struct send_queue queue;

static void open_queue(size_t capacity)
{
    assert_int_equal(queue_open(&queue, capacity), 0);
}

static void close_queue(void)
{
    queue_close(&queue);
}

struct unit_fixture unit_fixture = {.after = close_queue};

static void append(size_t offset, uint32_t size, uint32_t marks)
{
    assert_true(queue_has_room(&queue, 1));
    *queue_append(&queue) = (struct span){.data = memory + offset, .size = size, .marks = marks};
}

static void append_three(void)
{
    append(0, 10, 0);
    append(10, 20, GROUP);
    append(30, 5, MESSAGE);
}

/* The fragments, or spans, of which so much is accepted; bytes of the next one. */
static void accept(size_t bytes, uint64_t accepted, size_t offset)
{
    queue_accept(&queue, bytes);
    assert_int_equal(queue.accepted, accepted);
    assert_int_equal(queue.offset, offset);
}

static void assert_flushed(uint64_t spans, uint64_t bytes, uint64_t messages)
{
    assert_int_equal(queue.flushed, spans);
    assert_int_equal(queue.flushed_bytes, bytes);
    assert_int_equal(queue.flushed_messages, messages);
}

static struct fragment head(void)
{
    struct queue_cursor cursor = queue_begin(&queue);

    return queue_next(&queue, &cursor);
}

TEST(a_queue_has_room_for_what_was_asked_and_no_more_than_its_ring)
{
    open_queue(5);
    assert_true(queue_is_idle(&queue));
    assert_true(queue_is_accepted(&queue));
    assert_true(queue_has_room(&queue, 8));
    assert_false(queue_has_room(&queue, 9));
    for (int i = 0; i < 8; i++)
        append(0, 1, GROUP);
    assert_false(queue_has_room(&queue, 1));
    assert_false(queue_is_idle(&queue));
}

TEST(bytes_are_accepted_across_fragments)
{
    open_queue(4);
    append_three();
    accept(4, 0, 4);
    accept(6, 1, 0);
    accept(24, 2, 4);
    assert_ptr_equal(head().data, memory + 34);
    queue_accept(&queue, 1);
    assert_true(queue_is_accepted(&queue));
    assert_int_equal(queue.accepted_bytes, 35);
    assert_int_equal(queue.accepted_messages, 1);
    accept(0, 3, 0);
}

TEST(a_message_counts_as_accepted_with_its_last_byte)
{
    static const size_t parts[] = {1, 4, 1};

    open_queue(4);
    append(0, 2, MESSAGE);
    append(2, 2, GROUP);
    append(4, 2, MESSAGE);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        queue_accept(&queue, parts[i]);
        assert_int_equal(queue.accepted_messages, i);
    }
}

TEST(accepted_flushed_and_released_are_three_facts)
{
    open_queue(2);
    append(0, 2, GROUP);
    append(2, 2, MESSAGE);
    queue_accept(&queue, 4);
    assert_flushed(0, 0, 0);
    assert_int_equal(queue.released, 0);
    assert_false(queue_is_idle(&queue));
    assert_false(queue_has_room(&queue, 1));
    queue_release_to(&queue, 1);
    assert_int_equal(queue.released, 1);
    assert_false(queue_is_idle(&queue));
    assert_true(queue_has_room(&queue, 1));
    queue_flush(&queue);
    assert_flushed(2, 4, 1);
    assert_int_equal(queue.released, 1);
    assert_true(queue_is_idle(&queue));
    queue_release(&queue);
    assert_int_equal(queue.released, 2);
}

TEST(a_flush_covers_only_what_was_accepted)
{
    open_queue(2);
    append(0, 2, GROUP);
    append(2, 2, MESSAGE);
    queue_accept(&queue, 2);
    queue_flush(&queue);
    assert_flushed(1, 2, 0);
    assert_false(queue_is_idle(&queue));
}

static void accept_to(size_t bytes, bool at_group_end)
{
    queue_accept(&queue, bytes);
    assert_int_equal(queue_at_group_end(&queue), at_group_end);
}

TEST(a_group_end_is_reached_with_its_last_byte_and_left_by_the_flush)
{
    open_queue(4);
    assert_false(queue_at_group_end(&queue));
    append(0, 2, 0);
    append(2, 2, GROUP);
    append(4, 2, MESSAGE);
    assert_false(queue_at_group_end(&queue));
    accept_to(2, false); /* between two fragments of the group */
    accept_to(1, false);
    accept_to(1, true);
    queue_flush(&queue);
    assert_false(queue_at_group_end(&queue));
    accept_to(1, false);
}

static struct owner {
    const uint8_t *released[64];
    size_t count;
} owner;

static void on_release(void *context, const struct span *span)
{
    assert_ptr_equal(context, &owner);
    owner.released[owner.count++] = span->data;
}

static void open_owned_queue(void)
{
    open_queue(4);
    owner.count = 0;
    queue.on_release = on_release;
    queue.owner = &owner;
}

TEST(the_owner_is_notified_of_each_released_span_once_and_in_order)
{
    open_owned_queue();
    for (size_t i = 0; i < 40; i += 4) {
        for (size_t j = 0; j < 4; j++)
            append(i + j, 1, GROUP);
        queue_accept(&queue, 3);
        queue_release(&queue);
        assert_int_equal(owner.count, i + 3);
        queue_release(&queue);
        assert_int_equal(owner.count, i + 3);
        queue_accept(&queue, 1);
        queue_release_to(&queue, queue.accepted);
    }
    assert_int_equal(owner.count, 40);
    for (size_t i = 0; i < owner.count; i++)
        assert_ptr_equal(owner.released[i], memory + i);
}

TEST(a_partly_accepted_fragment_is_not_released)
{
    open_owned_queue();
    append(0, 10, MESSAGE);
    queue_accept(&queue, 9);
    queue_release(&queue);
    assert_int_equal(owner.count, 0);
    queue_accept(&queue, 1);
    queue_release(&queue);
    assert_int_equal(owner.count, 1);
}

static struct iovec vectors[8];

/* Gathers `count` vectors of at most `most`. */
static void gather(int most, int count, size_t bytes, bool complete)
{
    struct queue_group group = queue_gather(&queue, vectors, most);

    assert_int_equal(group.count, count);
    assert_int_equal(group.bytes, bytes);
    assert_int_equal(group.complete, complete);
}

TEST(gathering_never_crosses_the_end_of_a_group)
{
    open_queue(8);
    append_three();
    gather(8, 2, 30, true);
    assert_int_equal(queue_group_bytes(&queue), 30);
    queue_accept(&queue, 30);
    gather(8, 1, 5, true);
    assert_ptr_equal(vectors[0].iov_base, memory + 30);
    queue_accept(&queue, 5);
    gather(8, 0, 0, false);
    assert_int_equal(queue_group_bytes(&queue), 0);
}

TEST(gathering_begins_behind_the_accepted_bytes)
{
    open_queue(4);
    append(0, 10, 0);
    append(10, 20, 0);
    append(30, 5, MESSAGE);
    queue_accept(&queue, 13);
    gather(4, 2, 22, true);
    assert_ptr_equal(vectors[0].iov_base, memory + 13);
    assert_int_equal(vectors[0].iov_len, 17);
    assert_int_equal(queue_group_bytes(&queue), 22);
}

TEST(a_group_longer_than_the_vectors_is_gathered_incomplete)
{
    open_queue(4);
    for (size_t i = 0; i < 3; i++)
        append(i, 1, i == 2 ? MESSAGE : 0);
    gather(2, 2, 2, false);
    queue_accept(&queue, 2);
    gather(2, 1, 1, true);
}

TEST(a_cursor_takes_the_fragments_of_a_span_one_by_one)
{
    open_queue(4);
    *queue_append(&queue) = (struct span){memory, 25, MESSAGE | SPAN_OF_MANY, 10, false};
    assert_false(queue_has_room(&queue, 4));
    struct queue_cursor cursor = queue_begin(&queue);
    for (uint32_t i = 0; i < 3; i++) {
        struct fragment fragment = queue_next(&queue, &cursor);

        assert_ptr_equal(fragment.data, memory + 10 * i);
        assert_int_equal(fragment.size, i == 2 ? 5 : 10);
        assert_int_equal(fragment.marks, i == 2 ? MESSAGE : 0);
    }
    assert_int_equal(cursor.span, queue.appended);
    queue_accept(&queue, 13);
    assert_ptr_equal(head().data, memory + 13);
    assert_int_equal(head().size, 7);
    gather(4, 2, 12, true);
    assert_int_equal(queue_group_bytes(&queue), 12);
    queue_accept(&queue, 12);
    assert_int_equal(queue.accepted_fragments, 3);
    assert_int_equal(queue.accepted_messages, 1);
}

TEST(the_fragments_of_a_span_that_repeats_share_one_memory)
{
    open_queue(1);
    *queue_append(&queue) = (struct span){memory, 30, MESSAGE | SPAN_OF_MANY, 10, true};
    queue_accept(&queue, 12);
    gather(4, 2, 18, true);
    assert_ptr_equal(vectors[0].iov_base, memory + 2);
    assert_ptr_equal(vectors[1].iov_base, memory);
}

/* The position in one long stream, which the pointers of the queue must follow. */
TEST(a_queue_that_wraps_around_keeps_every_byte_in_order)
{
    static uint8_t stream[1 << 20];
    struct dice dice = {.state = 3};
    size_t appended = 0, taken = 0;

    open_queue(7);
    while (appended < sizeof stream - 64) {
        while (queue_has_room(&queue, 1) && appended < sizeof stream - 64 && dice_roll(&dice, 4)) {
            uint32_t size = 1 + (uint32_t)dice_roll(&dice, 50);
            uint32_t fragment = 1 + (uint32_t)dice_roll(&dice, size);

            *queue_append(&queue) = (struct span){.data = stream + appended,
                                                  .size = size,
                                                  .marks = SPAN_OF_MANY | (dice_roll(&dice, 3) ? 0 : MESSAGE),
                                                  .fragment = fragment};
            appended += size;
        }
        struct queue_group group = queue_gather(&queue, vectors, 8);
        for (size_t i = 0, at = taken; i < (size_t)group.count; at += vectors[i++].iov_len)
            assert_ptr_equal(vectors[i].iov_base, stream + at);
        group.bytes = group.bytes ? dice_roll(&dice, group.bytes + 1) : 0;
        queue_accept(&queue, group.bytes);
        taken += group.bytes;
        assert_int_equal(queue.accepted_bytes, taken);
        queue_release(&queue);
    }
    assert_true(queue.accepted > 10000);
}
