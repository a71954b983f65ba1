# SPDX-License-Identifier: MIT
"""The metrics of a record: the table METRICS, and their formulas.

A formula takes a MeasuredRun and returns a value in the base unit of its metric, or None if the
record does not have it. A new metric is a new row of METRICS, and a formula if none of these fits.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import methodcaller
from typing import Any, NamedTuple

from suite.base.errors import UsageError, nearest_hint
from suite.observe.histogram import Histogram
from suite.observe.measured import MeasuredRun, ends_sum, quotient, seconds, threads_sum, total
from suite.result.record import ENDS, Record

Formula = Callable[[MeasuredRun], float | None]
SEGMENTS = ("tcp_info", "data_segs_out", "sum")
SEGMENTS_IN = ("tcp_info", "data_segs_in", "sum")
# for replies of a foreign server: the count of the sender, and that of the receiver instead
RECEIVED_INSTEAD = {SEGMENTS: SEGMENTS_IN, ("records_sent",): ("records_received",),
             ("tls_bytes_sent",): ("tls_bytes_received",)}
RETRANSMITTED = ("tcp_info", "retrans_segs", "sum")
CPU_STATES = ("user", "system", "softirq", "irq", "steal", "idle")
NAME_PARTS = {"cpu": "CPU", "tls": "TLS", "p999": "p99.9"}  # how texts write parts of names
LATE = ("requests_late",)  # counts that depend on times
STALL, STALL_MIN_SHARE = "stall_per_message", 0.5  # of the time of a request
SPLITS = tuple((f"{end}user", f"{end}system")  # metrics that are parts of one CPU time
               for end in ("", *(f"{end}_" for end in ENDS)))
SHARES = {"p50": (0.50, "median"), "p90": (0.90, "90 % quantile"), "p99": (0.99, "99 % quantile"),
          "p999": (0.999, "99.9 % quantile")}


class Metric(NamedTuple):
    """One row. unit: the base unit (in CSV too). better: `lower` or `higher`. means: its help text.
    ranked: a quantile. A run may have too few values for it, or only a lower bound of it."""

    name: str
    unit: str
    better: str
    formula: Formula
    means: str
    ranked: bool = False

    @property
    def text(self) -> str:
        """The name in words: `CPU per message`, `latency p99.9`."""
        return " ".join(NAME_PARTS.get(part, part) for part in self.name.split("_"))

    @property
    def counts(self) -> bool:
        return self.unit == "1"

    @property
    def of_records(self) -> bool:
        """Whether it needs a security layer that counts its records."""
        return self.name.startswith(("records_", "tls_bytes_"))

    @property
    def timed(self) -> bool:
        """Whether it depends on the speed of the machine: a time, a rate, or a count of late
        requests. A stall does not: a timer of the kernel ends it, under emulation too."""
        return self.name != STALL and (not self.whole or self.name in LATE)

    @property
    def is_speed(self) -> bool:
        """Whether texts call a change `faster` or `slower`, and not `better` or `worse`."""
        return self.unit in ("1/s", "bit/s") or self.name.startswith(("time", "latency", "service"))

    @property
    def whole(self) -> bool:
        """Whether it counts events or bytes, so that rounds can have exactly the same value."""
        return self.unit in ("1", "B")


def stall_per_message(run: MeasuredRun) -> float | None:
    """The part of a request's time that CPU work cannot explain, even if all ends and connections
    computed one after another. 0 if that is less than STALL_MIN_SHARE of the time; unknown then if
    several requests were in flight, because one may have waited for the CPU work of another."""
    cpu, connections = run.cpu_all(), threads_sum(run.driver, "connections") or 1
    if run.streams or run.schedule_s or cpu is None or run.connection_s is None:
        return None
    idle, alone = run.connection_s - connections * cpu, run.record.words.get("depth", "1") == "1"
    if idle < STALL_MIN_SHARE * run.connection_s:
        return 0.0 if connections == 1 and alone else None
    return quotient(idle, run.messages)


def per_message_sent(ends: Iterable[Mapping[str, Any] | None], *path: str) -> float | None:
    return quotient(ends_sum(ends, *path), ends_sum(ends, "messages_sent"))


def received_per_reply(run: MeasuredRun, *path: str) -> float | None:
    return None if run.streams else quotient(threads_sum(run.driver, *path),
                                             threads_sum(run.driver, "messages_received"))


def sender_side(*path: str) -> Formula:
    """The formula of a count of the end that sends messages, per message."""
    return lambda run: per_message_sent(run.senders, *path)


def proxy_side(*path: str) -> Formula:
    """The formula of a count of the proxy, per message."""
    return lambda run: quotient(threads_sum(run.proxy, *path), run.messages)


def message_side(*path: str) -> Formula:
    """The formula of a count of sent things, per message: of the proxy if there is one, else of the
    end that sends messages. For a foreign proxy, the receivers of messages count instead."""
    sender, proxy = sender_side(*path), proxy_side(*path)

    def figure(run: MeasuredRun) -> float | None:
        if run.subject_relays:
            received = RECEIVED_INSTEAD.get(path)
            return quotient(ends_sum(run.receivers, *received), run.messages) if received else None
        return (sender if run.proxy is None else proxy)(run)
    return figure


def reply_side(*path: str) -> Formula:
    """The formula of a count of sent things, per reply, of the end that sends replies. For a
    foreign server with a protocol, the receiver of replies counts instead."""
    def figure(run: MeasuredRun) -> float | None:
        if run.foreign and run.framed:
            received = RECEIVED_INSTEAD.get(path)
            return received_per_reply(run, *received) if received else None
        return None if run.streams else per_message_sent([run.other], *path)
    return figure


def syscalls(run: MeasuredRun, end: Mapping[str, Any] | None) -> float | None:
    """All calls on the data path of an end, waits included, per message of the run."""
    connects = ["connect_calls"] if run.workload == "connect" else []
    return quotient(total(*(threads_sum(end, path) for path in (
        "write_calls", "read_calls", "wait_calls", *connects))), run.messages)


def copied_share(run: MeasuredRun) -> float | None:
    lending = [end for end in run.ends if threads_sum(end, "lent") is not None]
    return quotient(ends_sum(lending, "copied"), ends_sum(lending, "lent"))


def mapped_share(run: MeasuredRun) -> float | None:
    mapping = [end for end in run.ends if threads_sum(end, "mapped_bytes") is not None]
    mapped = ends_sum(mapping, "mapped_bytes")
    return quotient(mapped, total(mapped, ends_sum(mapping, "copied_bytes")))


def peer_window(run: MeasuredRun) -> float | None:
    """Bytes: the largest window advertised to the end that sends messages, or to the proxy."""
    senders = [run.proxy] if run.subject_relays or run.proxy is not None else run.senders
    windows = [thread.get("tcp_info", {}).get("largest_peer_window_bytes", {}).get("max")
               for end in senders for thread in (end or {}).get("threads", ())]
    return None if not windows or None in windows else max(windows)


def captured_per_reply(run: MeasuredRun) -> float | None:
    replies = (threads_sum(run.driver, "messages_received") if run.foreign and run.framed
               else threads_sum(run.other, "messages_sent"))
    return None if run.streams or not run.captured else quotient(
        run.captured["received"]["data_segments"], replies)


def captured_extreme(key: str, choose: Callable[..., float | None]) -> Formula:
    """The formula of the smallest or largest payload of a segment in the direction of messages."""
    return lambda run: choose((counts[key] for counts in run.captured_messages if key in counts),
                              default=None)


def capture_difference(run: MeasuredRun) -> float | None:
    """The largest difference in segments between the capture and TCP_INFO, over directions and
    ends. TCP_INFO has one less for a close_notify that shared a segment. The server's TCP_INFO
    counts only on a direct connection without retransmits. If both ends send, only receivers count:
    segments may leave after a sender has read its TCP_INFO."""
    if not run.captured:
        return None
    sent, received = run.captured["sent"], run.captured["received"]
    ends = [(run.client, sent, received)]
    direct = not run.subject_relays and run.proxy is None
    if direct and not any(threads_sum(end, *RETRANSMITTED) for end in run.ends):
        ends.append((run.server, received, sent))
    pairs = [(back, back["retransmitted_segments"], threads_sum(end, *SEGMENTS_IN))
             for end, _, back in ends]
    if len(run.senders) == 1:
        pairs += [(out, 0, threads_sum(end, *SEGMENTS)) for end, out, _ in ends]
    return max((abs(way["data_segments"] - way.get("shared_close_notifies", 0) + resent - counted)
                for way, resent, counted in pairs if counted is not None), default=None)


def memory_per_connection(name: str) -> Formula:
    """The formula of the growth of an end's resident memory by a run, per connection, in bytes."""
    def grown(run: MeasuredRun) -> float | None:
        end = run.record.end(name)
        if end is None or "resident_bytes" not in end:
            return None
        return quotient(end["resident_bytes"] - end["resident_before_bytes"],
                        threads_sum(end, "connections"))
    return grown


