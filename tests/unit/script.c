/* SPDX-License-Identifier: MIT */
#include "script.h"
#include "unit.h"

#include "connection/strategy.h"

static struct script script;

/* The result of a call that sends `size` bytes: bytes accepted, or -1 with errno. */
static ssize_t answer(size_t size)
{
    /* bytes that are held back never count as sent */
    assert_true(script.connection.queue.flushed_bytes <= script.transmitted);
    if (script.made++ == script.odd + 1 && script.blocks_after) {
        errno = EAGAIN;
        return -1;
    }
    if (script.made - 1 != script.odd || !script.odd_answer)
        return (ssize_t)size;
    script.odd_reached = true;
    if (script.odd_answer < 0) {
        errno = (int)-script.odd_answer;
        return -1;
    }
    return script.odd_answer < (ssize_t)size ? script.odd_answer : (ssize_t)size;
}

static void remember(enum call_kind kind, int flags, int value, size_t asked)
{
    struct scripted_call *call = &script.calls[script.count++];

    assert_true(script.count <= SCRIPT_CALLS_MAX);
    call->kind = kind; /* each member by itself: tests compare the padding too, which is zero */
    call->flags = flags & ~MSG_NOSIGNAL;
    call->value = value;
    call->asked = asked;
    call->position = script.sent;
}

static void take(const void *data, size_t size)
{
    assert_int_equal(pattern_compare(data, size, script.sent), size);
    script.sent += size;
}

/* A partial send has filled the socket buffer, and Linux soon transmits a full buffer. This kernel
 * holds it back, so that no strategy relies on that. */
static void transmit(int flags, bool whole)
{
    if (whole && !script.corked && !(flags & MSG_MORE))
        script.transmitted = script.sent;
}

static ssize_t scripted_send(int fd, const void *data, size_t size, int flags)
{
    ssize_t sent = answer(size);

    if (sent < 0)
        return -1;
    remember(CALL_SENDTO, flags, 0, size);
    take(data, (size_t)sent);
    transmit(flags, (size_t)sent == size);
    return sent;
}

static ssize_t scripted_sendmsg(int fd, const struct msghdr *message, int flags)
{
    size_t size = 0;
    ssize_t sent;

    for (size_t i = 0; i < (size_t)message->msg_iovlen; i++)
        size += message->msg_iov[i].iov_len;
    if ((sent = answer(size)) < 0)
        return -1;
    remember(CALL_SENDMSG, flags, 0, size);
    size_t left = (size_t)sent;
    for (size_t i = 0; left; i++) {
        size_t part = message->msg_iov[i].iov_len < left ? message->msg_iov[i].iov_len : left;

        take(message->msg_iov[i].iov_base, part);
        left -= part;
    }
    transmit(flags, (size_t)sent == size);
    return sent;
}

static ssize_t scripted_sendfile(int fd, int file, off_t offset, size_t size)
{
    ssize_t sent = answer(size);

    if (sent < 0)
        return -1;
    assert_int_equal(file, script.shared.source.memory.file);
    remember(CALL_SENDFILE, 0, 0, size);
    take(script.shared.source.memory.bytes + offset, (size_t)sent);
    transmit(0, (size_t)sent == size);
    return sent;
}

/* Returns all lent memory at each call. */
static int scripted_take_notification(int fd, struct zerocopy_notification *notification)
{
    *notification = (struct zerocopy_notification){.first = 0, .last = UINT32_MAX};
    return 0;
}

static ssize_t scripted_recv(int fd, void *data, size_t size, int flags)
{
    fail_msg("a strategy received something");
    return -1;
}

static int scripted_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    assert_int_equal(size, sizeof(int));
    if (answer(1) < 0)
        return -1;
    script.corked = *(const int *)value;
    remember(CALL_SETSOCKOPT, 0, script.corked, 0);
    transmit(0, true);
    return 0;
}

static const struct call_table scripted_calls = {
    .send = scripted_send,
    .sendmsg = scripted_sendmsg,
    .sendfile = scripted_sendfile,
    .take_notification = scripted_take_notification,
    .recv = scripted_recv,
    .setsockopt = scripted_setsockopt,
};

struct script *script_open(const char *write, const char *message, size_t odd, ssize_t odd_answer)
{
    memset(&script, 0, sizeof script);
    unit_parse(&script.plan, WORDS("transport=null", "workload=stream", "verify=on",
                                   unit_text("write=%s", write), unit_text("message=%s", message)));
    unit_open(&script.plan, &script.shared, &script.connection, END_CLIENT, 0);
    script.connection.calls.table = &scripted_calls;
    script.odd = odd;
    script.odd_answer = odd_answer;
    return &script;
}

void script_close(struct script *opened)
{
    unit_close(&opened->plan, &opened->shared, &opened->connection);
}

void script_reclaim(struct script *opened)
{
    struct connection *connection = &opened->connection;

    if (connection->strategy->zerocopy &&
        opened->connection.queue.released != opened->connection.queue.appended)
        assert_int_equal(socket_reclaim(connection), 1);
}

int script_push(struct script *opened)
{
    const struct send_queue *queue = &opened->connection.queue;
    int result = strategy_push(&opened->connection);

    assert_true(queue->flushed <= queue->accepted && queue->accepted <= queue->appended);
    assert_true(queue->released <= queue->accepted);
    assert_true(queue->flushed_bytes <= queue->accepted_bytes);
    assert_true(queue->flushed_messages <= queue->accepted_messages);
    assert_true(opened->sent <= queue->accepted_bytes);
    assert_true(queue->flushed_bytes <= opened->transmitted);
    assert_true((result == 0) == queue_is_idle(queue));
    return result;
}
