# SPDX-License-Identifier: MIT
"""What is derived from a record: the one table of metrics.

A metric is a row of METRICS; adding one is adding a row. A formula takes a Run (a record of status
`ok`, shape as in docs/record.md) and gives a value in the unit of the row, or None where the
record does not know it: an input that is absent never becomes a zero.

Terms. The *driver* is the end that sends `message`, the *other* end answers or receives;
`transport=null` has a driver only. A *proxy* stands between the two. *Messages* of a run are those the driver finished (`request`)
or the receiver took out of its socket (`stream`, `proxy`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from suite.errors import UsageError, nearest_hint

NANOSECOND = 1e-9
ENDS = ("client", "server", "proxy")  # that a record may have
STREAMS = ("stream", "proxy")  # workloads that are timed where messages arrive
HISTOGRAMS = ("latency", "service", "late_start", "handshake", "handover")  # of a driver's thread; docs/record.md


def threads_sum(end: dict[str, Any] | None, *path: str) -> float | None:
    """The sum over an end's threads of the number at path; None if one of them lacks it."""
    total = 0.0
    threads = (end or {}).get("threads")
    for thread in threads or ():
        value: Any = thread
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            return None
        total += value
    return total if threads else None


def idle(thread: dict[str, Any]) -> bool:
    """Whether there was nothing to do for a thread: more of them, or of connections, than work."""
    return thread.get("messages_sent") == 0 and thread.get("messages_received") == 0


def elapsed_together(end: dict[str, Any] | None) -> float | None:
    """From the first thread's beginning to the last one's end, in seconds: when work was done."""
    threads = [thread for thread in (end or {}).get("threads", ()) if not idle(thread)]
    begun = [thread.get("begun_ns") for thread in threads]
    ended = [thread.get("ended_ns") for thread in threads]
    if not threads or None in begun or None in ended:
        return None
    return (max(ended) - min(begun)) * NANOSECOND


def received_rate(end: dict[str, Any] | None) -> float | None:
    """Bytes per second that an end received of a stream.

    Its clock starts when the first bytes have arrived: they came before that time.
    """
    received = threads_sum(end, "bytes_received")
    if end is None or received is None:
        return None
    first = sum(thread.get("first_bytes", 0) for thread in end["threads"])
    return quotient(received - first, elapsed_together(end))


def quotient(numerator: float | None, denominator: float | None) -> float | None:
    """numerator / denominator; None where one of them is unknown or nothing was done."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def product(a: float | None, b: float | None) -> float | None:
    """a * b; None where one of them is unknown."""
    return None if a is None or b is None else a * b


def total(*parts: float | None) -> float | None:
    """The sum; None if one part is unknown."""
    return None if None in parts else sum(part for part in parts if part is not None)


@dataclass(frozen=True)
class Histogram:
    """Values in ns: bins are (low, width, count), ascending; maximum, minimum and sum are exact."""

    count: int
    maximum: float
    minimum: float
    sum: float
    bins: tuple[tuple[int, int, int], ...]

    def quantile(self, share: float) -> float | None:
        """The value, in ns, at rank ceil(share * count): the middle of its bin.

        None if fewer than 1 / (1 - share) values were counted: the tail was not seen.
        """
        if self.count * (1 - share) < 1 - 1e-9:
            return None
        rank, seen = math.ceil(share * self.count - 1e-9), 0
        for low, width, count in self.bins:
            seen += count
            if seen >= rank:
                return min(max(low + (width - 1) / 2, self.minimum), self.maximum)
        return None


def histogram_read(part: dict[str, Any]) -> Histogram:
    """The histogram of one thread, as it stands in a record."""
    return Histogram(part["count"], part["maximum"], part["minimum"], part["sum"],
                     tuple((low, width, count) for low, width, count in part["bins"]))


def histograms_merge(parts: Sequence[Histogram]) -> Histogram | None:
    """One histogram of several; bins of one low have one width. None of none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    counts: dict[tuple[int, int], int] = {}
    for part in parts:
        for low, width, count in part.bins:
            counts[low, width] = counts.get((low, width), 0) + count
    bins = tuple((low, width, count) for (low, width), count in sorted(counts.items()))
    return Histogram(sum(part.count for part in parts), max(part.maximum for part in parts),
                     min(part.minimum for part in parts), sum(part.sum for part in parts), bins)


