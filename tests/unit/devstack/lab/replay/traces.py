# SPDX-License-Identifier: Apache-2.0
"""Traces for the tests: rows as a file has them, and servers as they are read."""

import gzip
from pathlib import Path

from devstack.lab.replay.trace import COLUMNS, Server, Trace

HEADER = ",".join(COLUMNS)


class Given:
    """A trace of given servers."""

    name = "given"

    def __init__(self, *servers: Server) -> None:
        self._servers = servers

    def servers(self):
        return iter(self._servers)


def server(arrives: float = 0, ends: float | None = None, vcpus: int = 1, memory_mb: int = 1024, batch: str = "b"):
    """Return a server; by default it stays."""
    return Server(arrives, batch, vcpus, memory_mb, ends)


def write(path: Path, *rows: str, header: str = HEADER) -> Path:
    """Write a trace, gzipped where the name says so."""
    text = "\n".join((header, *rows)) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def check(trace: Trace) -> list[Server]:
    """Return all servers."""
    return list(trace.servers())
