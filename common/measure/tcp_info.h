/* SPDX-License-Identifier: MIT */
/* TCP counters of a connection. All differences between systems are in tcp_info.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Figure, key in the record, and its kind. true: a counter, the record has its difference. false: a
 * level, the record has its last value. */
#define TCP_FIGURES(X)                                                                                       \
    X(TCP_DATA_SEGS_OUT, "data_segs_out", true)                                                              \
    X(TCP_SEGS_OUT, "segs_out", true)                                                                        \
    X(TCP_SEGS_IN, "segs_in", true)                                                                          \
    X(TCP_DATA_SEGS_IN, "data_segs_in", true)                                                                \
    X(TCP_RETRANS_SEGS, "retrans_segs", true)                                                                \
    X(TCP_BYTES_RETRANS, "bytes_retrans", true)                                                              \
    X(TCP_DELIVERED, "delivered", true)                                                                      \
    X(TCP_BUSY, "busy_ns", true)                                                                             \
    X(TCP_RWND_LIMITED, "rwnd_limited_ns", true)                                                             \
    X(TCP_SNDBUF_LIMITED, "sndbuf_limited_ns", true)                                                         \
    X(TCP_CWND, "cwnd_segments", false)                                                                      \
    X(TCP_RTT, "rtt_ns", false)                                                                              \
    X(TCP_MIN_RTT, "min_rtt_ns", false)                                                                      \
    X(TCP_PEER_WINDOW, "peer_window_bytes", false)                                                           \
    X(TCP_LARGEST_PEER_WINDOW, "largest_peer_window_bytes", false)

#define TCP_FIGURE_ENUM(figure, key, counts) figure,
enum tcp_figure { TCP_FIGURES(TCP_FIGURE_ENUM) TCP_FIGURE_COUNT };
#undef TCP_FIGURE_ENUM

struct tcp_reading {
    uint32_t known; /* bit per figure: the system filled it in */
    uint64_t figures[TCP_FIGURE_COUNT];
    /* Position in each stream at the same moment, if `knows_streams`. `sent_bytes` includes bytes
     * that wait to be sent (Nagle, a full window). */
    bool knows_streams;
    uint64_t sent_bytes, received_bytes;
};

/* Reads the figures of a connected socket. None are known if it is not TCP or the system does not
 * report them. `reading` is zeroed or has earlier figures. These stay if the system reports none
 * any more, or counts from 0 again, as MPTCP does after the first subflow has ended. */
void tcp_info_read(int fd, struct tcp_reading *reading);

/* Updates TCP_LARGEST_PEER_WINDOW only. */
void tcp_info_watch_window(int fd, struct tcp_reading *reading);

/* Tests on a pair of TCP sockets which counters move; records omit the others. Call it once, before
 * threads read. */
void tcp_info_probe(const int fds[2]);

/* The `tcp_info` object of a thread: {"data_segs_out": {"sum", "min", "median", "max"}, ...} over
 * `count` connections, with "each" for up to 16. New reference; NULL: none known, or no memory. */
json_t *tcp_info_to_json(const struct tcp_reading *before, const struct tcp_reading *after, size_t count);
