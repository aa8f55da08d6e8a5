# SPDX-License-Identifier: Apache-2.0
"""What servers to boot: the built-in mix, or the first requests of a real trace."""

import csv
import gzip
import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rpcapi import objects

# (flavor name, how many of ten): mostly small servers, as clouds see them.
MIX = (("m1.tiny", 3), ("m1.small", 4), ("m1.medium", 2), ("m1.large", 1))
MIB_PER_GB = 1024
TRACE_COLUMNS = {"batch", "vcpu", "mem_gb"}


class TraceError(Exception):
    """Raised when a trace cannot be read; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Request:
    """``count`` servers of one shape, asked for together."""

    flavor: str
    resources: dict[str, int]
    count: int

    def spec(self) -> objects.RequestSpec:
        """Return the request as it goes to the conductor."""
        return objects.RequestSpec.of(flavor=self.flavor, resources=self.resources)


def builtin(servers: int, flavors: dict[str, dict[str, int]]) -> list[Request]:
    """Return ``servers`` servers of the mix, largest flavors first; ``flavors`` maps a name to its resources."""
    names = list(itertools.chain.from_iterable([name] * share for name, share in MIX))
    counts = {name: 0 for name, _ in reversed(MIX)}
    for number in range(servers):
        counts[names[number % len(names)]] += 1
    return [Request(name, flavors[name], count) for name, count in counts.items() if count]


def generated(servers: int, seed: int) -> list[Request]:
    """Return requests drawn like a trace's, for where none is at hand: small ones mostly, in tenant batches."""
    chance = random.Random(seed)
    found: list[Request] = []
    left = servers
    while left:
        count = min(left, chance.choices((1, 2, 5, 20), weights=(70, 15, 10, 5))[0])
        vcpus = chance.choices((1, 2, 4, 8), weights=(45, 30, 15, 10))[0]
        memory = round(vcpus * chance.choice((1.75, 3.5, 7)) * MIB_PER_GB)
        found.append(Request(f"generated-{len(found)}", {"VCPU": vcpus, "MEMORY_MB": memory}, count))
        left -= count
    return found


def from_trace(path: Path, servers: int) -> list[Request]:
    """Return the first ``servers`` requests of a trace, those of one tenant batch and shape together.

    The file is CSV, gzipped or not, with at least the columns batch, vcpu and mem_gb, one row a server, in order
    of arrival. Raises TraceError.
    """
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            return list(_grouped(path, itertools.islice(_rows(path, lines), servers)))
    except (OSError, EOFError, UnicodeDecodeError) as why:
        raise TraceError(f"The trace {path} cannot be read: {why}.") from why


def _rows(path: Path, lines: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    reader = csv.DictReader(lines)
    missing = TRACE_COLUMNS - set(reader.fieldnames or ())
    if missing:
        raise TraceError(f"{path} is no request trace: it lacks the columns {', '.join(sorted(missing))}.")
    for row in reader:
        try:
            vcpu, memory = int(row["vcpu"]), round(float(row["mem_gb"]) * MIB_PER_GB)
        except (TypeError, ValueError) as why:
            raise TraceError(f"{path}, line {reader.line_num}: vcpu or mem_gb is not a number: {why}.") from why
        if vcpu <= 0 or memory <= 0:
            raise TraceError(f"{path}, line {reader.line_num}: vcpu and mem_gb must be more than 0.")
        yield row["batch"], vcpu, memory


def _grouped(path: Path, rows: Iterable[tuple[str, int, int]]) -> Iterator[Request]:
    found = False
    for (batch, vcpu, memory), group in itertools.groupby(rows):
        found = True
        count = sum(1 for _ in group)
        yield Request(f"trace-{batch}", {"VCPU": vcpu, "MEMORY_MB": memory}, count)
    if not found:
        raise TraceError(f"The trace {path} holds no request.")
