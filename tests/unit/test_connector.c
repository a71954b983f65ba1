/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "net/connector.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <unistd.h>

static uv_loop_t loop;
static struct connector connector;
static struct address address; /* where a test listens, or not */
static int connected, done_count, closed_count;
static struct problem reasons;

/* ---- a resolver whose only name has several addresses ---- */

static struct addrinfo found[3];
static struct sockaddr_in addresses[3];
static unsigned lookup_s;

/* In place of the functions of the C library. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **result)
{
    struct in_addr numeric;
    size_t count = !strcmp(host, "several") ? COUNT_OF(found) : inet_pton(AF_INET, host, &numeric) == 1;

    sleep(lookup_s);
    for (size_t i = 0; i < count; i++) {
        addresses[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
        addresses[i].sin_addr.s_addr = /* 127.0.0.2 to 127.0.0.4, or as written */
            count == 1 ? numeric.s_addr : htonl(INADDR_LOOPBACK + 1 + (uint32_t)i);
        found[i] = (struct addrinfo){.ai_addr = (struct sockaddr *)&addresses[i],
                                     .ai_addrlen = sizeof addresses[i],
                                     .ai_next = i + 1 < count ? &found[i + 1] : NULL};
    }
    *result = found;
    return count ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *list)
{
}

/* ---- a loop that cannot watch one more descriptor ---- */

static int watch_error; /* of libuv; 0: the loop watches */
int __real_uv_poll_init(uv_loop_t *events, uv_poll_t *poll, int fd);
int __wrap_uv_poll_init(uv_loop_t *events, uv_poll_t *poll, int fd);

int __wrap_uv_poll_init(uv_loop_t *events, uv_poll_t *poll, int fd)
{
    return watch_error ? watch_error : __real_uv_poll_init(events, poll, fd);
}

/* ---- the connector ---- */

static void on_done(void *owner, int fd, const struct problem *problem)
{
    done_count++;
    connected = fd;
    reasons = *problem;
}

static void on_closed(void *owner)
{
    closed_count++;
}

static void before(void)
{
    connected = -1;
    done_count = closed_count = 0;
    lookup_s = 0;
    watch_error = 0;
    uv_loop_init(&loop);
    connector = (struct connector){.done = on_done, .closed = on_closed};
    connector_open(&connector, &loop);
}

static void after(void)
{
    connector_close(&connector);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(closed_count, 1);
    assert_int_equal(uv_loop_close(&loop), 0);
    if (connected >= 0)
        close(connected);
}

struct unit_fixture unit_fixture = {.before = before, .after = after};

static void await(void)
{
    while (!done_count)
        uv_run(&loop, UV_RUN_ONCE);
}

static void find(const char *name)
{
    connector_find(&connector, name, 1000);
    await();
}

TEST(the_next_address_of_a_name_is_tried_if_one_refuses)
{
    int listener = unit_listen(&address, "127.0.0.3:0");

    find(unit_text("several:%d", address_port(&address)));
    assert_true(connected >= 0);
    assert_int_equal(connector.at, 1);
    close(listener);
}

TEST(a_failure_names_every_address_that_was_tried)
{
    close(unit_listen(&address, "127.0.0.2:0")); /* no socket listens on this port now */
    find(unit_text("several:%d", address_port(&address)));
    assert_int_equal(connected, -1);
    assert_non_null(strstr(reasons.text, "127.0.0.2"));
    assert_non_null(strstr(reasons.text, "127.0.0.4"));
    assert_non_null(strstr(reasons.text, "refused"));
}

TEST(a_name_without_an_address_is_a_failure)
{
    find("nowhere:1");
    assert_int_equal(connected, -1);
    assert_problem(&reasons, PROBLEM_FAILURE, "cannot look up nowhere");
}

static int refuse(void *owner, const struct address *at, struct problem *problem)
{
    return problem_usage(problem, "not there");
}

TEST(an_address_that_its_owner_refuses_is_not_connected_to)
{
    connector.check = refuse;
    find("several:1");
    assert_int_equal(connected, -1);
    assert_problem(&reasons, PROBLEM_USAGE, "not there");
}

TEST(a_persistent_connector_tries_until_somebody_listens)
{
    close(unit_listen(&address, "127.0.0.1:0"));
    connector_begin(&connector, &address, 1000, true);
    for (int turn = 0; turn < 20; turn++)
        uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(done_count, 0);
    int unused = address_listen(-1, &address, &reasons);
    await();
    assert_true(connected >= 0);
    close(unused);
}

TEST(an_attempt_without_an_answer_ends_after_its_time)
{
    CLEANUP_CLOSE int listener = unit_listen(&address, "127.0.0.1:0");
    int queued[3];

    listen(listener, 0);
    for (size_t i = 0; i < COUNT_OF(queued); i++) { /* the backlog is full */
        queued[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(queued[i], &address.any, address.size);
    }
    connector_begin(&connector, &address, 100, false);
    await();
    assert_int_equal(connected, -1);
    assert_non_null(strstr(reasons.text, "timed out"));
    for (size_t i = 0; i < COUNT_OF(queued); i++)
        close(queued[i]);
}

TEST(a_loop_that_cannot_watch_the_socket_is_the_reason_of_the_failure)
{
    int listener = unit_listen(&address, "127.0.0.1:0");

    watch_error = UV_ENOMEM;
    connector_begin(&connector, &address, 1000, false);
    await();
    assert_int_equal(connected, -1);
    assert_non_null(strstr(reasons.text, strerror(ENOMEM)));
    close(listener);
}

TEST(a_connector_can_be_closed_in_an_attempt_and_in_a_lookup)
{
    lookup_s = 1;
    connector_find(&connector, "several:1", 1000);
    uv_run(&loop, UV_RUN_NOWAIT);
}

static void on_tick(uv_timer_t *timer)
{
    (*(int *)timer->data)++;
}

TEST(the_loop_goes_on_while_a_name_is_looked_up)
{
    uv_timer_t timer;
    int ticks = 0;

    lookup_s = 1;
    uv_timer_init(&loop, &timer);
    timer.data = &ticks;
    uv_timer_start(&timer, on_tick, 10, 10);
    find("nowhere:1");
    assert_true(ticks > 5);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_NOWAIT);
}
