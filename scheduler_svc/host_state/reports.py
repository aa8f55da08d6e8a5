# SPDX-License-Identifier: Apache-2.0
"""Validation of the stats report of a service host."""

import ipaddress
import json
from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from rpcapi.resources import names, vocabulary
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.namespaces import compute
from scheduler_svc.store import lineage

MAX_NODES = 5000  # of one report, child providers included
MAX_CLASSES = 64  # of one node
MAX_TRAITS = 1000
MAX_METRICS = 256
MAX_TEXT = 255
MAX_FACTS = 16 * 1024  # bytes of JSON
MAX_CELLS = 64  # NUMA cells of one node
MAX_CELLS_TEXT = 64 * 1024  # bytes of JSON


def check_nodes(host: str, nodes: Any, full: bool) -> dict[str, dict[str, Any]]:
    """Return the nodes of ``host``'s report with canonical names and each inventory's capacity computed.

    A full report must have every node's inventories and all parents; a delta has only changes. Raises InvalidStats,
    InvalidName, UnknownResourceClass or UnknownTrait; then the whole report is rejected.
    """
    if not isinstance(nodes, Mapping):
        raise errors.InvalidStats(what="nodes", why="must be a mapping from resource names to node states")
    if len(nodes) > MAX_NODES:
        raise errors.InvalidStats(
            what="nodes", why=f"a report may contain at most {MAX_NODES} nodes, got {len(nodes)}; split the host"
        )
    checked = {}
    for name, node in nodes.items():
        canonical = names.canonical(name)
        if names.host_of(canonical) != host:
            raise errors.InvalidStats(what=f"node {canonical!r}", why=f"it does not belong to service host {host!r}")
        checked[canonical] = _check_node(canonical, node, full)
    if full:
        lineage.check_full(checked)
    return checked


def _check_node(name: str, node: Any, full: bool) -> dict[str, Any]:
    if not isinstance(node, Mapping):
        raise errors.InvalidStats(what=f"node {name!r}", why="its state must be a mapping")
    unknown = sorted(map(str, node.keys() - _CHECKS.keys()))
    if unknown:
        raise errors.InvalidStats(what=f"node {name!r}", why=f"it has unknown keys {unknown[:5]}")
    if full and "inventories" not in node:
        raise errors.InvalidStats(what=f"node {name!r}", why="a full report needs its inventories")
    return {part: _CHECKS[part](name, value) for part, value in node.items()}


def _check_inventories(name: str, raw: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(raw, Mapping) or len(raw) > MAX_CLASSES:
        raise errors.InvalidStats(
            what=f"inventories of {name!r}", why=f"they must be a mapping of at most {MAX_CLASSES} resource classes"
        )
    checked = {}
    for resource_class, figures in raw.items():
        vocabulary.check_resource_class(resource_class)
        try:
            checked[resource_class] = Inventory.from_dict(resource_class, figures).as_dict()
        except errors.InvalidStats as error:
            raise errors.InvalidStats(what=f"node {name!r}", why=str(error)) from error
    return checked


def _check_traits(name: str, raw: Any) -> list[str]:
    if not isinstance(raw, (list, tuple)) or len(raw) > MAX_TRAITS:
        raise errors.InvalidStats(what=f"traits of {name!r}", why=f"they must be a list of at most {MAX_TRAITS}")
    for trait in raw:
        vocabulary.check_trait(trait)
    return sorted(set(raw))


def _check_zone(name: str, raw: Any) -> str | None:
    if raw is not None and not (isinstance(raw, str) and 1 <= len(raw) <= MAX_TEXT and raw.isprintable()):
        raise errors.InvalidStats(
            what=f"availability zone of {name!r}", why=f"it must be 1 to {MAX_TEXT} printable characters, or null"
        )
    return raw


def _check_metrics(name: str, raw: Any) -> dict[str, float]:
    if not isinstance(raw, Mapping) or len(raw) > MAX_METRICS:
        raise errors.InvalidStats(
            what=f"metrics of {name!r}", why=f"they must be a mapping of at most {MAX_METRICS} numbers"
        )
    for key, value in raw.items():
        if not compute.METRIC.is_valid(value) or not isinstance(key, str) or not 1 <= len(key) <= MAX_TEXT:
            raise errors.InvalidStats(
                what=f"metric {str(key)[:60]!r} of {name!r}", why=f"it must be finite, {compute.METRIC.allowed}"
            )
    return dict(raw)


def _check_parent(name: str, raw: Any) -> str | None:
    if raw is None:
        return None
    parent = names.canonical(raw)
    if names.host_of(parent) != names.host_of(name):
        raise errors.InvalidStats(what=f"parent of {name!r}", why=f"{parent!r} belongs to another service host")
    return parent


def _check_kind(name: str, raw: Any) -> str | None:
    if raw is not None and raw not in lineage.KINDS:
        raise errors.InvalidStats(what=f"kind of {name!r}", why=f"it must be one of {', '.join(lineage.KINDS)}")
    return raw


def _check_facts(name: str, raw: Any) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise errors.InvalidStats(what=f"facts of {name!r}", why="they must be a JSON object")
    _check_size(f"facts of {name!r}", raw, MAX_FACTS)
    return dict(raw)


def _check_host_ip(name: str, raw: Any) -> str | None:
    try:
        return None if raw is None else str(ipaddress.ip_address(raw if isinstance(raw, str) else ""))
    except ValueError as error:
        raise errors.InvalidStats(what=f"host_ip of {name!r}", why=f"{str(raw)[:60]!r} is not an IP address") from error


def _check_numa(name: str, raw: Any) -> list[Any] | None:
    if raw is None:
        return None
    if not isinstance(raw, list) or len(raw) > MAX_CELLS or not all(isinstance(cell, Mapping) for cell in raw):
        raise errors.InvalidStats(what=f"numa of {name!r}", why=f"it must be a list of at most {MAX_CELLS} cells")
    _check_size(f"numa of {name!r}", raw, MAX_CELLS_TEXT)
    return raw


def _check_size(what: str, raw: Any, max_bytes: int) -> None:
    try:
        size = len(json.dumps(raw, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.InvalidStats(what=what, why=f"it must be plain JSON in Unicode: {error}") from error
    if size > max_bytes:
        raise errors.InvalidStats(what=what, why=f"it may have at most {max_bytes} bytes of JSON, got {size}")


_CHECKS = {
    "parent": _check_parent,
    "kind": _check_kind,
    "inventories": _check_inventories,
    "traits": _check_traits,
    "availability_zone": _check_zone,
    "metrics": _check_metrics,
    "facts": _check_facts,
    "host_ip": _check_host_ip,
    "numa": _check_numa,
}
