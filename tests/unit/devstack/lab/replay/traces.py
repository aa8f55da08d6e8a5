# SPDX-License-Identifier: Apache-2.0
"""Traces for the tests: as files and as lists of servers."""

import gzip
from pathlib import Path

from devstack.lab.replay.trace import COLUMNS, Trace, TraceServer

HEADER = ",".join(COLUMNS)


def trace_of(*servers: TraceServer) -> Trace:
    """Return a trace of the given servers."""
    return Trace("given", lambda: iter(servers))


def server(arrives: float = 0, ends: float | None = None, vcpus: int = 1, memory_mb: int = 1024, batch: str = "b"):
    """Return a server; by default it does not end."""
    return TraceServer(arrives, batch, vcpus, memory_mb, ends)


def write(path: Path, *rows: str, header: str = HEADER) -> Path:
    """Write a trace, gzipped if the name ends in .gz."""
    text = "\n".join((header, *rows)) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def read_all(trace: Trace) -> list[TraceServer]:
    """Return all servers."""
    return list(trace.servers())
