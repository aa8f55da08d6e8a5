# SPDX-License-Identifier: Apache-2.0
"""Topology of a simulated cluster: the rack, the storage pools and the networks of each host."""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence

from rpcapi.resources.names import host_of

_NUMBER = re.compile(r"[0-9]+")


def number_of(name: str) -> int:
    """Return the last number in a service host's name, else the name's checksum."""
    numbers = _NUMBER.findall(host_of(name))
    return int(numbers[-1]) if numbers else zlib.crc32(host_of(name).encode())


def rack_of(name: str, racks: int) -> str:
    """Return the rack of a host or pool; racks are assigned round-robin by number."""
    return f"rack{number_of(name) % racks}"


def hosts_of_pool(pool: str, hosts: Iterable[str], racks: int) -> list[str]:
    """Return the service hosts that a pool serves: those in its own rack and in the next."""
    pool_rack = number_of(pool) % racks
    reachable_racks = {pool_rack, (pool_rack + 1) % racks}
    return sorted({host_of(name) for name in hosts if number_of(name) % racks in reachable_racks})


def physnets_of(name: str, physnets: int) -> list[int]:
    """Return the numbers of a host's physical networks: all but one."""
    return [number for number in range(physnets) if physnets == 1 or number_of(name) % physnets != number]


def hosts_of_network(network: str, hosts: Iterable[str], physnets: int) -> list[str]:
    """Return the service hosts on a network; network N is physical network N modulo ``physnets``."""
    network_number = number_of(network) % physnets
    return sorted({host_of(name) for name in hosts if network_number in physnets_of(name, physnets)})


def network_document(name: str, physnets: int, racks: int) -> Mapping[str, Sequence[str]]:
    numbers = physnets_of(name, physnets)
    rack = rack_of(name, racks)
    return {
        "physnets": [f"physnet{number}" for number in numbers],
        "segments": [f"physnet{number}-{rack}" for number in numbers],
    }