def of_histogram(name: str, value_of: Callable[[Histogram], float | None]) -> Formula:
    """The formula of a value of a histogram, in seconds; it may be Beyond."""
    def figure(run: MeasuredRun) -> float | None:
        histogram = run.histograms[name]
        return seconds(value_of(histogram)) if histogram else None
    return figure


def cpu_part(key: str, name: str = "") -> Formula:
    """The formula of CPU seconds of one kind: of whole processes if hyperfine timed them, else of
    data threads in the measured interval. name: one end; by default all ends together."""
    def part(run: MeasuredRun) -> float | None:
        end = run.record.end(name) if name else None
        if run.timed is not None:
            return seconds(((end or {}).get("process", {}) if name else run.timed).get(key))
        return seconds(ends_sum([end] if name else run.sides, "cpu", key)) if run.ends else None
    return part


def softirq(run: MeasuredRun) -> float | None:
    """Seconds in softirq during the measured interval, summed over the machines, each once."""
    machines = {} if run.subject is None else {run.subject["host"]: None}
    machines |= {end.get("host"): end.get("machine", {}).get("softirq_ns")
                 for end in reversed(run.ends)}
    return seconds(total(*machines.values())) if machines else None


def load_cpu(run: MeasuredRun) -> float | None:
    """CPU seconds of the load. The sum of user and system is exact, each of them is sampled."""
    if run.record.load is None or run.timed is None:
        return None
    return seconds(run.timed["user_ns"] + run.timed["system_ns"])


