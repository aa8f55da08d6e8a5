# SPDX-License-Identifier: Apache-2.0
"""The lie of the land of a simulated cluster: which rack a host is in, and what reaches it there."""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence

from rpcapi.model.names import host_of

_NUMBER = re.compile(r"[0-9]+")


def number_of(name: str) -> int:
    """Return a service host's number: the last in its name, else the name's checksum."""
    found = _NUMBER.findall(host_of(name))
    return int(found[-1]) if found else zlib.crc32(host_of(name).encode())


def rack_of(name: str, racks: int) -> str:
    """Return the rack of a host, or of a pool: they are dealt in turn."""
    return f"rack{number_of(name) % racks}"


def reached(pool: str, hosts: Iterable[str], racks: int) -> list[str]:
    """Return the service hosts that a pool serves: those of its own rack, and of the next one."""
    own = number_of(pool) % racks
    near = {own, (own + 1) % racks}
    return sorted({host_of(name) for name in hosts if number_of(name) % racks in near})


def physnets_of(name: str, physnets: int) -> list[int]:
    """Return the numbers of the physical networks that a host is on: all but one."""
    return [each for each in range(physnets) if physnets == 1 or number_of(name) % physnets != each]


def joined(network: str, hosts: Iterable[str], physnets: int) -> list[str]:
    """Return the service hosts that are on a network: that of its number."""
    own = number_of(network) % physnets
    return sorted({host_of(name) for name in hosts if own in physnets_of(name, physnets)})


def networks(name: str, physnets: int, racks: int) -> Mapping[str, Sequence[str]]:
    """Return a host's network document: its physical networks, and of each the segment of its rack."""
    there = physnets_of(name, physnets)
    rack = rack_of(name, racks)
    return {
        "physnets": [f"physnet{each}" for each in there],
        "segments": [f"physnet{each}-{rack}" for each in there],
    }
