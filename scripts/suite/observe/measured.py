# SPDX-License-Identifier: MIT
"""A measured run: a record of status `ok`, and which role each of its ends has.

A value that the record does not have is None, and never becomes a zero.

Terms. The *driver* is the end that sends `message`. The *other* end answers or receives;
`transport=null` has a driver only. A *proxy* stands between the two. *Messages* of a run are those
that the driver finished (`request`), or that the receiver read (`stream`, `proxy`).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from suite.base.units import Beyond
from suite.observe.histogram import Histogram, histogram_read, histograms_merge
from suite.result.record import ENDS, Record
from suite.scenario.scenario import HISTOGRAMS

NANOSECOND = 1e-9
FROM_INTENDED = ("latency", "late_start")  # begin at the time when a request is due
STREAMS = ("stream", "proxy")  # workloads that the receiver times
MaybeEnd = Mapping[str, Any] | None  # an end of a record; None: a foreign peer, or no such end


def threads_sum(end: MaybeEnd, *path: str) -> float | None:
    """The sum of the number at path over an end's threads; None if a thread lacks it."""
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


def ends_sum(ends: Iterable[MaybeEnd], *path: str) -> float | None:
    """The sum over all threads of these ends; None if a thread lacks it."""
    return total(*(threads_sum(end, *path) for end in ends))


def elapsed_together(end: MaybeEnd) -> float | None:
    """Seconds from the earliest start to the latest finish of the threads that had messages."""
    threads = [thread for thread in (end or {}).get("threads", ())
               if thread.get("messages_sent") != 0 or thread.get("messages_received") != 0]
    begun = [thread.get("begun_ns") for thread in threads]
    ended = [thread.get("ended_ns") for thread in threads]
    if not threads or None in begun or None in ended:
        return None
    return (max(ended) - min(begun)) * NANOSECOND


def received_rate(end: MaybeEnd) -> float | None:
    """Bytes per second that an end received of a stream. Its clock starts when the first bytes have
    arrived, so they are not counted."""
    first = sum(thread.get("first_bytes", 0) for thread in (end or {}).get("threads", ()))
    return quotient(total(threads_sum(end, "bytes_received"), -first), elapsed_together(end))


def quotient(numerator: float | None, denominator: float | None) -> float | None:
    """numerator / denominator; None if one is unknown, or the denominator is 0."""
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def seconds(value_ns: float | None) -> float | None:
    """A time in seconds; a lower bound stays one."""
    if isinstance(value_ns, Beyond):
        return Beyond(value_ns * NANOSECOND)
    return None if value_ns is None else value_ns * NANOSECOND


def total(*parts: float | None) -> float | None:
    """The sum; None if one part is unknown."""
    return None if None in parts else sum(part for part in parts if part is not None)


