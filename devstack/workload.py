# SPDX-License-Identifier: Apache-2.0
"""Requests for servers to boot: the built-in mix, or the first of a real trace."""

import csv
import gzip
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rpcapi import objects

# (flavor name, weight out of 10): mostly small servers, as in real clouds.
MIX = (("m1.tiny", 3), ("m1.small", 4), ("m1.medium", 2), ("m1.large", 1))
MIB_PER_GB = 1024
TRACE_COLUMNS = ("batch", "mem_gb", "vcpu")

RowT = TypeVar("RowT")


class TraceError(Exception):
    """Raised when a trace cannot be read; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """Request for ``count`` servers of one flavor."""

    flavor: str
    resources: dict[str, int]
    count: int

    def spec(self) -> objects.RequestSpec:
        return objects.RequestSpec.of(flavor=self.flavor, resources=self.resources)


def builtin_requests(servers: int, flavors: dict[str, dict[str, int]]) -> list[WorkloadRequest]:
    """Return ``servers`` servers of the mix, largest flavors first; ``flavors`` maps names to resources."""
    names = list(itertools.chain.from_iterable([name] * share for name, share in MIX))
    counts = {name: 0 for name, _ in reversed(MIX)}
    for number in range(servers):
        counts[names[number % len(names)]] += 1
    return [WorkloadRequest(name, flavors[name], count) for name, count in counts.items() if count]


def from_trace(path: Path, servers: int) -> list[WorkloadRequest]:
    """Return requests for the first servers of a trace, grouped by tenant batch and shape. Raises TraceError."""
    rows = read_trace(path, TRACE_COLUMNS, _parse_row)
    return list(_group_rows(path, itertools.islice(rows, servers)))


def read_trace(path: Path, columns: Sequence[str], parse: Callable[[Mapping[str, str], int], RowT]) -> Iterator[RowT]:
    """Yield ``parse(row, line number)`` per row of a CSV file, optionally gzipped. Raises TraceError."""
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            yield from _parse_rows(path, csv.DictReader(lines), columns, parse)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as why:
        raise TraceError(f"The trace {path} cannot be read: {why}.") from why


def _parse_rows(
    path: Path,
    reader: "csv.DictReader[str]",
    columns: Sequence[str],
    parse: Callable[[Mapping[str, str], int], RowT],
) -> Iterator[RowT]:
    try:
        missing = [name for name in columns if name not in (reader.fieldnames or ())]
        if missing:
            raise TraceError(f"{path} is not a request trace: it lacks the columns {', '.join(missing)}.")
        for row in reader:
            yield parse(row, reader.line_num)
    except UnicodeDecodeError:
        raise  # an error of the file, not of a row
    except csv.Error as why:  # raised before the line is counted
        raise TraceError(f"{path}, line {reader.line_num + 1}: {why}.") from why
    except (ValueError, TypeError, OverflowError) as why:
        raise TraceError(f"{path}, line {reader.line_num}: {why}.") from why


def _parse_row(row: Mapping[str, str], _line: int) -> tuple[str, int, int]:
    try:
        vcpu, memory = int(row["vcpu"]), round(float(row["mem_gb"]) * MIB_PER_GB)
    except (TypeError, ValueError) as why:
        raise ValueError(f"vcpu or mem_gb is not a number: {why}") from why
    if vcpu <= 0 or memory <= 0:
        raise ValueError("vcpu and mem_gb must be more than 0")
    return row["batch"], vcpu, memory


def _group_rows(path: Path, rows: Iterable[tuple[str, int, int]]) -> Iterator[WorkloadRequest]:
    has_rows = False
    for (batch, vcpu, memory), group in itertools.groupby(rows):
        has_rows = True
        count = sum(1 for _ in group)
        yield WorkloadRequest(f"trace-{batch}", {"VCPU": vcpu, "MEMORY_MB": memory}, count)
    if not has_rows:
        raise TraceError(f"The trace {path} contains no request.")
