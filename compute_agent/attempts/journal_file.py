# SPDX-License-Identifier: Apache-2.0
"""Append-only file with one checksummed line per batch of records."""

import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from compute_agent import state_files
from compute_agent.newer_state import NewerState

SCHEMA = 1

JournalRecord = dict[str, Any]


class JournalDamaged(Exception):
    """Raised when a journal file is damaged or belongs to another host; it must be restored from a copy."""


class JournalFile:
    """Journal on disk, one batch per line; not thread-safe. Drops a last line torn by a crash."""

    def __init__(self, path: Path, host: str) -> None:
        self._path = path
        self._header = {"schema": SCHEMA, "host": host}
        self._fd = -1
        self.lines = 0
        self.needs_rewrite = False  # after a failed append, the file may end in an incomplete batch

    def read(self) -> list[list[JournalRecord]]:
        """Return all batches, oldest first, and open the file for append.

        Truncates a torn last line, which was never acknowledged. Raises JournalDamaged, NewerState.
        """
        if not self._path.exists():
            self.rewrite([])
            return []
        raw = self._path.read_bytes()
        lines = raw.split(b"\n")
        tail = lines.pop()
        contents = [_decode(line) for line in lines]
        if tail or (contents and contents[-1] is None):
            torn = len(tail) if tail else len(lines.pop()) + 1
            contents = contents[: len(lines)]
            os.truncate(self._path, len(raw) - torn)
        self._check(contents)
        self._open()
        self.lines = len(contents)
        return contents[1:]

    def append(self, records: Sequence[JournalRecord], durable: bool = True) -> None:
        """Append a batch; if ``durable``, it is on disk on return.

        Otherwise it survives a crash of the process at once, and a power loss after the next durable batch. After
        OSError, call ``rewrite`` before the next append.
        """
        if self.needs_rewrite:
            raise OSError(f"{self._path} may end in an incomplete batch: rewrite it")
        self.needs_rewrite = True
        _write_all(self._fd, _encode(list(records)).encode())
        if durable:
            os.fsync(self._fd)
        self.needs_rewrite = False
        self.lines += 1

    def rewrite(self, records: Sequence[JournalRecord]) -> None:
        """Replace the content with one batch, atomically and durably. Raises OSError without any change."""
        state_files.replace(self._path, _encode(self._header) + _encode(list(records)))
        self.close()
        self._open()
        self.lines = 2
        self.needs_rewrite = False

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def _check(self, contents: Sequence[Any]) -> None:
        for number, content in enumerate(contents, start=1):
            if content is None:
                raise JournalDamaged(
                    f"the journal {self._path} is damaged in line {number} of {len(contents)}: restore it from a "
                    "copy, or remove the host's folder if nothing runs on the host"
                )
        header = contents[0] if contents else "nothing"
        schema = header.get("schema") if isinstance(header, dict) else None
        if type(schema) is int and schema > SCHEMA:
            raise NewerState(self._path, f"it has schema {schema}; this agent supports {SCHEMA}")
        if header != self._header:
            raise JournalDamaged(f"the journal {self._path} begins with {header} instead of {self._header}")


def _encode(content: Any) -> str:
    text = json.dumps(content, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _decode(line: bytes) -> Any:
    checksum, _, text = line.partition(b" ")
    if len(checksum) != 8 or checksum != b"%08x" % zlib.crc32(text):
        return None
    return json.loads(text)


def _write_all(fd: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(fd, remaining) :]