def distribution(name: str, of: str, shares: Iterable[str] = SHARES) -> tuple[Metric, ...]:
    """The rows of one histogram of a time: these quantiles, and the maximum. of: which time."""
    return (*(Metric(f"{name}_{key}", "s", "lower",
                     of_histogram(name, methodcaller("quantile", SHARES[key][0])),
                     f"{SHARES[key][1]} of {of}", ranked=True) for key in shares),
            Metric(f"{name}_max", "s", "lower", of_histogram(name, Histogram.largest),
                   f"maximum of {of}", ranked=True))


METRICS = {metric.name: metric for metric in (
    Metric("time_per_message", "s", "lower",
           lambda run: quotient(run.elapsed_s if run.streams else run.connection_s, run.messages),
           "mean time of a request on its connection; of a stream: the receiver's time"),
    Metric(STALL, "s", "lower", stall_per_message,
           "the part of a request's time that no CPU work explains, if that is most of it"),
    Metric("messages_per_second", "1/s", "higher",
           lambda run: quotient(run.messages, run.elapsed_s),
           "messages of all threads / time from first start to last end; of a load: its requests"),
    Metric("bandwidth", "bit/s", "higher",
           lambda run: quotient(run.payload and 8 * run.payload, run.elapsed_s),
           "payload of messages at the receiver"),
    Metric("segments_per_message", "1", "lower", message_side(*SEGMENTS),
           "data segments of the end that sends messages, or of the proxy; without retransmits"),
    Metric("segments_per_reply", "1", "lower", reply_side(*SEGMENTS),
           "data segments of the end that sends replies; of a subject: that the client received"),
    Metric("retransmits_per_message", "1", "lower",
           lambda run: quotient(ends_sum(run.sides, *RETRANSMITTED), run.messages),
           "data segments that any end retransmitted"),
    Metric("captured_segments_per_message", "1", "lower",
           lambda run: quotient(run.captured_sum("data_segments"), run.messages),
           "capture=on: data segments in the direction of messages, at the client's device"),
    Metric("captured_segments_per_reply", "1", "lower", captured_per_reply,
           "capture=on: data segments in the direction of replies"),
    Metric("smallest_segment", "B", "higher", captured_extreme("smallest_bytes", min),
           "capture=on: the smallest payload of a segment in the direction of messages"),
    Metric("largest_segment", "B", "higher", captured_extreme("largest_bytes", max),
           "capture=on: the largest payload of a segment in the direction of messages"),
    Metric("super_packets", "1", "lower", lambda run: run.captured_sum("super_packets"),
           "capture=on: packets above the MSS in the direction of messages, not cut up yet"),
    Metric("capture_difference", "1", "lower", capture_difference,
           "capture=on: largest difference between capture and TCP_INFO, in segments"),
    Metric("records_per_message", "1", "lower", message_side("records_sent"),
           "TLS records of the end that sends messages, or of the proxy"),
    Metric("records_per_reply", "1", "lower", reply_side("records_sent"),
           "TLS records of the end that sends replies; of a subject: that the client received"),
    Metric("tls_bytes_per_message", "B", "lower", message_side("tls_bytes_sent"),
           "bytes of the TLS records of messages, headers included"),
    Metric("tls_bytes_per_reply", "B", "lower", reply_side("tls_bytes_sent"),
           "bytes of the TLS records of replies, headers included"),
    Metric("sends_per_message", "1", "lower", sender_side("write_calls"),
           "write calls of the end that sends messages, cork's setsockopt included"),
    Metric("sends_per_reply", "1", "lower", reply_side("write_calls"),
           "write calls of the end that sends replies"),
    Metric("reads_per_reply", "1", "lower", lambda run: received_per_reply(run, "read_calls"),
           "read calls of the end that receives replies"),
    Metric("syscalls_per_message", "1", "lower", lambda run: syscalls(run, run.client),
           "system calls on the data path of the client"),
    Metric("server_syscalls_per_message", "1", "lower", lambda run: syscalls(run, run.server),
           "system calls on the data path of the server"),
    Metric("proxy_sends_per_message", "1", "lower", proxy_side("write_calls"),
           "write calls of the proxy"),
    Metric("proxy_syscalls_per_message", "1", "lower", lambda run: syscalls(run, run.proxy),
           "system calls on the data path of the proxy"),
    Metric("proxy_chunks_per_group", "1", "higher",
           lambda run: quotient(threads_sum(run.proxy, "chunks_sent"),
                                threads_sum(run.proxy, "groups_sent")),
           "chunks that the proxy received one by one and sent together"),
    *(Metric(f"{prefix}ring_{what}_per_message", "1", "lower", side(what),
             f"{what} of the io_uring of {whose}")
      for prefix, side, whose in (("", sender_side, "the end that sends messages"),
                                  ("proxy_", proxy_side, "the proxy"))
      for what in ("requests", "completions")),
    Metric("copied_share", "1", "lower", copied_share,
           "share of zero-copy sends that the kernel copied nevertheless, 0 to 1"),
    Metric("mapped_share", "1", "higher", mapped_share,
           "share of received bytes that read=zerocopy mapped instead of copying, 0 to 1"),
    Metric("cpu_per_message", "s", "lower", lambda run: quotient(run.cpu_all(), run.messages),
           "CPU of the data threads of all ends, and of a subject"),
    Metric("client_cpu_per_message", "s", "lower",
           lambda run: quotient(load_cpu(run) if run.record.load else run.cpu(run.client),
                                run.messages),
           "CPU of the client's threads, or of the whole process of a load"),
    Metric("server_cpu_per_message", "s", "lower",
           lambda run: quotient(run.served_cpu("server"), run.messages),
           "CPU of the server's threads, or of the whole process of a subject"),
    Metric("proxy_cpu_per_message", "s", "lower",
           lambda run: quotient(run.served_cpu("proxy"), run.messages),
           "CPU of the proxy's threads, or of the whole process of a subject that relays"),
    Metric("cpu_per_byte", "s", "lower", lambda run: quotient(run.cpu_all(), run.payload),
           "CPU of all ends per byte of payload at the receiver"),
    Metric("proxy_cpu_per_byte", "s", "lower",
           lambda run: quotient(run.served_cpu("proxy"), run.payload),
           "CPU of the proxy per byte of payload at the receiver"),
    *distribution("latency", "the time from a request to its reply; open loop: from its intended "
                             "start"),
    *distribution("service", "the time from the send of a request to its reply, in an open loop"),
    *distribution("late_start", "the delay of a send behind its intended start, in an open loop",
                  ("p50", "p99")),
    *distribution("handover", "the time until the sender thread has a request (handoff=thread)"),
    Metric("handshakes_per_second", "1/s", "higher",
           lambda run: quotient(threads_sum(run.driver, "handshakes"), run.elapsed_s),
           "TLS handshakes that the client completed (workload=connect)"),
    *distribution("handshake", "the time from the client's first handshake call to the end of the "
                               "handshake"),
    Metric("peer_window", "B", "higher", peer_window,
           "largest window that the receiver of messages advertised, over its connections"),
    Metric("requests_late", "1", "lower", lambda run: run.late,
           "open loop: requests of a run that were due and never sent"),
    Metric("memory_per_connection", "B", "lower", memory_per_connection("client"),
           "resident memory of the client per connection; coarse below some hundred connections"),
    Metric("server_memory_per_connection", "B", "lower", memory_per_connection("server"),
           "resident memory of the server per connection"),
    Metric("time", "s", "lower",
           lambda run: seconds((run.timed or run.record.document).get("wall_ns")),
           "time of the whole client process, or of a load, by hyperfine"),
    Metric("user", "s", "lower", cpu_part("user_ns"),
           "CPU of all ends in user mode; by hyperfine of whole processes or a load, else of data "
           "threads"),
    Metric("system", "s", "lower", cpu_part("system_ns"),
           "CPU of all ends in the kernel; by hyperfine of whole processes or a load, else of data "
           "threads"),
    *(Metric(f"{end}_{key}", "s", "lower", cpu_part(f"{key}_ns", end), f"{key} of the {end} alone")
      for end in ENDS for key in ("user", "system")),
    Metric("load_cpu", "s", "lower", load_cpu,
           "CPU of a load and of what it starts, by hyperfine (workload=command)"),
    Metric("subject_cpu", "s", "lower",
           lambda run: seconds((run.subject or {}).get("cpu_ns")) if run.record.load else None,
           "CPU of the whole process of a subject while its load was timed (workload=command)"),
    Metric("softirq", "s", "lower", softirq,
           "softirq time of all CPUs of the machines of both ends, of other work too"),
)}


def metric_find(name: str, where: str) -> Metric:
    """The metric of that name; UsageError says where the name stands and names the nearest."""
    if name not in METRICS:
        hint = nearest_hint(name, METRICS) or " (uncork list shows them)"
        raise UsageError(f'{where}: unknown metric "{name}"{hint}')
    return METRICS[name]


def metrics_compute(record: Record) -> dict[str, float | None]:
    """Every metric of a record by name; all None unless its status is `ok`."""
    if record.status != "ok":
        return dict.fromkeys(METRICS)
    run = MeasuredRun(record)
    return {name: metric.formula(run) for name, metric in METRICS.items()}