class Run:
    """A record of status `ok` with the roles of its ends worked out; read-only."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.client: dict[str, Any] | None = record.get("client")
        self.server: dict[str, Any] | None = record.get("server")
        self.proxy: dict[str, Any] | None = record.get("proxy")
        self.workload: str = record.get("words", {}).get("workload", "")
        self.streams = self.workload in STREAMS

    @cached_property
    def timed(self) -> dict[str, Any] | None:
        """What hyperfine measured of the whole processes; None where it did not time the run."""
        return self.record.get("hyperfine")

    @cached_property
    def ends(self) -> list[dict[str, Any]]:
        """The ends that the record has."""
        return [end for end in (self.client, self.server, self.proxy) if end is not None]

    @cached_property
    def driver(self) -> dict[str, Any] | None:
        """The end that sends `message`."""
        return next((end for end in self.ends if end.get("drives")), None)

    @cached_property
    def other(self) -> dict[str, Any] | None:
        """The client or server that is not the driver; None for transport=null. In direction=both it
        drives too."""
        return next((end for end in (self.client, self.server)
                     if end is not None and end is not self.driver), None)

    @cached_property
    def senders(self) -> list[dict[str, Any] | None]:
        """The ends that send `message`: one, or both of direction=both."""
        if self.takes:
            return [None]
        both = self.driver is not None and self.other is not None and self.other.get("drives")
        return [self.driver, self.other] if both else [self.driver]

    @cached_property
    def receivers(self) -> list[dict[str, Any] | None]:
        """The ends that take `message`, each what the sender at the same place sends."""
        return [self.driver] if self.takes else [self.other, self.driver][:len(self.senders)]

    @cached_property
    def takes(self) -> bool:
        """Whether the driver only receives, from a foreign peer that sends without end."""
        return self.record.get("words", {}).get("peer_does") == "chargen"

    @cached_property
    def messages(self) -> float | None:
        """Messages of the run: finished by the driver, or received at the end of a stream."""
        if self.streams and (self.other is not None or self.takes):
            return total(*(threads_sum(end, "messages_received") for end in self.receivers))
        return threads_sum(self.driver, "messages_sent")

    @cached_property
    def elapsed(self) -> float | None:
        """Seconds that those messages took: of the driver, or of the receiver of a stream.

        A stream takes as long as its payload at the rate of its receiver; of two at the same time
        the rates add up. An open loop takes at least as long as its schedule: it also waits after
        its last request.
        """
        if not self.streams or (self.other is None and not self.takes):
            done = elapsed_together(self.driver)
            return done if done is None else max(done, self.scheduled)
        return quotient(self.payload, total(*(received_rate(end) for end in self.receivers)))

    @cached_property
    def payload(self) -> float | None:
        """Bytes of `message` that were received."""
        return total(*(threads_sum(end, "bytes_received") for end in self.receivers))

    @cached_property
    def histograms(self) -> dict[str, Histogram | None]:
        """Each of HISTOGRAMS, the driver's threads merged.

        None where a thread lacks it, unless no reply came there: then it had nothing to count.
        """
        threads = (self.driver or {}).get("threads", ())
        answered = [thread for thread in threads if thread.get("messages_received") != 0]
        found: dict[str, Histogram | None] = {}
        for name in HISTOGRAMS:
            parts = [histogram_read(thread[name]) for thread in threads if name in thread]
            whole = not self.streams and all(name in thread for thread in answered)
            found[name] = histograms_merge(parts) if whole else None
        return found

    @cached_property
    def captured(self) -> dict[str, Any] | None:
        """The segments that the client captured; None if it did not, or not all of them."""
        capture = (self.client or {}).get("capture")
        whole = capture and not capture["dropped"] and not capture["truncated"]
        return capture if whole else None

    @cached_property
    def captured_messages(self) -> list[dict[str, Any]]:
        """Of these the ways on which messages go: one, or both of direction=both."""
        return [self.captured["sent" if end is self.client else "received"]
                for end in self.senders] if self.captured else []

    @cached_property
    def due(self) -> float | None:
        """Open loop: requests whose intended start lay in the interval."""
        return threads_sum(self.driver, "due")

    @cached_property
    def scheduled(self) -> float:
        """Open loop: seconds in which as many requests are due; 0 in a closed one."""
        rate = self.record.get("words", {}).get("rate", "closed")
        return 0.0 if rate == "closed" else (self.due or 0.0) / float(rate)

    @cached_property
    def late(self) -> float | None:
        """Open loop: those of them that were never sent."""
        return threads_sum(self.driver, "late")

    def cpu(self, end: dict[str, Any] | None) -> float | None:
        """CPU seconds of an end's data threads, user and system."""
        spent = total(threads_sum(end, "cpu", "user_ns"), threads_sum(end, "cpu", "system_ns"))
        return None if spent is None else spent * NANOSECOND

    @cached_property
    def sides(self) -> list[dict[str, Any] | None]:
        """Every end that took part; a foreign peer tells nothing."""
        return [*self.ends, None] if "peer" in self.record.get("words", {}) else [*self.ends]

    def cpu_all(self) -> float | None:
        """CPU seconds of the data threads of every end that there is."""
        return total(*(self.cpu(end) for end in self.sides)) if self.ends else None


