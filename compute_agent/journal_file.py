# SPDX-License-Identifier: Apache-2.0
"""An append-only file of batches: one line, one checksum and one fsync each."""

import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SCHEMA = 1

Record = dict[str, Any]


class JournalDamaged(Exception):
    """Raised when a journal cannot be what this agent wrote; it must be restored, never guessed."""


class JournalFile:
    """The journal's lines on disk. Not for several threads at once.

    A batch is one line, so a crash while it is written leaves all of it or, as a torn last line, nothing.
    """

    def __init__(self, path: Path, host: str) -> None:
        self._path = path
        self._header = {"schema": SCHEMA, "host": host}
        self._fd = -1
        self.lines = 0
        self._doubtful = False

    def read(self) -> list[list[Record]]:
        """Return every batch, oldest first, and make the file ready for append.

        A torn last line, which was never acknowledged, is cut off. Raises JournalDamaged.
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

    def append(self, records: Sequence[Record], durable: bool = True) -> None:
        """Add one batch; when this returns and ``durable`` is set, it outlives a loss of power.

        Without ``durable`` it outlives the process, and the machine from the next durable batch on.
        Raises OSError: then nothing may be promised, and ``rewrite`` must come before the next append.
        """
        if self._doubtful:
            raise OSError(f"{self._path} may end in half a batch: it must be rewritten")
        self._doubtful = True
        _write_all(self._fd, _encode(list(records)))
        if durable:
            os.fsync(self._fd)
        self._doubtful = False
        self.lines += 1

    @property
    def doubtful(self) -> bool:
        """Whether an append failed half-way."""
        return self._doubtful

    def rewrite(self, records: Sequence[Record]) -> None:
        """Replace the whole by one batch, atomically and durably; raises OSError and changes nothing then."""
        fresh = self._path.with_suffix(".new")
        with fresh.open("wb") as file:
            file.write(_encode(self._header))
            file.write(_encode(list(records)))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        _sync_folder(self._path.parent)
        self.close()
        self._open()
        self.lines = 2
        self._doubtful = False

    def close(self) -> None:
        """Let go of the file."""
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
                    "copy; or, when nothing runs on the host any more, remove the host's folder"
                )
        if not contents or contents[0] != self._header:
            found = contents[0] if contents else "nothing"
            raise JournalDamaged(f"the journal {self._path} begins with {found}, where {self._header} is expected")


def _encode(content: Any) -> bytes:
    text = json.dumps(content, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _decode(line: bytes) -> Any:
    """Return what a line holds, or None when it is not whole."""
    checksum, _, text = line.partition(b" ")
    if len(checksum) != 8 or checksum != b"%08x" % zlib.crc32(text):
        return None
    return json.loads(text)


def _write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
