# SPDX-License-Identifier: Apache-2.0
"""Destination of a Nova request: requested destination, forced hosts and forced nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.nova.bus.primitives import NovaFields


@dataclass(frozen=True, slots=True)
class Destination:
    """Hosts, cell and aggregates that a request allows."""

    names: tuple[str, ...] = ()  # service hosts, nodes, or canonical pairs of both; empty allows all hosts
    host: str = ""
    node: str = ""
    cell: str | None = None  # uuid of the cell that the request names
    stays_in_cell: bool = False  # whether the instance must stay in that cell
    aggregates: tuple[str, ...] = ()  # each element has comma-separated alternatives
    forbidden_aggregates: tuple[str, ...] = ()
    is_forced: bool = False  # an administrator named the host


def read(spec: NovaFields) -> Destination:
    """Return the destination of a RequestSpec. Raises InvalidSpec for contradictory hosts."""
    force_hosts, force_nodes = spec.texts("force_hosts"), spec.texts("force_nodes")
    requested = spec.object("requested_destination", "Destination")
    if requested is None:
        requested = NovaFields("Destination of Nova", {})
    host, node = requested.text("host"), requested.text("node")
    cell = requested.object("cell", "CellMapping")
    # Like Nova, use only the first of several forced hosts.
    hosts = _agree("host", [host] if host else [], force_hosts)[:1]
    nodes = _agree("node", [node] if node else [], force_nodes)[:1]
    return Destination(
        _combine(hosts, nodes),
        host or next(iter(force_hosts), ""),
        node or next(iter(force_nodes), ""),
        cell.text("uuid") or None if cell else None,
        cell is not None and not requested.flag("allow_cross_cell_move"),
        tuple(requested.texts("aggregates")),
        tuple(requested.texts("forbidden_aggregates")),
        is_forced=bool(force_hosts or force_nodes),
    )


def _agree(noun: str, requested: Sequence[str], forced: Sequence[str]) -> Sequence[str]:
    if not requested or not forced:
        return requested or forced
    allowed = {name.lower() for name in forced}
    common = [name for name in requested if name.lower() in allowed]
    if not common:
        raise errors.InvalidSpec(why=f"the requested {noun} {requested[0]!r} is not among the forced ones")
    return common


def _combine(hosts: Sequence[str], nodes: Sequence[str]) -> tuple[str, ...]:
    if not hosts or not nodes:
        return tuple(hosts or nodes)
    return tuple(names.canonical((host, node)) for host in hosts for node in nodes)