Formula = Callable[[Run], float | None]
SEGMENTS = ("tcp_info", "data_segs_out", "sum")
SEGMENTS_IN = ("tcp_info", "data_segs_in", "sum")
AGAIN = ("tcp_info", "retrans_segs", "sum")


def time_per_message(run: Run) -> float | None:
    """request: mean time of one request on a connection; stream: receiver's time per message."""
    if run.streams:
        return quotient(run.elapsed, run.messages)
    spent = 0.0
    for thread in (run.driver or {}).get("threads", ()):
        if "elapsed_ns" not in thread:
            return None
        elapsed = max(thread["elapsed_ns"] * NANOSECOND, run.scheduled)
        spent += elapsed * thread.get("connections", 1)
    return quotient(spent or None, run.messages)


def bandwidth(run: Run) -> float | None:
    """Bits of payload of `message` that arrived, by the receiver's time or the driver's."""
    return quotient(None if run.payload is None else 8 * run.payload, run.elapsed)


def per_message_sent(ends: list[dict[str, Any] | None], *path: str) -> float | None:
    """What these ends counted at path, per message that they sent."""
    counted = total(*(threads_sum(end, *path) for end in ends))
    return quotient(counted, total(*(threads_sum(end, "messages_sent") for end in ends)))


def message_side(*path: str) -> Formula:
    """The formula of what went out at path per message: of the proxy where there is one, else of
    whoever sends messages."""
    def sent(run: Run) -> float | None:
        if run.proxy is None:
            return per_message_sent(run.senders, *path)
        return quotient(threads_sum(run.proxy, *path), run.messages)
    return sent


def reply_side(*path: str) -> Formula:
    """The formula of what went out at path per reply, of the end that sends replies."""
    return lambda run: None if run.streams else per_message_sent([run.other], *path)


def syscalls(run: Run, end: dict[str, Any] | None) -> float | None:
    """All calls on the data path of an end, waits included, per message of the run."""
    paths = ["write_calls", "read_calls", "wait_calls"]
    if run.workload == "connect":
        paths.append("connect_calls")
    return quotient(total(*(threads_sum(end, path) for path in paths)), run.messages)


def copied_share(run: Run) -> float | None:
    """Of the sends that lent their memory the share that the kernel copied all the same."""
    lending = [end for end in run.ends if threads_sum(end, "lent") is not None]
    lent = total(*(threads_sum(end, "lent") for end in lending))
    return quotient(total(*(threads_sum(end, "copied") for end in lending)), lent or None)


def mapped_share(run: Run) -> float | None:
    """Of the bytes that were to be mapped the share that was."""
    mapping = [end for end in run.ends if threads_sum(end, "mapped_bytes") is not None]
    mapped = total(*(threads_sum(end, "mapped_bytes") for end in mapping))
    copied = total(*(threads_sum(end, "copied_bytes") for end in mapping))
    return quotient(mapped, total(mapped, copied) or None)


