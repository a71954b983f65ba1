# SPDX-License-Identifier: MIT
"""What is derived from a record: the one table of metrics.

A metric is a row of METRICS; adding one is adding a row, and a formula where none of formulas.py
fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from suite.analyse.formulas import (
    RETRANSMITTED,
    SEGMENTS,
    Formula,
    bandwidth,
    capture_difference,
    captured_extreme,
    captured_per_message,
    captured_per_reply,
    captured_uncut,
    copied_share,
    cpu_part,
    mapped_share,
    memory_per_connection,
    message_side,
    of_histogram,
    peer_window,
    per_message_sent,
    quantile_of,
    reply_side,
    softirq,
    steal_of,
    syscalls,
    time_per_message,
    wall_time,
)
from suite.analyse.measured import MeasuredRun, ends_sum, quotient, threads_sum
from suite.base.errors import UsageError, nearest_hint
from suite.result.record import ENDS, Record
from suite.stats.histogram import Histogram


class Metric(NamedTuple):
    """One row: unit is the base unit (in CSV too); better is `lower` or `higher`; ranked: a
    quantile, which a run may have too few values to know, or of which it may know only a bound."""

    name: str
    unit: str
    better: str
    formula: Formula
    means: str
    ranked: bool = False

    @property
    def text(self) -> str:
        """Its name as words: `CPU per message`, `latency p99.9`."""
        words = (NAME_PARTS.get(part, part) for part in self.name.split("_"))
        return " ".join(words)

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
    def timed(self) -> bool:
        """Whether it tells how fast something was: a time, a rate, or how much was too late."""
        return not self.whole or self.name in LATE

    @property
    def whole(self) -> bool:
        """Whether it comes from whole things, events or bytes, so that rounds can agree exactly."""
        return self.unit in ("1", "B")


# parts of names that are written otherwise in text
NAME_PARTS = {"cpu": "CPU", "tls": "TLS", "p999": "p99.9"}
LATE = ("requests_late",)  # counts of what was not done in time
SPLITS = {f"{end}{key}": end for end in ("", *(f"{end}_" for end in ENDS))
          for key in ("user", "system")}  # metric: what the two parts of one CPU time begin with


SHARES = {"p50": (0.50, "median"), "p90": (0.90, "90 % quantile"), "p99": (0.99, "99 % quantile"),
          "p999": (0.999, "99.9 % quantile")}


def distribution(name: str, of: str, shares: Iterable[str] = SHARES) -> tuple[Metric, ...]:
    """The rows of one histogram: these quantiles and the maximum of a time. of: which time."""
    return (*(Metric(f"{name}_{key}", "s", "lower", quantile_of(name, SHARES[key][0]),
                     f"{SHARES[key][1]} of {of}", ranked=True) for key in shares),
            Metric(f"{name}_max", "s", "lower", of_histogram(name, Histogram.largest),
                   f"maximum of {of}", ranked=True))


METRICS = {metric.name: metric for metric in (
    Metric("time_per_message", "s", "lower", time_per_message,
           "mean time of a request on its connection; of a stream: at the receiver"),
    Metric("messages_per_second", "1/s", "higher", lambda run: quotient(run.messages, run.elapsed),
           "messages of all threads / time from the first thread's start to the last one's end"),
    Metric("bandwidth", "bit/s", "higher", bandwidth, "payload of messages at the receiver"),
    Metric("segments_per_message", "1", "lower", message_side(*SEGMENTS),
           "data segments of the end that sends messages, or of the proxy; without retransmits"),
    Metric("segments_per_reply", "1", "lower", reply_side(*SEGMENTS),
           "data segments of the end that sends replies"),
    Metric("retransmits_per_message", "1", "lower",
           lambda run: quotient(ends_sum(run.sides, *RETRANSMITTED), run.messages),
           "data segments that any end sent again"),
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
           "capture=on: largest difference between capture and TCP_INFO, in segments"),
    Metric("records_per_message", "1", "lower", message_side("records_sent"),
           "TLS records of the end that sends messages, or of the proxy"),
    Metric("records_per_reply", "1", "lower", reply_side("records_sent"),
           "TLS records of the end that sends replies"),
    Metric("tls_bytes_per_message", "B", "lower", message_side("tls_bytes_sent"),
           "bytes of the TLS records of messages, headers included"),
    Metric("tls_bytes_per_reply", "B", "lower", reply_side("tls_bytes_sent"),
           "bytes of the TLS records of replies, headers included"),
    Metric("sends_per_message", "1", "lower",
           lambda run: per_message_sent(run.senders, "write_calls"),
           "write calls of the end that sends messages, cork's setsockopt included"),
    Metric("sends_per_reply", "1", "lower", reply_side("write_calls"),
           "write calls of the end that sends replies"),
    Metric("syscalls_per_message", "1", "lower", lambda run: syscalls(run, run.client),
           "system calls on the data path of the client"),
    Metric("server_syscalls_per_message", "1", "lower", lambda run: syscalls(run, run.server),
           "system calls on the data path of the server"),
    Metric("proxy_sends_per_message", "1", "lower",
           lambda run: quotient(threads_sum(run.proxy, "write_calls"), run.messages),
           "write calls of the proxy"),
    Metric("proxy_syscalls_per_message", "1", "lower", lambda run: syscalls(run, run.proxy),
           "system calls on the data path of the proxy"),
    Metric("proxy_chunks_per_group", "1", "higher",
           lambda run: quotient(threads_sum(run.proxy, "chunks_sent"),
                                threads_sum(run.proxy, "groups_sent")),
           "chunks that the proxy received one by one and sent together"),
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
           "share of zero-copy sends that the kernel copied all the same, 0 to 1"),
    Metric("mapped_share", "1", "higher", mapped_share,
           "share of received bytes that read=zerocopy mapped and did not copy, 0 to 1"),
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
    *distribution("latency", "the time from a request to its reply; open loop: from its intended "
                             "start"),
    *distribution("service", "the time from the send of a request to its reply, in an open loop"),
    *distribution("late_start", "the delay of a send behind its intended start, in an open loop",
                  ("p50", "p99")),
    *distribution("handover", "the time until the sender thread has a request (handoff=thread)"),
    Metric("handshakes_per_second", "1/s", "higher",
           lambda run: quotient(threads_sum(run.driver, "handshakes"), run.elapsed),
           "TLS handshakes that the client completed (workload=connect)"),
    *distribution("handshake", "the time from the client's first handshake call to the end of the "
                               "handshake"),
    Metric("peer_window", "B", "higher", peer_window,
           "largest window that the receiver of messages advertised, over its connections"),
    Metric("requests_late", "1", "lower", lambda run: run.late,
           "open loop: requests of a run that were due and never sent"),
    Metric("memory_per_connection", "B", "lower",
           lambda run: memory_per_connection(run.client),
           "resident memory of the client per connection; coarse below some hundred connections"),
    Metric("server_memory_per_connection", "B", "lower",
           lambda run: memory_per_connection(run.server),
           "resident memory of the server per connection"),
    Metric("time", "s", "lower", wall_time,
           "time of the whole client process, by hyperfine"),
    Metric("user", "s", "lower", cpu_part("user_ns"),
           "CPU of all ends in user mode; by hyperfine of whole processes, else of data threads"),
    Metric("system", "s", "lower", cpu_part("system_ns"),
           "CPU of all ends in the kernel; by hyperfine of whole processes, else of data threads"),
    *(Metric(f"{end}_{key}", "s", "lower", cpu_part(f"{key}_ns", end),
             f"{key} of the {end} alone")
      for end in ENDS for key in ("user", "system")),
    *(Metric(f"{end}_steal", "1", "lower", steal_of(end),
             f"share of the CPUs of the {end}'s machine that its host gave to others, 0 to 1")
      for end in ENDS),
    Metric("softirq", "s", "lower", softirq,
           "softirq time of all CPUs of the machines of both ends, of other work too"),
)}


def metric_find(name: str, where: str) -> Metric:
    """The metric of that name; UsageError says where it stood and names the nearest."""
    if name not in METRICS:
        hint = nearest_hint(name, METRICS) or " (uncork list shows them)"
        raise UsageError(f'{where}: unknown metric "{name}"{hint}')
    return METRICS[name]


def metrics_compute(record: Record) -> dict[str, float | None]:
    """Every metric of a record by name; all None where its status is not `ok`."""
    if record.status != "ok":
        return dict.fromkeys(METRICS)
    run = MeasuredRun(record)
    return {name: metric.formula(run) for name, metric in METRICS.items()}


def is_speed(metric: Metric) -> bool:
    """Whether more or less of a metric is called faster and slower."""
    return metric.unit in ("1/s", "bit/s") or metric.name.startswith(("time", "latency", "service"))
