# SPDX-License-Identifier: Apache-2.0
"""The service hosts and nodes that a configuration describes."""

import ipaddress
import re
import socket
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from oslo_config import cfg

from compute_agent import shapes
from compute_agent.shapes import Shape
from rpcapi import errors
from rpcapi.model import names

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MOST_NODES = 100_000
_RANGE = re.compile(r"\[(\d+)-(\d+)\]")
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Node:
    """One node under its resource name, ``host/node``."""

    name: str
    shape: Shape
    availability_zone: str | None
    host_ip: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One service host and its nodes."""

    name: str
    nodes: tuple[Node, ...]


def expand(pattern: str) -> list[str]:
    """Return the names that a pattern stands for: ``a[8-10]`` is a8, a9, a10 and ``a[08-10]`` a08, a09, a10."""
    found = _RANGE.search(pattern)
    if found is None:
        return [pattern]
    first, last = found.groups()
    if int(first) > int(last) or int(last) - int(first) >= MOST_NODES:
        raise errors.BadConfiguration(why=f"[compute] hosts: {pattern!r} has a range that is empty or too long")
    width = len(first) if first.startswith("0") else 0
    head, tail = pattern[: found.start()], expand(pattern[found.end() :])
    return [f"{head}{number:0{width}d}{rest}" for number in range(int(first), int(last) + 1) for rest in tail]


def plan(conf: cfg.ConfigOpts) -> list[HostPlan]:
    """Return every service host of this process with its nodes; raises BadConfiguration."""
    hosts = _host_names(conf)
    count = conf.compute.nodes_per_host
    if len(hosts) * count > MOST_NODES:
        raise errors.BadConfiguration(
            why=f"[compute] {len(hosts)} hosts of {count} nodes are more than the {MOST_NODES} nodes of one process"
        )
    zones = conf.compute.availability_zones or [None]
    locations = conf.compute.locations or [None]
    deal = _deal(shapes.from_conf(conf))
    network = _network(conf)
    return [_host_plan(host, count, deal, _Surroundings(zones, locations, network)) for host in hosts]


class _Surroundings(NamedTuple):
    """Where hosts may be; each is dealt its place."""

    zones: Sequence[str | None]
    locations: Sequence[str | None]
    network: Network | None

    def zone(self, place: int) -> str | None:
        return self.zones[place % len(self.zones)]

    def location(self, place: int) -> str | None:
        return self.locations[place % len(self.locations)]

    def address(self, place: int) -> str | None:
        # The first and the last address of a network are nobody's.
        return None if self.network is None else str(self.network[1 + place % (self.network.num_addresses - 2)])


def _host_plan(host: str, count: int, deal: Sequence[Shape], around: _Surroundings) -> HostPlan:
    place = _place(host)
    zone, where = around.zone(place), (around.address(place), around.location(place))
    kinds = (deal[(place * count + number) % len(deal)] for number in range(count))
    nodes = tuple(
        Node(names.canonical((host, f"node{number}")), kind, kind.availability_zone or zone, *where)
        for number, kind in enumerate(kinds)
    )
    return HostPlan(host, nodes)


def _network(conf: cfg.ConfigOpts) -> Network | None:
    text = conf.compute.host_network
    if not text:
        return None
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        raise errors.BadConfiguration(why=f"[compute] host_network: {error}") from error
    if network.num_addresses < 4:
        raise errors.BadConfiguration(why=f"[compute] host_network = {text} has no room for hosts")
    return network


def _place(host: str) -> int:
    """Return where a host comes in the deals: by its name alone, whichever process speaks for it.

    Its last number, so that numbered hosts get exact shares; the name's checksum where it has none.
    """
    numbers = _NUMBER.findall(host)
    return int(numbers[-1]) if numbers else zlib.crc32(host.encode())


def _host_names(conf: cfg.ConfigOpts) -> list[str]:
    patterns = conf.compute.hosts or [socket.gethostname()]
    found = [name for pattern in patterns for name in expand(pattern)]
    if len(set(found)) != len(found):
        raise errors.BadConfiguration(why=f"[compute] hosts = {', '.join(patterns)} names a host twice")
    for name in found:
        try:
            names.canonical((name, "node0"))
        except errors.InvalidName as error:
            raise errors.BadConfiguration(why=f"[compute] hosts: {error}") from error
    return found


def _deal(shapes: Sequence[Shape]) -> list[Shape]:
    """Return one round of the shapes, interleaved by their shares.

    Smooth weighted round robin: each turn every shape gains its share, the richest is taken and pays the sum.
    """
    credit = [0] * len(shapes)
    total = sum(shape.share for shape in shapes)
    dealt = []
    for _ in range(total):
        credit = [have + shape.share for have, shape in zip(credit, shapes, strict=True)]
        chosen = credit.index(max(credit))
        credit[chosen] -= total
        dealt.append(shapes[chosen])
    return dealt