def peer_window(run: Run) -> float | None:
    """Bytes: the largest window that was advertised to whoever sends messages, or to the proxy."""
    senders = [run.proxy] if run.proxy is not None else run.senders
    windows = [thread.get("tcp_info", {}).get("largest_peer_window_bytes", {}).get("max")
               for end in senders for thread in (end or {}).get("threads", ())]
    return None if not windows or None in windows else max(windows)


def captured_per_message(run: Run) -> float | None:
    """Segments that passed the client's device per message of the run."""
    segments = sum(way["data_segments"] for way in run.captured_messages)
    return quotient(segments if run.captured else None, run.messages)


def captured_per_reply(run: Run) -> float | None:
    """Segments that passed the client's device per reply that it was sent."""
    if run.streams or not run.captured:
        return None
    return quotient(run.captured["received"]["data_segments"],
                    threads_sum(run.other, "messages_sent"))


def captured_extreme(key: str, choose: Callable[[list[float]], float]) -> Formula:
    """The formula of the smallest or largest payload of a segment on the messages' way."""
    def extreme(run: Run) -> float | None:
        known = [way[key] for way in run.captured_messages if key in way]
        return choose(known) if known else None
    return extreme


def captured_uncut(run: Run) -> float | None:
    """Packets of a run on the messages' way that were above the MSS when they were captured."""
    return sum(way["super_packets"] for way in run.captured_messages) if run.captured else None


def capture_difference(run: Run) -> float | None:
    """By how many segments the capture and TCP_INFO differ at most, over ways and ends.

    TCP_INFO has one less for a close_notify that shared a segment. The server's figures are held
    against the client's capture where the two are connected and nothing was sent again. Where both
    ends send, what they sent may leave after their last look: there only receivers know.
    """
    if not run.captured:
        return None
    once, arrived, pairs = {}, {}, []
    for name in ("sent", "received"):
        way = run.captured[name]
        once[name] = way["data_segments"] - way.get("shared_close_notifies", 0)
        arrived[name] = once[name] + way["retransmitted_segments"]
    ends = [(run.client, "sent", "received")]
    if run.proxy is None and not any(threads_sum(end, *AGAIN) for end in run.ends):
        ends.append((run.server, "received", "sent"))
    for end, out, back in ends:
        pairs.append((arrived[back], threads_sum(end, *SEGMENTS_IN)))
        if len(run.senders) == 1:
            pairs.append((once[out], threads_sum(end, *SEGMENTS)))
    known = [abs(seen - counted) for seen, counted in pairs if counted is not None]
    return max(known) if known else None


def memory_per_connection(end: dict[str, Any] | None) -> float | None:
    """Bytes that an end's process grew by from before the connections to after the run."""
    if end is None or "resident_bytes" not in end:
        return None
    grown = end["resident_bytes"] - end["resident_before_bytes"]
    return quotient(grown, threads_sum(end, "connections"))


def quantile_of(name: str, share: float) -> Formula:
    """The formula of one quantile of a histogram, in seconds."""
    def quantile(run: Run) -> float | None:
        histogram = run.histograms[name]
        value = histogram.quantile(share) if histogram else None
        return None if value is None else value * NANOSECOND
    return quantile


def maximum_of(name: str) -> Formula:
    """The formula of the largest value of a histogram, exact, in seconds."""
    def maximum(run: Run) -> float | None:
        histogram = run.histograms[name]
        return histogram.maximum * NANOSECOND if histogram else None
    return maximum


def seconds(value_ns: float | None) -> float | None:
    """Nanoseconds of a record in seconds."""
    return None if value_ns is None else value_ns * NANOSECOND


def cpu_part(key: str) -> Formula:
    """CPU seconds of one kind: of the whole processes where hyperfine timed them, else of the data
    threads of every end in the measured interval."""
    def part(run: Run) -> float | None:
        if run.timed is not None:
            return seconds(run.timed.get(key))
        return seconds(total(*(threads_sum(end, "cpu", key) for end in run.sides))
                       if run.ends else None)
    return part


