# SPDX-License-Identifier: Apache-2.0
"""Service hosts and nodes of a configuration."""

import ipaddress
import re
import socket
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from oslo_config import cfg

from compute_agent.resources import shapes
from compute_agent.resources.shapes import NodeShape
from rpcapi import errors
from rpcapi.resources import names

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MAX_NODES = 100_000
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Node:
    """Node with the resource name ``host/node``."""

    name: str
    shape: NodeShape
    availability_zone: str | None
    host_ip: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True)
class HostPlan:
    name: str
    nodes: tuple[Node, ...]


def plan_hosts(conf: cfg.ConfigOpts) -> list[HostPlan]:
    hosts = _host_names(conf)
    count = conf.compute.nodes_per_host
    if len(hosts) * count > MAX_NODES:
        raise errors.BadConfiguration(
            why=f"[compute] {len(hosts)} hosts of {count} nodes exceed the maximum of {MAX_NODES} nodes per process"
        )
    zones = conf.compute.availability_zones or [None]
    locations = conf.compute.locations or [None]
    shape_order = _interleave_shapes(shapes.from_conf(conf))
    network = _network(conf)
    plans = []
    for host in hosts:
        index = _host_index(host)
        zone = zones[index % len(zones)]
        address_and_location = _address(network, index), locations[index % len(locations)]
        node_shapes = (shape_order[(index * count + number) % len(shape_order)] for number in range(count))
        nodes = tuple(
            Node(
                names.canonical((host, f"node{number}")), shape, shape.availability_zone or zone, *address_and_location
            )
            for number, shape in enumerate(node_shapes)
        )
        plans.append(HostPlan(host, nodes))
    return plans


def _address(network: Network | None, index: int) -> str | None:
    # The first and last address of a network cannot be assigned to hosts.
    return None if network is None else str(network[1 + index % (network.num_addresses - 2)])


def _network(conf: cfg.ConfigOpts) -> Network | None:
    text = conf.compute.host_network
    if not text:
        return None
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        raise errors.BadConfiguration(why=f"[compute] host_network: {error}") from error
    if network.num_addresses < 4:
        raise errors.BadConfiguration(
            why=f"[compute] host_network = {text} is too small for hosts: it must have at least 4 addresses"
        )
    return network


def _host_index(host: str) -> int:
    """Return a host's index for zones, locations, addresses and shapes.

    The last number in the name, so that numbered hosts get exact shares; without a number, the name's checksum.
    """
    numbers = _NUMBER.findall(host)
    return int(numbers[-1]) if numbers else zlib.crc32(host.encode())


def _host_names(conf: cfg.ConfigOpts) -> list[str]:
    patterns = conf.compute.hosts or [socket.gethostname()]
    hosts = [name for pattern in patterns for name in names.expand_pattern(pattern)]
    if len(set(hosts)) != len(hosts):
        raise errors.BadConfiguration(why=f"[compute] hosts = {', '.join(patterns)} lists a host twice")
    for name in hosts:
        try:
            names.canonical((name, "node0"))
        except errors.InvalidName as error:
            raise errors.BadConfiguration(why=f"[compute] hosts: {error}") from error
    return hosts


def _interleave_shapes(shapes: Sequence[NodeShape]) -> list[NodeShape]:
    """Return one cycle of the shapes by smooth weighted round robin.

    In each turn every shape gains its share as credit; the shape with the most credit is selected and pays the total.
    """
    credit = [0] * len(shapes)
    total = sum(shape.share for shape in shapes)
    ordered = []
    for _ in range(total):
        credit = [have + shape.share for have, shape in zip(credit, shapes, strict=True)]
        index = credit.index(max(credit))
        credit[index] -= total
        ordered.append(shapes[index])
    return ordered
