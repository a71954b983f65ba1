/* SPDX-License-Identifier: MIT */
#include "measure/tcp_info.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <sys/param.h>
#include <sys/socket.h>

#include <netinet/in.h>

#define EACH_MAX 16 /* connections whose values are listed */
#define TCP_FIGURE_INFO(figure, key, counts) [figure] = {key, counts},
static const struct {
    const char *key;
    bool counts;
} infos[TCP_FIGURE_COUNT] = {TCP_FIGURES(TCP_FIGURE_INFO)};

static uint32_t moving = UINT32_MAX; /* bit per figure, narrowed by tcp_info_probe() */

static void put(struct tcp_reading *reading, enum tcp_figure figure, uint64_t value)
{
    reading->figures[figure] = value;
    reading->known |= 1u << figure;
}

/* ---- read_figures(): one for each system ---- */

#if defined __linux__
#include <linux/tcp.h>

/* True if the kernel filled the field in: `size` is the length of its structure. */
#define REACHES(size, field)                                                                                 \
    ((size) >= offsetof(struct tcp_info, field) + sizeof((struct tcp_info *)0)->field)

static void read_figures(int fd, struct tcp_reading *reading)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 || !REACHES(size, tcpi_data_segs_out))
        return;
    put(reading, TCP_DATA_SEGS_OUT, info.tcpi_data_segs_out);
    put(reading, TCP_SEGS_OUT, info.tcpi_segs_out);
    put(reading, TCP_SEGS_IN, info.tcpi_segs_in);
    put(reading, TCP_DATA_SEGS_IN, info.tcpi_data_segs_in);
    put(reading, TCP_RETRANS_SEGS, info.tcpi_total_retrans);
    put(reading, TCP_CWND, info.tcpi_snd_cwnd);
    put(reading, TCP_RTT, info.tcpi_rtt * NS_PER_US);
    put(reading, TCP_MIN_RTT, info.tcpi_min_rtt * NS_PER_US);
    if (REACHES(size, tcpi_sndbuf_limited)) {
        put(reading, TCP_BUSY, info.tcpi_busy_time * NS_PER_US);
        put(reading, TCP_RWND_LIMITED, info.tcpi_rwnd_limited * NS_PER_US);
        put(reading, TCP_SNDBUF_LIMITED, info.tcpi_sndbuf_limited * NS_PER_US);
    }
    if (REACHES(size, tcpi_delivered))
        put(reading, TCP_DELIVERED, info.tcpi_delivered);
    if (REACHES(size, tcpi_bytes_retrans)) {
        put(reading, TCP_BYTES_RETRANS, info.tcpi_bytes_retrans);
        reading->knows_streams = true;
        reading->sent_bytes = info.tcpi_bytes_sent - info.tcpi_bytes_retrans + info.tcpi_notsent_bytes;
        reading->received_bytes = info.tcpi_bytes_received;
    }
    if (REACHES(size, tcpi_snd_wnd))
        put(reading, TCP_PEER_WINDOW, info.tcpi_snd_wnd);
}

#elif defined __FreeBSD__ || defined __OpenBSD__ || defined __NetBSD__
#include <netinet/tcp.h>

/* Its struct tcp_info has other contents: no counts of segments, a congestion window in bytes. */
static void read_figures(int fd, struct tcp_reading *reading)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 || !info.tcpi_snd_mss)
        return;
    put(reading, TCP_CWND, info.tcpi_snd_cwnd / info.tcpi_snd_mss);
#ifndef __NetBSD__ /* NetBSD measures half seconds but reports them as ticks */
    if (info.tcpi_rtt) /* 0: the round trip was shorter than a tick of the clock */
        put(reading, TCP_RTT, info.tcpi_rtt * NS_PER_US);
#endif
#ifdef __OpenBSD__
    /* Only root gets the window and the retransmissions. For other users both are 0, and so is the
     * size of the send buffer, which is never 0 in reality. */
    if (!info.tcpi_so_snd_sb_hiwat)
        return;
#endif
    put(reading, TCP_RETRANS_SEGS, info.tcpi_snd_rexmitpack);
    put(reading, TCP_PEER_WINDOW, info.tcpi_snd_wnd);
}

#elif defined __APPLE__
#include <netinet/tcp.h>

/* Packets are not reported as segments: macOS does not document whether it counts them before or
 * after segmentation. Times are in milliseconds; 0 means unknown. */
static void read_figures(int fd, struct tcp_reading *reading)
{
    struct tcp_connection_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONNECTION_INFO, &info, &size) < 0 || !info.tcpi_maxseg)
        return;
    put(reading, TCP_RETRANS_SEGS, info.tcpi_txretransmitpackets);
    put(reading, TCP_BYTES_RETRANS, info.tcpi_txretransmitbytes);
    put(reading, TCP_CWND, info.tcpi_snd_cwnd / info.tcpi_maxseg);
    put(reading, TCP_PEER_WINDOW, info.tcpi_snd_wnd);
    if (info.tcpi_srtt)
        put(reading, TCP_RTT, info.tcpi_srtt * NS_PER_MS);
}