class MeasuredRun:
    """A record of status `ok`, and which role each of its ends has; read-only.

    timed: times by hyperfine. framed: a protocol frames requests and replies.
    ends: the ends in the record; sides: also a foreign peer or a subject, as None.
    subject: the facts about it; subject_relays: it is the proxy.
    receives_only: the driver only receives, from a foreign peer that sends without end.
    other: in direction=both it drives too; None for transport=null.
    senders: the ends that send `message`, two in direction=both; receivers: their peers.
    payload: bytes of `message` that were received.
    due, late: open loop: requests that were to start in the measured interval; those never sent.
    captured: the client's capture, None unless it is whole; captured_messages: its counts in each
    direction of messages.
    """

    def __init__(self, record: Record) -> None:
        self.record, words = record, record.words
        self.client, self.server, self.proxy = map(record.end, ENDS)
        self.timed = record.hyperfine
        self.workload = words.get("workload", "")
        self.streams = self.workload in STREAMS
        self.receives_only = "peer" in words and words.get("direction") == "receive"
        self.ends = [end for end in (self.client, self.server, self.proxy) if end is not None]
        self.subject = record.subject
        self.framed = words.get("protocol", "raw") != "raw"
        self.foreign = "peer" in words or self.subject is not None
        self.subject_relays = self.subject is not None and self.workload == "proxy"
        self.sides: list[MaybeEnd] = [*self.ends, *([None] if self.foreign else [])]
        self.driver = next((end for end in self.ends if end.get("drives")), None)
        self.other = next((end for end in (self.client, self.server)
                           if end is not None and end is not self.driver), None)
        both = self.driver is not None and self.other is not None and self.other.get("drives")
        drivers = [self.driver, self.other] if both else [self.driver]
        self.senders: list[MaybeEnd] = [None] if self.receives_only else drivers
        self.receivers = ([self.driver] if self.receives_only
                          else [self.other, self.driver][:len(drivers)])
        self.payload = ends_sum(self.receivers, "bytes_received")
        self.due, self.late = (threads_sum(self.driver, key) for key in ("due", "late"))
        capture: Mapping[str, Any] = (self.client or {}).get("capture") or {}
        whole = capture and not capture["dropped"] and not capture["truncated"]
        self.captured = capture if whole else None
        self.captured_messages = [capture["sent" if end is self.client else "received"]
                                  for end in self.senders] if whole else []

    @cached_property
    def messages(self) -> float | None:
        """Messages finished by the driver, or received of a stream; of a load: the requests in its
        output."""
        if self.record.load is not None:
            return self.record.load.get("requests")
        if self.streams and (self.other is not None or self.receives_only):
            return ends_sum(self.receivers, "messages_received")
        return threads_sum(self.driver, "messages_sent")

    @cached_property
    def elapsed_s(self) -> float | None:
        """Seconds that the messages took, by the driver. A stream: payload / the rate of its
        receiver; the rates of two receivers add up. An open loop: at least the time of its
        schedule. A load: its whole time."""
        if self.record.load is not None and self.timed is not None:
            return seconds(self.timed["wall_ns"])
        if not self.streams or (self.other is None and not self.receives_only):
            done = elapsed_together(self.driver)
            return done if done is None else max(done, self.schedule_s)
        return quotient(self.payload, total(*(received_rate(end) for end in self.receivers)))

    @cached_property
    def histograms(self) -> dict[str, Histogram | None]:
        """Each of HISTOGRAMS, merged over the driver's threads; None if a thread with replies lacks
        it. A request that was due and never sent counts as slower than all others."""
        threads = (self.driver or {}).get("threads", ())
        answered = [thread for thread in threads if thread.get("messages_received") != 0]
        found: dict[str, Histogram | None] = {}
        for name in HISTOGRAMS:
            parts = [histogram_read(thread[name]) for thread in threads if name in thread]
            if name in FROM_INTENDED and self.late:
                parts.append(Histogram(0, 0, 0, 0, (), int(self.late)))
            whole = not self.streams and all(name in thread for thread in answered)
            found[name] = histograms_merge(parts) if whole else None
        return found

    def captured_sum(self, key: str) -> float | None:
        """A count of the capture in the direction of the messages; None without a whole capture."""
        return sum(way[key] for way in self.captured_messages) if self.captured else None

    @cached_property
    def schedule_s(self) -> float:
        """Open loop: seconds in which so many requests become due; 0 in a closed loop."""
        rate = self.record.words.get("rate", "closed")
        return 0.0 if rate == "closed" else (self.due or 0.0) / float(rate)

    @cached_property
    def connection_s(self) -> float | None:
        """Seconds of all the driver's connections, summed; in an open loop each has at least those
        of its schedule. None if a thread has no time."""
        threads = (self.driver or {}).get("threads", ())
        if any("elapsed_ns" not in thread for thread in threads):
            return None
        return sum(max(thread["elapsed_ns"] * NANOSECOND, self.schedule_s)
                   * thread.get("connections", 1) for thread in threads) or None

    def cpu(self, end: MaybeEnd) -> float | None:
        """CPU seconds of an end's data threads, user and system."""
        return total(*(seconds(threads_sum(end, "cpu", key)) for key in ("user_ns", "system_ns")))

    def served_cpu(self, name: str) -> float | None:
        """CPU seconds of the data threads of `server` or `proxy`, or of the subject in its role."""
        if self.subject is not None and self.subject_relays == (name == "proxy"):
            return seconds(self.subject["cpu_ns"])
        return self.cpu(self.record.end(name))

    def cpu_all(self) -> float | None:
        """CPU seconds of the data threads of every end, and of a subject."""
        role = "proxy" if self.subject_relays else "server"
        others = [self.served_cpu(role)] if self.foreign else []
        return total(*map(self.cpu, self.ends), *others) if self.ends else None


def histogram_of(runs: Sequence[MeasuredRun], name: str) -> Histogram | None:
    """One of HISTOGRAMS, merged over all runs that have it."""
    return histograms_merge([found for run in runs if (found := run.histograms[name])])