def end_cpu_part(name: str, key: str) -> Formula:
    """The same of one end: what its process told, or its data threads."""
    def part(run: Run) -> float | None:
        end = run.record.get(name)
        if run.timed is not None:
            return seconds((end or {}).get("process", {}).get(key))
        return seconds(threads_sum(end, "cpu", key))
    return part


def softirq(run: Run) -> float | None:
    """Seconds in softirq during the measured interval, of every machine that an end was on, once."""
    machines = {end.get("host"): end.get("machine", {}).get("softirq_ns")
                for end in reversed(run.ends)}
    return seconds(total(*machines.values())) if machines else None


def wall_time(run: Run) -> float | None:
    """Seconds of the whole processes where hyperfine timed them, else from the start of the run to
    its finished record."""
    return seconds((run.record if run.timed is None else run.timed).get("wall_ns"))


@dataclass(frozen=True)
class Metric:
    """One row: unit is the base unit (in CSV too); better is `lower` or `higher`."""

    name: str
    unit: str
    better: str
    formula: Formula
    means: str

    @property
    def counts(self) -> bool:
        """Whether it counts events."""
        return self.unit == "1"

    @property
    def of_records(self) -> bool:
        """Whether only a security layer that shows its records knows it."""
        return self.name.startswith(("records_", "tls_bytes_"))

    @property
    def split(self) -> bool:
        """Whether it is one part, user or system, of a CPU time."""
        return self.name in SPLITS

    @property
    def whole(self) -> bool:
        """Whether it comes from whole things, events or bytes, so that rounds can agree exactly."""
        return self.unit in ("1", "B")


SPLITS = {f"{end}{key}": end for end in ("", *(f"{end}_" for end in ENDS))
          for key in ("user", "system")}  # metric: what the two parts of one CPU time begin with

