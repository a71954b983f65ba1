/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "measure/tcp_info.h"
#include "net/address.h"

#include <unistd.h>

#define BIT(figure) (1u << (figure))

static json_int_t value_of(const json_t *info, const char *figure, const char *key)
{
    const json_t *value = json_object_get(json_object_get(info, figure), key);

    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

TEST(a_counter_is_summed_up_as_differences_over_the_connections)
{
    struct tcp_reading before[3] = {{0}}, after[3] = {{0}};
    static const uint64_t counts[] = {70, 10, 40};
    CLEANUP_JSON json_t *info = NULL;

    for (size_t i = 0; i < 3; i++) {
        after[i].known = BIT(TCP_SEGS_OUT);
        before[i].figures[TCP_SEGS_OUT] = 1000 * i;
        after[i].figures[TCP_SEGS_OUT] = 1000 * i + counts[i];
    }
    info = tcp_info_to_json(before, after, 3);
    assert_int_equal(json_object_size(info), 1);
    assert_int_equal(value_of(info, "segs_out", "sum"), 120);
    assert_int_equal(value_of(info, "segs_out", "min"), 10);
    assert_int_equal(value_of(info, "segs_out", "median"), 40);
    assert_int_equal(value_of(info, "segs_out", "max"), 70);
}

static void assert_figure(enum tcp_figure figure, uint64_t before, uint64_t after, const char *key,
                          json_int_t expected)
{
    struct tcp_reading first = {.known = BIT(figure)}, last = first;

    first.figures[figure] = before;
    last.figures[figure] = after;
    CLEANUP_JSON json_t *info = tcp_info_to_json(&first, &last, 1);
    assert_int_equal(value_of(info, key, "sum"), expected);
}

TEST(a_level_is_taken_as_it_stands_at_the_end)
{
    assert_figure(TCP_CWND, 10, 25, "cwnd_segments", 25);
}

static struct tcp_reading sent(uint64_t segments, uint64_t again, uint64_t bytes_again)
{
    return (struct tcp_reading){
        .known = BIT(TCP_DATA_SEGS_OUT) | BIT(TCP_RETRANS_SEGS) | BIT(TCP_BYTES_RETRANS),
        .figures = {
            [TCP_DATA_SEGS_OUT] = segments, [TCP_RETRANS_SEGS] = again, [TCP_BYTES_RETRANS] = bytes_again}};
}

TEST(a_retransmitted_segment_counts_once_and_a_fin_does_not_count)
{
    struct tcp_reading before = sent(10, 1, 50), lost_data = sent(15, 3, 90), lost_fin = sent(15, 3, 50);
    CLEANUP_JSON json_t *data = tcp_info_to_json(&before, &lost_data, 1);
    CLEANUP_JSON json_t *fin = tcp_info_to_json(&before, &lost_fin, 1);

    assert_int_equal(value_of(data, "data_segs_out", "sum"), 3);
    assert_int_equal(value_of(fin, "data_segs_out", "sum"), 5);
    assert_int_equal(value_of(fin, "retrans_segs", "sum"), 2);
}

TEST(a_counter_of_32_bits_may_wrap_once)
{
    assert_figure(TCP_SEGS_IN, UINT32_MAX - 4, 5, "segs_in", 10);
}

TEST(single_connections_are_listed_up_to_sixteen)
{
    struct tcp_reading before[17] = {{0}}, after[17] = {{0}};

    for (size_t i = 0; i < 17; i++) {
        after[i].known = BIT(TCP_DELIVERED);
        after[i].figures[TCP_DELIVERED] = 100 - i;
    }
    CLEANUP_JSON json_t *few = tcp_info_to_json(before, after, 16);
    const json_t *each = json_object_get(json_object_get(few, "delivered"), "each");
    assert_int_equal(json_array_size(each), 16);
    for (size_t i = 0; i < 16; i++) /* by connection, not sorted */
        assert_int_equal(json_integer_value(json_array_get(each, i)), 100 - i);
    CLEANUP_JSON json_t *many = tcp_info_to_json(before, after, 17);
    assert_null(json_object_get(json_object_get(many, "delivered"), "each"));
}

TEST(a_figure_that_one_connection_lacks_is_absent)
{
    struct tcp_reading before[2] = {{0}}, after[2] = {{0}};

    after[0].known = BIT(TCP_SEGS_OUT) | BIT(TCP_RTT);
    after[1].known = BIT(TCP_SEGS_OUT);
    CLEANUP_JSON json_t *info = tcp_info_to_json(before, after, 2);
    assert_non_null(json_object_get(info, "segs_out"));
    assert_null(json_object_get(info, "rtt_ns"));
    after[1].known = 0;
    assert_null(tcp_info_to_json(before, after, 2));
    assert_null(tcp_info_to_json(before, after, 0));
}

static int fds[2] = {-1, -1};

static void close_pair(void)
{
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    fds[0] = fds[1] = -1;
}

struct unit_fixture unit_fixture = {.after = close_pair};

static void connect_pair(void)
{
    struct address address;
    CLEANUP_CLOSE int listener = unit_listen(&address, "127.0.0.1:0");

    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(address_connect(fds[0], &address, 1000, &unit_problem), 0);
    fds[1] = accept(listener, NULL, NULL);
    assert_true(fds[1] >= 0);
}

TEST(a_socket_that_is_not_tcp_has_no_figures)
{
    struct tcp_reading reading = {0};

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    tcp_info_read(fds[0], &reading);
    assert_int_equal(reading.known, 0);
}

/* The last test: after the probe, figures that did not move are absent. */
TEST(sends_over_tcp_move_the_figures_that_the_probe_saw_move)
{
    struct tcp_reading before = {0}, after = {0};
    char byte;

    connect_pair();
    tcp_info_probe(fds);
    tcp_info_read(fds[0], &before);
    skip_unless(before.known & BIT(TCP_DATA_SEGS_OUT) && before.figures[TCP_DATA_SEGS_OUT],
                "this system does not count segments");
    for (int i = 0; i < 6; i++) {
        assert_int_equal(send(fds[i % 2], "u", 1, 0), 1);
        assert_int_equal(recv(fds[1 - i % 2], &byte, 1, 0), 1);
    }
    tcp_info_read(fds[0], &after);
    CLEANUP_JSON json_t *info = tcp_info_to_json(&before, &after, 1);
    assert_int_equal(value_of(info, "data_segs_out", "sum"), 3);
    assert_int_equal(value_of(info, "data_segs_in", "sum"), 3);
}

TEST(the_largest_peer_window_only_grows)
{
    struct tcp_reading reading = {0};

    connect_pair();
    tcp_info_read(fds[0], &reading);
    skip_unless(reading.known & BIT(TCP_LARGEST_PEER_WINDOW), "this system has no window of the peer");
    assert_true(reading.figures[TCP_LARGEST_PEER_WINDOW] > 0);
    reading.figures[TCP_LARGEST_PEER_WINDOW] = UINT64_C(1) << 40;
    tcp_info_watch_window(fds[0], &reading);
    assert_int_equal(reading.figures[TCP_LARGEST_PEER_WINDOW], UINT64_C(1) << 40);
    tcp_info_read(fds[0], &reading);
    assert_int_equal(reading.figures[TCP_LARGEST_PEER_WINDOW], UINT64_C(1) << 40);
}
