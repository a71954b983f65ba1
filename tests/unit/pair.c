/* SPDX-License-Identifier: MIT */
#include "pair.h"

#include "connection/strategy.h"
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

static void parse(struct plan *plan, const char *transport, const char *write, const char *message)
{
    unit_parse(plan, WORDS("workload=stream", "verify=on", "sndbuf=4K", "rcvbuf=4K",
                           unit_text("transport=%s", transport), unit_text("write=%s", write),
                           unit_text("message=%s", message)));
    /* with zerocopy each fragment arrives on a page of its own, and TCP drops what does not fit */
    if (plan->write.strategy->zerocopy)
        plan->ends[END_SERVER].rcvbuf_bytes = 0;
}

/* As client and server do: sets the buffers before connect(2) negotiates the window. */
static void connect_over_loopback(struct pair *pair, int fds[2], struct problem *problem)
{
    const struct transport *transport = pair->plan.transport;
    struct address control = {.storage.ss_family = AF_UNIX}, address;

    assert_int_equal(transport->data_address(&address, &control, NULL), 0);
    int listener = transport_socket(&pair->plan, END_SERVER, &address, problem);
    listener = address_listen(listener, &address, problem);
    fds[0] = transport_socket(&pair->plan, END_CLIENT, &address, problem);
    assert_int_equal(address_connect(fds[0], &address, 1000, problem), 0);
    fds[1] = accept(listener, NULL, NULL);
    assert_true(fds[1] >= 0);
    close(listener);
    address_unlink(&address);
}

static void prepare(struct pair *pair, enum end end, int fd)
{
    assert_accepted(transport_prepare(&pair->plan, end, fd, &unit_problem));
    assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

void pair_open(struct pair *pair, const char *transport, const char *write, const char *message)
{
    int fds[2];

    memset(pair, 0, sizeof *pair);
    parse(&pair->plan, transport, write, message);
    connect_over_loopback(pair, fds, &unit_problem);
    prepare(pair, END_CLIENT, fds[0]);
    prepare(pair, END_SERVER, fds[1]);
    pair->other = fds[1];
    unit_open(&pair->plan, &pair->shared, &pair->connection, END_CLIENT, fds[0]);
}

void pair_close(struct pair *pair)
{
    if (pair->connection.calls.fd >= 0) /* a stream has closed it */
        close(pair->connection.calls.fd);
    close(pair->other);
    unit_close(&pair->plan, &pair->shared, &pair->connection);
}

size_t pair_read(struct pair *pair, size_t limit)
{
    static uint8_t buffer[65536];
    size_t sum = 0;

    while (sum < limit) {
        size_t part = limit - sum < sizeof buffer ? limit - sum : sizeof buffer;
        ssize_t size = recv(pair->other, buffer, part, 0);

        if (size < 0 && errno == EAGAIN)
            break;
        assert_true(size > 0);
        assert_int_equal(pattern_compare(buffer, (size_t)size, pair->received), size);
        pair->received += (uint64_t)size;
        sum += (size_t)size;
    }
    return sum;
}