METRICS = {metric.name: metric for metric in (
    Metric("time_per_message", "s", "lower", time_per_message,
           "request: mean time of a request on its connection; stream: receiver's time"),
    Metric("messages_per_second", "1/s", "higher", lambda run: quotient(run.messages, run.elapsed),
           "all messages by the time from the first thread's start to the last one's end"),
    Metric("bandwidth", "bit/s", "higher", bandwidth, "payload of messages at the receiver"),
    Metric("segments_per_message", "1", "lower", message_side(*SEGMENTS),
           "data segments of the end that sends messages, or the proxy, each counted once"),
    Metric("segments_per_reply", "1", "lower", reply_side(*SEGMENTS),
           "data segments of the end that sends replies"),
    Metric("captured_segments_per_message", "1", "lower", captured_per_message,
           "capture=on: data segments on the messages' way, as they pass the client's device"),
    Metric("captured_segments_per_reply", "1", "lower", captured_per_reply,
           "capture=on: data segments on the replies' way"),
    Metric("smallest_segment", "B", "higher", captured_extreme("smallest_bytes", min),
           "capture=on: the smallest payload of a segment on the messages' way"),
    Metric("largest_segment", "B", "higher", captured_extreme("largest_bytes", max),
           "capture=on: the largest payload of a segment on the messages' way"),
    Metric("super_packets", "1", "lower", captured_uncut,
           "capture=on: packets above the MSS on the messages' way, counted as they would be cut"),
    Metric("capture_difference", "1", "lower", capture_difference,
           "capture=on: segments by which capture and TCP_INFO differ at most, 0 if they agree"),
    Metric("records_per_message", "1", "lower", message_side("records_sent"),
           "TLS records of the end that sends messages, or the proxy"),
    Metric("records_per_reply", "1", "lower", reply_side("records_sent"),
           "TLS records of the end that sends replies"),
    Metric("tls_bytes_per_message", "B", "lower", message_side("tls_bytes_sent"),
           "bytes of these records, headers included"),
    Metric("tls_bytes_per_reply", "B", "lower", reply_side("tls_bytes_sent"),
           "bytes of these records, headers included"),
    Metric("sends_per_message", "1", "lower",
           lambda run: per_message_sent(run.senders, "write_calls"),
           "write-path calls of the end that sends messages, cork's setsockopt included"),
    Metric("sends_per_reply", "1", "lower", reply_side("write_calls"),
           "write-path calls of the end that sends replies"),
    Metric("syscalls_per_message", "1", "lower", lambda run: syscalls(run, run.client),
           "all data-path calls of the client"),
    Metric("server_syscalls_per_message", "1", "lower", lambda run: syscalls(run, run.server),
           "all data-path calls of the server"),
    Metric("proxy_sends_per_message", "1", "lower",
           lambda run: quotient(threads_sum(run.proxy, "write_calls"), run.messages),
           "write-path calls of the proxy"),
    Metric("proxy_syscalls_per_message", "1", "lower", lambda run: syscalls(run, run.proxy),
           "all data-path calls of the proxy"),
    Metric("proxy_chunks_per_group", "1", "higher",
           lambda run: quotient(threads_sum(run.proxy, "chunks_sent"),
                                threads_sum(run.proxy, "groups_sent")),
           "what the proxy received in one chunk each and sent on together"),
    Metric("ring_requests_per_message", "1", "lower",
           lambda run: per_message_sent(run.senders, "requests"),
           "requests that the end that sends messages gave its io_uring"),
    Metric("ring_completions_per_message", "1", "lower",
           lambda run: per_message_sent(run.senders, "completions"),
           "completions that the end that sends messages took from its io_uring"),
    Metric("proxy_ring_requests_per_message", "1", "lower",
           lambda run: quotient(threads_sum(run.proxy, "requests"), run.messages),
           "requests that the proxy gave its io_uring"),
    Metric("proxy_ring_completions_per_message", "1", "lower",
           lambda run: quotient(threads_sum(run.proxy, "completions"), run.messages),
           "completions that the proxy took from its io_uring"),
    Metric("copied_share", "1", "lower", copied_share,
           "of the sends that lent their memory those that the kernel copied all the same, 0 to 1"),
    Metric("mapped_share", "1", "higher", mapped_share,
           "of the bytes that read=zerocopy received those that were mapped and not copied, 0 to 1"),
    Metric("cpu_per_message", "s", "lower", lambda run: quotient(run.cpu_all(), run.messages),
           "CPU of the data threads of all ends"),
    Metric("client_cpu_per_message", "s", "lower",
           lambda run: quotient(run.cpu(run.client), run.messages), "CPU of the client's threads"),
    Metric("server_cpu_per_message", "s", "lower",
           lambda run: quotient(run.cpu(run.server), run.messages), "CPU of the server's threads"),
    Metric("proxy_cpu_per_message", "s", "lower",
           lambda run: quotient(run.cpu(run.proxy), run.messages), "CPU of the proxy's threads"),
    Metric("cpu_per_byte", "s", "lower", lambda run: quotient(run.cpu_all(), run.payload),
           "CPU of all ends per byte of payload at the receiver"),
    Metric("proxy_cpu_per_byte", "s", "lower",
           lambda run: quotient(run.cpu(run.proxy), run.payload),
           "CPU of the proxy per byte of payload at the receiver"),
    Metric("latency_p50", "s", "lower", quantile_of("latency", 0.50),
           "half of the requests are faster; open loop: from their intended start"),
    Metric("latency_p90", "s", "lower", quantile_of("latency", 0.90),
           "9 of 10 requests are faster"),
    Metric("latency_p99", "s", "lower", quantile_of("latency", 0.99),
           "99 of 100 requests are faster"),
    Metric("latency_p999", "s", "lower", quantile_of("latency", 0.999),
           "999 of 1000 requests are faster"),
    Metric("latency_max", "s", "lower", maximum_of("latency"), "the slowest request"),
    Metric("service_p50", "s", "lower", quantile_of("service", 0.50),
           "open loop: half of the requests are faster, from their actual send"),
    Metric("service_p90", "s", "lower", quantile_of("service", 0.90), "9 of 10 are faster"),
    Metric("service_p99", "s", "lower", quantile_of("service", 0.99), "99 of 100 are faster"),
    Metric("service_p999", "s", "lower", quantile_of("service", 0.999), "999 of 1000 are faster"),
    Metric("service_max", "s", "lower", maximum_of("service"), "the slowest, from its send"),
    Metric("late_start_p50", "s", "lower", quantile_of("late_start", 0.50),
           "open loop: half of the requests are sent sooner after their intended start"),
    Metric("late_start_p99", "s", "lower", quantile_of("late_start", 0.99),
           "99 of 100 are sent sooner"),
    Metric("late_start_max", "s", "lower", maximum_of("late_start"), "the latest send"),
    Metric("handover_p50", "s", "lower", quantile_of("handover", 0.50),
           "handoff=thread: half of the requests are with the sender thread sooner"),
    Metric("handover_p90", "s", "lower", quantile_of("handover", 0.90), "9 of 10 are sooner"),
    Metric("handover_p99", "s", "lower", quantile_of("handover", 0.99), "99 of 100 are sooner"),
    Metric("handover_p999", "s", "lower", quantile_of("handover", 0.999), "999 of 1000 are sooner"),
    Metric("handover_max", "s", "lower", maximum_of("handover"), "the slowest hand-over"),
    Metric("handshakes_per_second", "1/s", "higher",
           lambda run: quotient(threads_sum(run.driver, "handshakes"), run.elapsed),
           "workload=connect: TLS handshakes that the end which begins them completed"),
    Metric("handshake_p50", "s", "lower", quantile_of("handshake", 0.50),
           "half of the handshakes are faster, from the first byte of the hello to their end"),
    Metric("handshake_p90", "s", "lower", quantile_of("handshake", 0.90), "9 of 10 are faster"),
    Metric("handshake_p99", "s", "lower", quantile_of("handshake", 0.99), "99 of 100 are faster"),
    Metric("handshake_p999", "s", "lower", quantile_of("handshake", 0.999),
           "999 of 1000 are faster"),
    Metric("handshake_max", "s", "lower", maximum_of("handshake"), "the slowest handshake"),
    Metric("peer_window", "B", "higher", peer_window,
           "largest window that the receiver of messages advertised, over its connections"),
    Metric("requests_late", "1", "lower", lambda run: run.late,
           "open loop: requests of a run that were due and never sent"),
    Metric("memory_per_connection", "B", "lower",
           lambda run: memory_per_connection(run.client),
           "resident memory of the client per connection; says little below some hundred"),
    Metric("server_memory_per_connection", "B", "lower",
           lambda run: memory_per_connection(run.server), "the same of the server"),
    Metric("time", "s", "lower", wall_time,
           "the whole run: by hyperfine from the start of the client to its end"),
    Metric("user", "s", "lower", cpu_part("user_ns"),
           "CPU of all ends in user mode: by hyperfine of their whole processes, else of data threads"),
    Metric("system", "s", "lower", cpu_part("system_ns"), "the same in the kernel"),
    *(Metric(f"{end}_{key}", "s", "lower", end_cpu_part(end, f"{key}_ns"), f"{key} of the {end} alone")
      for end in ENDS for key in ("user", "system")),
    Metric("softirq", "s", "lower", softirq,
           "softirq of all CPUs of the ends' machines, whoever it was for"),
)}


def metric_find(name: str, where: str) -> Metric:
    """The metric of that name; UsageError says where it stood and names the nearest."""
    if name not in METRICS:
        raise UsageError(f'{where}: unknown metric "{name}"{nearest_hint(name, METRICS)}')
    return METRICS[name]


def histogram_find(name: str, where: str) -> str:
    """The name if it is one of HISTOGRAMS; UsageError says where it stood and names the nearest."""
    if name not in HISTOGRAMS:
        raise UsageError(f'{where}: unknown histogram "{name}"{nearest_hint(name, HISTOGRAMS)}')
    return name


def metrics_compute(record: dict[str, Any]) -> dict[str, float | None]:
    """Every metric of a record by name; all None where its status is not `ok`."""
    if record.get("status") != "ok":
        return dict.fromkeys(METRICS)
    run = Run(record)
    return {name: metric.formula(run) for name, metric in METRICS.items()}