#else

static void read_figures(int fd, struct tcp_reading *reading)
{
}

#endif

/* ---- all systems ---- */

/* A 32-bit counter may wrap. An advance by half of its range or more means that it went back. */
void tcp_info_read(int fd, struct tcp_reading *reading)
{
    struct tcp_reading now = {0};
    read_figures(fd, &now);
    if (now.known & 1u << TCP_PEER_WINDOW)
        put(&now, TCP_LARGEST_PEER_WINDOW,
            MAX(reading->figures[TCP_LARGEST_PEER_WINDOW], now.figures[TCP_PEER_WINDOW]));
    bool went_back = now.known & reading->known & 1u << TCP_SEGS_OUT &&
                     (uint32_t)(now.figures[TCP_SEGS_OUT] - reading->figures[TCP_SEGS_OUT]) > UINT32_MAX / 2;
    if ((now.known & reading->known) == reading->known && !went_back)
        *reading = now;
}

void tcp_info_watch_window(int fd, struct tcp_reading *reading)
{
    struct tcp_reading now = {0};
    uint64_t *largest = &reading->figures[TCP_LARGEST_PEER_WINDOW];
    read_figures(fd, &now);
    *largest = MAX(*largest, now.figures[TCP_PEER_WINDOW]);
}

/* Figures that a short exchange without loss cannot move. They are recorded if the segment counters
 * move, or if the system has no segment counters. */
#define CANNOT_MOVE                                                                                          \
    (1u << TCP_RETRANS_SEGS | 1u << TCP_BYTES_RETRANS | 1u << TCP_BUSY | 1u << TCP_RWND_LIMITED |            \
     1u << TCP_SNDBUF_LIMITED | 1u << TCP_RTT | 1u << TCP_MIN_RTT)

void tcp_info_probe(const int fds[2])
{
    struct tcp_reading before = {0}, after = {0};
    char byte = 'u';
    uint32_t seen = 0;

    tcp_info_read(fds[0], &before);
    for (int turn = 0; turn < 4; turn++)
        if (send(fds[turn % 2], &byte, 1, MSG_NOSIGNAL) != 1 || recv(fds[1 - turn % 2], &byte, 1, 0) != 1)
            return;
    tcp_info_read(fds[0], &after);
    for (int figure = 0; figure < TCP_FIGURE_COUNT; figure++)
        if (after.figures[figure] != (infos[figure].counts ? before.figures[figure] : 0))
            seen |= 1u << figure;
    bool is_counted = seen & 1u << TCP_DATA_SEGS_OUT || !(after.known & 1u << TCP_DATA_SEGS_OUT);
    moving = seen | (is_counted ? CANNOT_MOVE : 0);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Most counters of struct tcp_info have 32 bits and wrap in a long run. */
static uint64_t moved(const struct tcp_reading *before, const struct tcp_reading *after, int figure)
{
    uint64_t from = before->figures[figure], to = after->figures[figure];
    return to >= from ? to - from : to + (UINT64_C(1) << 32) - from;
}

/* Counts each segment with data once: subtracts the retransmissions if data was retransmitted.
 * Otherwise the retransmitted segments may be FINs without data. */
json_t *tcp_info_to_json(const struct tcp_reading *before, const struct tcp_reading *after, size_t count)
{
    uint32_t known = moving;
    CLEANUP_FREE uint64_t *values = calloc(count + 1, sizeof *values);
    CLEANUP_JSON json_t *info = json_object();

    for (size_t i = 0; i < count; i++)
        known &= after[i].known;
    for (int figure = 0; values && count && figure < TCP_FIGURE_COUNT; figure++) {
        if (!(known & 1u << figure))
            continue;
        json_t *each = count <= EACH_MAX ? json_array() : NULL;
        uint64_t sum = 0;
        for (size_t i = 0; i < count; i++) {
            const struct tcp_reading *from = &before[i], *to = &after[i];
            values[i] = infos[figure].counts ? moved(from, to, figure) : to->figures[figure];
            if (figure == TCP_DATA_SEGS_OUT &&
                (!(to->known & 1u << TCP_BYTES_RETRANS) || moved(from, to, TCP_BYTES_RETRANS)))
                values[i] -= moved(from, to, TCP_RETRANS_SEGS);
            sum += values[i];
            json_array_append_new(each, json_integer((json_int_t)values[i])); /* no effect on NULL */
        }
        qsort(values, count, sizeof *values, compare);
        json_object_set_new(info, infos[figure].key,
                            json_pack("{s:I, s:I, s:I, s:I, s:o*}", "sum", (json_int_t)sum, "min",
                                      (json_int_t)values[0], "median", (json_int_t)values[count / 2], "max",
                                      (json_int_t)values[count - 1], "each", each));
    }
    return json_object_size(info) ? json_incref(info) : NULL;
}
