# SPDX-License-Identifier: Apache-2.0
"""Request traces, generated or from a file with one row per server in order of arrival."""

import math
import random
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from devstack.workload import MIB_PER_GB, read_trace
from rpcapi.resources.inventory import MAX_AMOUNT

COLUMNS = ("bin_ts", "batch", "vcpu", "mem_gb", "dur_lo_s", "dur_hi_s", "censored")
SHORTEST_S = 1.0  # least lifetime: the trace rounds short ones to 0, but a server ends after it began
SHARES = 2**32

BIN_S = 300
BATCHES_PER_S = 0.17
BATCH_SIZES = ((1, 70), (2, 12), (5, 10), (20, 7), (60, 1))  # (servers, percentage)
FLAVORS = ((1, 1792, 54), (2, 3584, 20), (4, 7168, 10), (8, 14336, 10), (8, 57344, 4), (1, 768, 2))
MEDIAN_LIFETIME_S = 1_800.0
LIFETIME_SPREAD = 1.9  # standard deviation of the lifetime's logarithm
LONGEST_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class TraceServer:
    """Server of a trace, in seconds of the trace; ``ends`` is None if it outlives the trace."""

    arrives: float
    batch: str
    vcpus: int
    memory_mb: int
    ends: float | None


class Trace(NamedTuple):
    """Name, and a function that yields the same servers by arrival at each call, or raises TraceError."""

    name: str
    servers: Callable[[], Iterator[TraceServer]]


def trace_file(path: Path) -> Trace:
    def servers() -> Iterator[TraceServer]:
        arrived = float("-inf")

        def parse(row: Mapping[str, str], line: int) -> TraceServer:
            nonlocal arrived
            server = _server(row, line)
            if server.arrives < arrived:
                raise ValueError(f"it arrives at {server.arrives:g} s, before the row above ({arrived:g} s)")
            arrived = server.arrives
            return server

        return read_trace(path, COLUMNS, parse)

    return Trace(path.name.partition(".")[0], servers)


def _server(row: Mapping[str, str], line: int) -> TraceServer:
    arrives = _number(row, "bin_ts", 0)
    least = _number(row, "dur_lo_s", 0)
    most = _number(row, "dur_hi_s", least)
    vcpus, memory_mb = int(row["vcpu"]), round(_number(row, "mem_gb", 0) * MIB_PER_GB)
    for name, amount in (("vcpu", vcpus), ("mem_gb", memory_mb)):
        if not 0 < amount <= MAX_AMOUNT:
            raise ValueError(f"{name} is {row[name]}: it must be more than 0 and within the maximum of a host")
    censored = row["censored"]
    if censored not in ("0", "1"):
        raise ValueError(f"censored is {censored!r}: it must be 0 or 1")
    # Spread lifetimes over their bounds by line number, so that equal rows end at different but reproducible times.
    share = zlib.crc32(b"%d" % line) / SHARES
    lifetime = max(SHORTEST_S, least + share * (most - least))
    return TraceServer(arrives, row["batch"], vcpus, memory_mb, None if censored == "1" else arrives + lifetime)


def _number(row: Mapping[str, str], name: str, least: float) -> float:
    number = float(row[name])
    if not least <= number < float("inf"):
        raise ValueError(f"{name} is {row[name]}: it must be a number of at least {least:g}")
    return number


def synthetic_trace(count: int, seed: int = 1) -> Trace:
    return Trace(f"synthetic-{seed}", partial(_generate, count, seed))


def _generate(count: int, seed: int) -> Iterator[TraceServer]:
    chance = random.Random(seed)
    sizes, size_shares = zip(*BATCH_SIZES, strict=True)
    flavor_shares = [share for *_, share in FLAVORS]
    remaining, number, arrival = count, 0, 0.0
    while remaining:
        number += 1
        arrival += chance.expovariate(BATCHES_PER_S)
        arrives = arrival - arrival % BIN_S
        size = min(remaining, chance.choices(sizes, size_shares)[0])
        vcpus, memory_mb, _ = chance.choices(FLAVORS, flavor_shares)[0]
        remaining -= size
        for _ in range(size):
            lifetime = chance.lognormvariate(math.log(MEDIAN_LIFETIME_S), LIFETIME_SPREAD)
            ends = arrives + min(LONGEST_S, max(SHORTEST_S, lifetime))
            yield TraceServer(arrives, str(number), vcpus, memory_mb, ends)
