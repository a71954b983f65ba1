/* SPDX-License-Identifier: MIT */
/* write=zerocopy over a kernel that reads lent memory as late as it may: when it returns it.
 * Released memory is poisoned, so that a strategy that releases too early sends poison. */
#include "unit.h"

#include "connection/strategy.h"

#define POISON 0xee
#define SENDS_MOST 64u     /* a power of two, more than may lend at once */
#define VECTORS_MOST 1024u /* IOV_MAX */

/* ---- the kernel ---- */

struct late_send {
    struct iovec vectors[VECTORS_MOST];
    int count;
    size_t position; /* in the stream */
    bool done;
};

static struct kernel {
    struct dice dice;
    struct late_send sends[SENDS_MOST]; /* by number */
    uint32_t begun, returned;           /* numbers of sends; all before `returned` have returned */
    size_t position, read;              /* bytes that were sent; that were read */
    uint32_t notes;                     /* the most outstanding notifications; ENOBUFS beyond */
    unsigned full, out_of_notes;        /* number of these errors */
    size_t ranges, spans;               /* notifications; those of more than one send */
} kernel;

static struct late_send *send_of(uint32_t number)
{
    return &kernel.sends[number % SENDS_MOST];
}

static ssize_t refuse(int error)
{
    errno = error;
    return -1;
}

/* Records the memory, up to `most` bytes, and reads none of it. */
static ssize_t note_vectors(struct late_send *send, const struct msghdr *message, size_t most)
{
    size_t taken = 0;

    *send = (struct late_send){.position = kernel.position};
    for (size_t i = 0; i < message->msg_iovlen && taken < most; i++) {
        struct iovec part = message->msg_iov[i];

        if (part.iov_len > most - taken)
            part.iov_len = most - taken;
        send->vectors[send->count++] = part;
        taken += part.iov_len;
    }
    kernel.position += taken;
    return (ssize_t)taken;
}

static ssize_t late_sendmsg(int fd, const struct msghdr *message, int flags)
{
    size_t most = dice_roll(&kernel.dice, 3) ? SIZE_MAX : 1 + dice_roll(&kernel.dice, 3000);

    assert_true(flags & zerocopy_flag);
    if (kernel.begun - kernel.returned >= kernel.notes) {
        kernel.out_of_notes++;
        return refuse(ENOBUFS);
    }
    if (dice_roll(&kernel.dice, 5) == 0) {
        kernel.full++;
        return refuse(EAGAIN);
    }
    return note_vectors(send_of(kernel.begun++), message, most);
}

/* Reads the memory, and only now. */
static void transmit(struct late_send *send)
{
    size_t position = send->position;

    assert_false(send->done);
    for (int i = 0; i < send->count; i++) {
        const struct iovec *part = &send->vectors[i];

        assert_int_equal(pattern_compare(part->iov_base, part->iov_len, position), part->iov_len);
        position += part->iov_len;
        kernel.read += part->iov_len;
    }
    send->done = true;
}

/* Returns a range of sends in flight: a random one, and some of those that follow it. */
static int late_take_notification(int fd, struct zerocopy_notification *notification)
{
    uint32_t under_way = kernel.begun - kernel.returned, last;

    if (!under_way || dice_roll(&kernel.dice, 2))
        return (int)refuse(EAGAIN);
    uint32_t first = kernel.returned + (uint32_t)dice_roll(&kernel.dice, under_way);
    while (send_of(first)->done)
        first = kernel.returned + (first + 1 - kernel.returned) % under_way;
    for (last = first; last + 1 != kernel.begun && !send_of(last + 1)->done && dice_roll(&kernel.dice, 3);)
        last++;
    for (uint32_t number = first; number != last + 1; number++)
        transmit(send_of(number));
    while (kernel.returned != kernel.begun && send_of(kernel.returned)->done)
        kernel.returned++;
    kernel.ranges++;
    kernel.spans += first != last;
    *notification = (struct zerocopy_notification){.first = first, .last = last, .copied = first % 2};
    return 0;
}

static const struct call_table late_calls = {.sendmsg = late_sendmsg,
                                             .take_notification = late_take_notification};

/* ---- the sender ---- */

static struct plan plan;
static struct thread_shared shared;
static struct connection connection;
static size_t appended_bytes;

static void poison(void *owner, const struct span *span)
{
    memset((void *)(uintptr_t)span->data, POISON, span->size);
    free((void *)(uintptr_t)span->data);
}

