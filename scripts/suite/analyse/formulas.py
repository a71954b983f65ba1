# SPDX-License-Identifier: MIT
"""What is worked out from a run: each formula takes a MeasuredRun and gives a value in the base
unit of its metric, or None where the record does not know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from suite.analyse.measured import (
    NANOSECOND,
    MeasuredRun,
    ends_sum,
    quotient,
    seconds,
    threads_sum,
    total,
)
from suite.stats import Beyond
from suite.stats.histogram import Histogram

Formula = Callable[[MeasuredRun], float | None]
SEGMENTS = ("tcp_info", "data_segs_out", "sum")
SEGMENTS_IN = ("tcp_info", "data_segs_in", "sum")
RETRANSMITTED = ("tcp_info", "retrans_segs", "sum")
CPU_STATES = ("user", "system", "softirq", "irq", "steal", "idle")


def time_per_message(run: MeasuredRun) -> float | None:
    """request: mean time of one request on a connection; stream: receiver's time per message."""
    if run.streams:
        return quotient(run.elapsed, run.messages)
    threads = (run.driver or {}).get("threads", ())
    if any("elapsed_ns" not in thread for thread in threads):
        return None
    spent = sum(max(thread["elapsed_ns"] * NANOSECOND, run.scheduled) * thread.get("connections", 1)
                for thread in threads)
    return quotient(spent or None, run.messages)


def bandwidth(run: MeasuredRun) -> float | None:
    """Bits of payload of `message` that arrived, by the receiver's time or the driver's."""
    return quotient(None if run.payload is None else 8 * run.payload, run.elapsed)


def per_message_sent(ends: Sequence[Mapping[str, Any] | None], *path: str) -> float | None:
    """What these ends counted at path, per message that they sent."""
    return quotient(ends_sum(ends, *path), ends_sum(ends, "messages_sent"))


def message_side(*path: str) -> Formula:
    """The formula of what went out at path per message: of the proxy where there is one, else of
    the end that sends messages."""
    def sent(run: MeasuredRun) -> float | None:
        if run.proxy is None:
            return per_message_sent(run.senders, *path)
        return quotient(threads_sum(run.proxy, *path), run.messages)
    return sent


def reply_side(*path: str) -> Formula:
    """The formula of what went out at path per reply, of the end that sends replies."""
    return lambda run: None if run.streams else per_message_sent([run.other], *path)


def syscalls(run: MeasuredRun, end: Mapping[str, Any] | None) -> float | None:
    """All calls on the data path of an end, waits included, per message of the run."""
    paths = ["write_calls", "read_calls", "wait_calls"]
    if run.workload == "connect":
        paths.append("connect_calls")
    return quotient(total(*(threads_sum(end, path) for path in paths)), run.messages)


def copied_share(run: MeasuredRun) -> float | None:
    """Of the sends that lent their memory the share that the kernel copied all the same."""
    lending = [end for end in run.ends if threads_sum(end, "lent") is not None]
    return quotient(ends_sum(lending, "copied"), ends_sum(lending, "lent"))


def mapped_share(run: MeasuredRun) -> float | None:
    """Of the bytes that were to be mapped the share that was."""
    mapping = [end for end in run.ends if threads_sum(end, "mapped_bytes") is not None]
    mapped = ends_sum(mapping, "mapped_bytes")
    return quotient(mapped, total(mapped, ends_sum(mapping, "copied_bytes")))


def peer_window(run: MeasuredRun) -> float | None:
    """Bytes: the largest window that was advertised to the end that sends messages, or to
    the proxy."""
    senders = [run.proxy] if run.proxy is not None else run.senders
    windows = [thread.get("tcp_info", {}).get("largest_peer_window_bytes", {}).get("max")
               for end in senders for thread in (end or {}).get("threads", ())]
    return None if not windows or None in windows else max(windows)


def captured_per_message(run: MeasuredRun) -> float | None:
    """Segments that passed the client's device per message of the run."""
    segments = sum(way["data_segments"] for way in run.captured_messages)
    return quotient(segments if run.captured else None, run.messages)


def captured_per_reply(run: MeasuredRun) -> float | None:
    """Segments that passed the client's device per reply that it was sent."""
    if run.streams or not run.captured:
        return None
    return quotient(run.captured["received"]["data_segments"],
                    threads_sum(run.other, "messages_sent"))


