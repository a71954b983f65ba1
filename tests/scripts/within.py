# SPDX-License-Identifier: MIT
"""`uncork` within this process: a start of its own takes half a second, most of it for imports."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from suite.__main__ import main

HANDLED = (signal.SIGTERM, signal.SIGHUP)  # by `uncork run`, as if by Ctrl-C


def uncork_call(arguments: Iterable[object],
                environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What `uncork ARGUMENTS` says and its exit status; the environment's words are added for the
    time of the call.

    A traceback is an exception, which fails the test.
    """
    words = [str(argument) for argument in arguments]
    out, error = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in HANDLED}
    try:
        with (mock.patch.dict(os.environ, environment), redirect_stdout(out),
              redirect_stderr(error), mock.patch.object(sys, "argv", ["uncork", *words])):
            status = main(words)
    except SystemExit as end:  # --help
        status = end.code if isinstance(end.code, int) else 0
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return subprocess.CompletedProcess(words, status, out.getvalue(), error.getvalue())
