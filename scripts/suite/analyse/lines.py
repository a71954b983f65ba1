# SPDX-License-Identifier: MIT
"""The lines of a file, one after the other, however long the file is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader

CHUNK_BYTES = 1 << 20
LINE_BYTES_MOST = 64 << 20  # a record with hundreds of threads has some MiB


def digest_new() -> hashlib.blake2b:
    """What a file's bytes are held against."""
    return hashlib.blake2b(digest_size=32)


def digest_read(file: BufferedReader, size_bytes: int) -> hashlib.blake2b:
    """The digest of the next so many bytes of a file, or of what is left of it if that is less."""
    digest, chunk = digest_new(), memoryview(bytearray(CHUNK_BYTES))
    while size_bytes > 0 and (count := file.readinto(chunk[:size_bytes])):
        digest.update(chunk[:count])
        size_bytes -= count
    return digest


@dataclass(frozen=True)
class Line:
    """A whole line. offset: where it begins, in bytes; size_bytes: with its end; data: None where it is longer than
    LINE_BYTES_MOST."""

    offset: int
    size_bytes: int
    data: bytes | None


@dataclass
class Lines:
    """The lines of a file from its position on. done_bytes: where the last whole line ended, which digest covers;
    torn: whether something came after it. Both are right once the lines have been read."""

    file: BufferedReader
    digest: hashlib.blake2b
    done_bytes: int
    torn: bool = False

    def __iter__(self) -> Iterator[Line]:
        while part := self.file.readline(LINE_BYTES_MOST):
            before = self.digest.copy()
            self.digest.update(part)
            size_bytes, whole = len(part), part
            while not part.endswith(b"\n") and (part := self.file.readline(LINE_BYTES_MOST)):
                self.digest.update(part)
                size_bytes, whole = size_bytes + len(part), b""
            if not (part or whole).endswith(b"\n"):
                self.digest, self.torn = before, bool(whole.strip()) or not whole
                return
            yield Line(self.done_bytes, size_bytes, whole or None)
            self.done_bytes += size_bytes