def captured_extreme(key: str, choose: Callable[[list[float]], float]) -> Formula:
    """The formula of the smallest or largest payload of a segment on the messages' way."""
    def extreme(run: MeasuredRun) -> float | None:
        known = [way[key] for way in run.captured_messages if key in way]
        return choose(known) if known else None
    return extreme


def captured_uncut(run: MeasuredRun) -> float | None:
    """Packets of a run on the messages' way that were above the MSS when they were captured."""
    return sum(way["super_packets"] for way in run.captured_messages) if run.captured else None


def capture_difference(run: MeasuredRun) -> float | None:
    """By how many segments the capture and TCP_INFO differ at most, over ways and ends.

    TCP_INFO has one less for a close_notify that shared a segment. The server's figures are held
    against the client's capture where the two are connected and nothing was sent again. Where both
    ends send, what they sent may leave after their last look: there only receivers know.
    """
    if not run.captured:
        return None
    ways = {name: run.captured[name] for name in ("sent", "received")}
    first = {name: way["data_segments"] - way.get("shared_close_notifies", 0)
             for name, way in ways.items()}
    ends = [(run.client, "sent", "received")]
    if run.proxy is None and not any(threads_sum(end, *RETRANSMITTED) for end in run.ends):
        ends.append((run.server, "received", "sent"))
    pairs = [(first[back] + ways[back]["retransmitted_segments"], threads_sum(end, *SEGMENTS_IN))
             for end, _, back in ends]
    if len(run.senders) == 1:
        pairs += [(first[out], threads_sum(end, *SEGMENTS)) for end, out, _ in ends]
    known = [abs(seen - counted) for seen, counted in pairs if counted is not None]
    return max(known) if known else None


def memory_per_connection(end: Mapping[str, Any] | None) -> float | None:
    """Bytes that an end's process grew by from before the connections to after the run."""
    if end is None or "resident_bytes" not in end:
        return None
    grown = end["resident_bytes"] - end["resident_before_bytes"]
    return quotient(grown, threads_sum(end, "connections"))


def of_histogram(name: str, ask: Callable[[Histogram], float | None]) -> Formula:
    """The formula of what a histogram is asked for, in seconds; it may be Beyond."""
    def figure(run: MeasuredRun) -> float | None:
        histogram = run.histograms[name]
        value_ns = ask(histogram) if histogram else None
        return Beyond(value_ns * NANOSECOND) if isinstance(value_ns, Beyond) else seconds(value_ns)
    return figure


def quantile_of(name: str, share: float) -> Formula:
    """The formula of one quantile of a histogram, in seconds; it may be Beyond."""
    return of_histogram(name, lambda histogram: histogram.quantile(share))


def cpu_part(key: str, name: str = "") -> Formula:
    """CPU seconds of one kind: of whole processes where hyperfine timed them, else of data threads
    in the measured interval. name: of one end; without it of all ends together."""
    def part(run: MeasuredRun) -> float | None:
        end = run.record.end(name) if name else None
        if run.timed is not None:
            return seconds(((end or {}).get("process", {}) if name else run.timed).get(key))
        return seconds(ends_sum([end] if name else run.sides, "cpu", key)) if run.ends else None
    return part


def machine_share(end: Mapping[str, Any], state: str) -> float | None:
    """The share of the time of all CPUs of an end's machine in one of CPU_STATES."""
    machine = end.get("machine", {})
    return quotient(machine.get(f"{state}_ns"),
                    sum(machine.get(f"{each}_ns", 0) for each in CPU_STATES))


def steal_of(name: str) -> Formula:
    """The formula of the steal of the machine of one end."""
    return lambda run: machine_share(run.record.end(name) or {}, "steal")


def softirq(run: MeasuredRun) -> float | None:
    """Seconds in softirq during the measured interval, of every machine that an end was on,
    once."""
    machines = {end.get("host"): end.get("machine", {}).get("softirq_ns")
                for end in reversed(run.ends)}
    return seconds(total(*machines.values())) if machines else None


def wall_time(run: MeasuredRun) -> float | None:
    """Seconds of the whole processes where hyperfine timed them, else from the start of the run to
    its finished record."""
    return seconds((run.record.document if run.timed is None else run.timed).get("wall_ns"))
