# SPDX-License-Identifier: MIT
"""Each allocation of a server may fail, and each open, accept and socket: it says so to its client
at most, and serves the next one.

A library in the server counts these calls from the moment when a test asks for it, and lets one of
them fail. Sessions without a failure come before, because the first ones also fill caches.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from programs import Server, client_run, open_files, preloaded, server_started, settled

# The calls that may fail; those of some libraries may not, which end the process.
LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

struct state { atomic_long left, calls; }; /* left: -1 none is counted */
static struct state none = {-1, 0}, *state = &none;

__attribute__((constructor)) static void begin(void)
{
    int (*really)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    int fd = really(getenv("FAILURES"), O_RDWR);
    void *at = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        state = at;
}

/* libuv 1.44 aborts where the list of descriptors of a loop cannot grow (maybe_resize()), and GMP
 * where it has no memory. GnuTLS 3.7.9 frees twice at the end of a session that lacked memory. */
static int is_spared(const void *caller, int reallocates)
{
    static const char *const libraries[] = {"/libgnutls", "/libgmp", "/libnettle", "/libhogweed",
                                            "/libtasn1"};
    Dl_info info;
    if (!dladdr(caller, &info) || !info.dli_fname)
        return 0;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strstr(info.dli_fname, libraries[i]))
            return 1;
    return reallocates && strstr(info.dli_fname, "/libuv");
}

static int fails(int number)
{
    atomic_fetch_add(&state->calls, 1);
    if (atomic_load(&state->left) < 0 || atomic_fetch_sub(&state->left, 1) != 0)
        return 0; /* after a failure left is -1, which the next calls leave alone */
    errno = number;
    return 1;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
#define NO_MEMORY(reallocates)                                                                     \
    (atomic_load(&state->left) != -1 &&                                                            \
     !is_spared(__builtin_return_address(0), reallocates) && fails(ENOMEM))
void *malloc(size_t size) { return NO_MEMORY(0) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size)
{
    return NO_MEMORY(0) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) { return NO_MEMORY(1) ? NULL : __libc_realloc(old, size); }

#define NEXT(name, parameters, arguments)                                                          \
    int name parameters                                                                            \
    {                                                                                              \
        static int(*really) parameters;                                                            \
        if (!really)                                                                               \
            really = dlsym(RTLD_NEXT, #name);                                                      \
        return fails(EMFILE) ? -1 : really arguments;                                              \
    }
NEXT(socket, (int family, int type, int protocol), (family, type, protocol))
NEXT(accept, (int fd, struct sockaddr *at, socklen_t *size), (fd, at, size))
NEXT(accept4, (int fd, struct sockaddr *at, socklen_t *size, int flags), (fd, at, size, flags))
NEXT(epoll_create1, (int flags), (flags))
int open(const char *path, int flags, ...)
{
    static int (*really)(const char *, int, ...);
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    if (!really)
        really = dlsym(RTLD_NEXT, "open");
    return fails(EMFILE) ? -1 : really(path, flags, mode);
}
FILE *fopen(const char *path, const char *how)
{
    static FILE *(*really)(const char *, const char *);
    if (!really)
        really = dlsym(RTLD_NEXT, "fopen");
    return fails(EMFILE) ? NULL : really(path, how);
}
"""

GOOD = "messages=3 warmup=0s place=free"
# the second is refused by the server: its words are right for the client
SESSIONS = {
    "block": f"{GOOD} message=15x2/3",
    "refused": f"{GOOD} workload=connect server.engine=block",
    "poll": f"{GOOD} engine=poll connections=2 write=coalesce",
    "connect": f"{GOOD} workload=connect engine=poll",
    "gnutls": f"{GOOD} security=gnutls",
    "openssl": f"{GOOD} security=openssl",
}
NEVER = 1 << 40  # calls
SAMPLE = 16  # failures for each of two sessions of the usual run


@dataclass
class Failing:
    """A server in which a call can fail."""

    server: Server
    state: mmap.mmap

    @property
    def calls(self) -> int:
        return struct.unpack("qq", self.state[:16])[1]

    def session(self, words: str, left: int = NEVER) -> str:
        """What a client says on standard error, of whose session this many calls of the server
        succeed before one fails."""
        self.state[:16] = struct.pack("qq", left, 0)
        try:
            done = client_run(f"server={self.server.address}", *words.split(), within_s=30)
        finally:
            self.state[:8] = struct.pack("q", -1)
        assert done.returncode in (0, 1) and done.stderr.count("\n") == done.returncode, done
        return done.stderr


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[Failing]:
    (tmp_path / "failures").write_bytes(struct.pack("qq", -1, 0))
    environment = preloaded(tmp_path, LIBRARY) | {"FAILURES": str(tmp_path / "failures")}
    descriptor = os.open(tmp_path / "failures", os.O_RDWR)
    with mmap.mmap(descriptor, 16) as state, server_started(environment=environment) as server:
        yield Failing(server, state)
    os.close(descriptor)


def fail_each(failing: Failing, words: str, sample: int | None) -> None:
    """Lets each call of a session fail, or a sample of them; a good session follows each."""
    said = [failing.session(words) for _ in range(3)][-1]
    count, files = failing.calls, open_files(failing.server.pid)
    step = 1 if sample is None else max(1, count // sample)
    for left in range(0, count + 5, step):
        failing.session(words, left)
        assert failing.server.process.poll() is None, f"the server ended: call {left} failed"
        after = failing.session(words)
        assert after == said, f"after call {left} of {count} failed: {after}"
    settled(failing.server.pid, files)


@pytest.mark.parametrize("name", ["block", "refused"])
def test_a_server_outlives_a_sample_of_failed_calls(failing: Failing, name: str) -> None:
    fail_each(failing, SESSIONS[name], SAMPLE)


@pytest.mark.long
@pytest.mark.parametrize("name", SESSIONS)
def test_a_server_outlives_every_failed_call(failing: Failing, name: str) -> None:
    fail_each(failing, SESSIONS[name], None)
