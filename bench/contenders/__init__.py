# SPDX-License-Identifier: MIT
"""The contenders by name: one file each, one line here."""

from __future__ import annotations

from bench.contenders import (
    floor,
    iperf3,
    libnbd,
    liburing,
    nbdkit,
    neper,
    netperf,
    openssl,
    sockperf,
)

CONTENDERS = {contender.name: contender for contender in (
    floor.CONTENDER,
    iperf3.CONTENDER,
    sockperf.CONTENDER,
    netperf.CONTENDER,
    neper.CONTENDER,
    liburing.CONTENDER,
    libnbd.CONTENDER,
    nbdkit.CONTENDER,
    openssl.CONTENDER,
)}