/* Memory of its own for each fragment. */
static void append_group(uint32_t fragments, size_t longest)
{
    for (uint32_t i = 0; i < fragments; i++) {
        uint32_t size = 1 + (uint32_t)dice_roll(&kernel.dice, longest);
        uint8_t *data = malloc(size);

        assert_non_null(data);
        pattern_fill(data, size, appended_bytes);
        appended_bytes += size;
        *queue_append(&connection.queue) =
            (struct span){.data = data,
                          .size = size,
                          .marks = i + 1 == fragments ? FRAGMENT_ENDS_GROUP | FRAGMENT_ENDS_MESSAGE : 0};
    }
}

static void close_late(void)
{
    unit_close(&plan, &shared, &connection);
}

struct unit_fixture unit_fixture = {.after = close_late};

/* Numbers begin at `first`. */
static void open_late(uint32_t first, uint64_t seed)
{
    close_late();
    unit_parse(&plan, WORDS("transport=null", "workload=stream", "message=3000x4K", "write=zerocopy"));
    unit_open(&plan, &shared, &connection, END_CLIENT, 0);
    connection.calls.table = &late_calls;
    connection.queue.on_release = poison;
    *connection.loans = (struct loans){.sends = first, .returned = first};
    memset(&kernel, 0, sizeof kernel);
    kernel.dice.state = seed;
    kernel.notes = seed % 2 ? 12 : SENDS_MOST;
    kernel.begun = kernel.returned = first;
    appended_bytes = 0;
}

static void check_queue(void)
{
    const struct send_queue *queue = &connection.queue;

    assert_true(queue->flushed <= queue->accepted && queue->released <= queue->accepted);
    assert_true(queue->appended - queue->released <= queue->mask + 1);
}

/* Pushes until everything is flushed; memory comes back at random. */
static void push_all(void)
{
    int result, turn = 0;

    while ((result = strategy_push(&connection)) != 0) {
        assert_true(turn++ < 100000);
        assert_true(result == -EAGAIN || result == -EINPROGRESS);
        check_queue();
        assert_in_range(socket_reclaim(&connection), 0, 1);
        check_queue();
    }
    assert_true(queue_is_idle(&connection.queue));
}

static void reclaim_all(void)
{
    for (int turn = 0; connection.queue.released != connection.queue.appended; turn++) {
        assert_true(turn < 100000);
        assert_in_range(socket_reclaim(&connection), 0, 1);
    }
    assert_int_equal(kernel.read, appended_bytes);
    assert_int_equal(kernel.returned, kernel.begun);
}

static void send_groups(int count, uint32_t most_fragments, size_t longest)
{
    for (int i = 0; i < count; i++) {
        append_group(1 + (uint32_t)dice_roll(&kernel.dice, most_fragments), longest);
        push_all();
    }
    reclaim_all();
}

/* ---- the tests ---- */

TEST(memory_is_released_only_when_the_kernel_has_returned_it)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        open_late(0, seed);
        send_groups(100, 4, 2000);
        send_groups(3, 2500, 3);
        assert_true(kernel.full && (seed % 2 == 0 || kernel.out_of_notes));
        assert_true(kernel.spans && kernel.spans < kernel.ranges);
        assert_int_equal(connection.queue.flushed_messages, 103);
    }
}

TEST(numbers_of_sends_wrap_at_2_to_the_32)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        open_late(UINT32_MAX - 40, seed);
        send_groups(100, 3, 500);
        assert_true(kernel.returned < 1000); /* they have wrapped */
    }
}

TEST(every_send_that_lent_is_counted_once_and_the_copied_ones_as_well)
{
    const struct call_counts *counts = &connection.calls.counts;

    open_late(0, 3);
    send_groups(200, 2, 1000);
    assert_int_equal(counts->lent, kernel.begun);
    assert_in_range(counts->copied, 1, counts->lent - 1);
    assert_int_equal(counts->made[CALL_SENDMSG], kernel.begun + kernel.full + kernel.out_of_notes);
}

TEST(a_kernel_without_memory_for_any_notification_is_an_error)
{
    open_late(0, 5);
    append_group(2, 10);
    kernel.notes = 0;
    assert_int_equal(strategy_push(&connection), -ENOBUFS);
    kernel.notes = SENDS_MOST;
    push_all();
    reclaim_all();
}

TEST(a_new_descriptor_numbers_its_sends_from_0)
{
    open_late(0, 7);
    send_groups(20, 3, 100);
    connection_restart_loans(&connection);
    kernel.begun = kernel.returned = 0;
    send_groups(20, 3, 100);
}

TEST(no_notification_is_read_while_nothing_is_lent)
{
    open_late(0, 9);
    assert_int_equal(socket_reclaim(&connection), 0);
    assert_int_equal(connection.calls.counts.made[CALL_RECVMSG], 0);
}
