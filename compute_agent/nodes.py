# SPDX-License-Identifier: Apache-2.0
"""The service hosts and nodes that a configuration describes."""

import re
import socket
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import os_resource_classes as resource_classes
from oslo_config import cfg

from compute_agent.conf import shape as shape_conf
from rpcapi import errors
from rpcapi.model import names, vocabulary
from rpcapi.model.inventory import Inventory

MOST_NODES = 100_000
_RANGE = re.compile(r"\[(\d+)-(\d+)\]")
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Shape:
    """What the nodes of one kind are like; shared by all of them."""

    name: str
    inventories: Mapping[str, Inventory]
    traits: tuple[str, ...] = ()
    availability_zone: str | None = None
    share: int = 1


@dataclass(frozen=True, slots=True)
class Node:
    """One node under its resource name, ``host/node``."""

    name: str
    shape: Shape
    availability_zone: str | None


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
    deal = _deal(_shapes(conf))
    return [_host_plan(host, count, deal, zones) for host in hosts]


def _host_plan(host: str, count: int, deal: Sequence[Shape], zones: Sequence[str | None]) -> HostPlan:
    place = _place(host)
    zone = zones[place % len(zones)]
    kinds = (deal[(place * count + number) % len(deal)] for number in range(count))
    nodes = tuple(
        Node(names.canonical((host, f"node{number}")), kind, kind.availability_zone or zone)
        for number, kind in enumerate(kinds)
    )
    return HostPlan(host, nodes)


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


def _shapes(conf: cfg.ConfigOpts) -> list[Shape]:
    groups = shape_conf.register_opts(conf)
    if not groups:
        # Nothing is configured: the options' defaults are a shape too.
        groups = [f"{shape_conf.PREFIX}default"]
        conf.register_opts(shape_conf.OPTS, group=groups[0])
    try:
        return [_shape(group, conf[group]) for group in groups]
    except (cfg.Error, ValueError) as error:
        # These options are known only once the files are read, so the frame has not checked them.
        raise errors.BadConfiguration(why=f"one of {', '.join(groups)}: {error}") from error


def _shape(group: str, values: cfg.ConfigOpts.GroupAttr) -> Shape:
    amounts = {
        resource_classes.VCPU: (values.vcpus, values.reserved_vcpus, values.cpu_allocation_ratio),
        resource_classes.MEMORY_MB: (values.memory_mb, values.reserved_memory_mb, values.ram_allocation_ratio),
        resource_classes.DISK_GB: (values.disk_gb, values.reserved_disk_gb, values.disk_allocation_ratio),
    }
    amounts |= {name: (total, 0, 1.0) for name, total in values.resources.items()}
    try:
        for resource_class in amounts:
            vocabulary.check_resource_class(resource_class)
        for trait in values.traits:
            vocabulary.check_trait(trait)
        inventories = {
            name: Inventory.from_dict(name, {"total": total, "reserved": reserved, "allocation_ratio": ratio})
            for name, (total, reserved, ratio) in amounts.items()
            if total
        }
    except errors.InvalidRequest as error:
        raise errors.BadConfiguration(why=f"[{group}] {error}") from error
    name = group.removeprefix(shape_conf.PREFIX)
    return Shape(name, inventories, tuple(sorted(values.traits)), values.availability_zone, values.share)


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
