# SPDX-License-Identifier: Apache-2.0
"""Validation of a service host's stats report; single invalid facts are dropped, so that the rest is kept."""

import ipaddress
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rpcapi import errors
from rpcapi.resources import names, vocabulary
from rpcapi.resources.inventory import Inventory
from rpcapi.validation.text import MAX_SHOWN, TEXT, abbreviate, is_text
from scheduler_svc.core.namespaces import compute
from scheduler_svc.core.namespaces.compute import ValueType
from scheduler_svc.store import provider_trees

MAX_NODES = 5000  # per report, child providers included
MAX_CLASSES = 64  # per node
MAX_TRAITS = 1000
MAX_METRICS = 256
MAX_TEXT = 255
MAX_FACTS = 16 * 1024  # bytes of JSON
MAX_CELLS = 64  # NUMA cells per node
MAX_CELLS_TEXT = 64 * 1024  # bytes of JSON


def check_nodes(host: str, nodes: Any, full: bool) -> dict[str, dict[str, Any]]:
    """Return a report's nodes with canonical names and computed capacities.

    Raises InvalidStats, InvalidName, UnknownResourceClass or UnknownTrait for the whole report.
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
        provider_trees.check_full(checked)
    return checked


def _check_node(name: str, node: Any, full: bool) -> dict[str, Any]:
    if not isinstance(node, Mapping):
        raise errors.InvalidStats(what=f"node {name!r}", why="its state must be a mapping")
    unknown = sorted(map(str, node.keys() - _TYPES.keys()))
    if unknown:
        raise errors.InvalidStats(what=f"node {name!r}", why=f"it has unknown keys {unknown[:5]}")
    if full and "inventories" not in node:
        raise errors.InvalidStats(what=f"node {name!r}", why="a full report needs its inventories")
    return {part: _check_part(name, part, value) for part, value in node.items()}


def _check_part(name: str, part: str, value: Any) -> Any:
    if value is None and part in _OPTIONAL:
        return None
    kind = _TYPES[part]
    if not kind.is_valid(value):
        raise errors.InvalidStats(what=f"{part} of {name!r}", why=f"must be {kind.allowed}, not {abbreviate(value)}")
    return _CHECKS[part](name, value) if part in _CHECKS else value


def _check_inventories(name: str, raw: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    checked = {}
    for resource_class, figures in raw.items():
        vocabulary.check_resource_class(resource_class)
        try:
            checked[resource_class] = Inventory.from_dict(resource_class, figures).as_dict()
        except errors.InvalidStats as error:
            raise errors.InvalidStats(what=f"node {name!r}", why=str(error)) from error
    return checked


def _check_traits(_name: str, raw: Sequence[Any]) -> list[str]:
    for trait in raw:
        vocabulary.check_trait(trait)
    return sorted(set(raw))


def _check_metrics(name: str, raw: Mapping[Any, Any]) -> dict[str, float]:
    for key, value in raw.items():
        if not compute.METRIC.is_valid(value) or not _METRIC_NAME.is_valid(key):
            raise errors.InvalidStats(
                what=f"metric {str(key)[:60]!r} of {name!r}", why=f"it must be finite, {compute.METRIC.allowed}"
            )
    return dict(raw)


def _check_parent(name: str, raw: names.ResourceName) -> str:
    parent = names.canonical(raw)
    if names.host_of(parent) != names.host_of(name):
        raise errors.InvalidStats(what=f"parent of {name!r}", why=f"{parent!r} belongs to another service host")
    return parent


def _check_host_ip(name: str, raw: Any) -> str:
    try:
        return str(ipaddress.ip_address(raw if isinstance(raw, str) else ""))
    except ValueError as error:
        raise errors.InvalidStats(what=f"host_ip of {name!r}", why=f"{str(raw)[:60]!r} is not an IP address") from error


def _check_size(part: str, max_bytes: int, name: str, raw: Any) -> Any:
    what = f"{part} of {name!r}"
    try:
        size = len(json.dumps(raw, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.InvalidStats(what=what, why=f"it must be plain JSON in Unicode: {error}") from error
    if size > max_bytes:
        raise errors.InvalidStats(what=what, why=f"it may have at most {max_bytes} bytes of JSON, got {size}")
    return raw


_METRIC_NAME = ValueType("a name", lambda value: isinstance(value, str) and 1 <= len(value) <= MAX_TEXT)
_ANY = ValueType("anything", lambda _value: True)
# {key of a node's state: type of its value}
_TYPES: Mapping[str, ValueType] = {
    "parent": _ANY,
    "kind": ValueType(f"one of {', '.join(provider_trees.KINDS)}", provider_trees.KINDS.__contains__),
    "inventories": ValueType(
        f"a mapping of at most {MAX_CLASSES} resource classes",
        lambda value: isinstance(value, Mapping) and len(value) <= MAX_CLASSES,
    ),
    "traits": ValueType(
        f"a list of at most {MAX_TRAITS} traits",
        lambda value: isinstance(value, (list, tuple)) and len(value) <= MAX_TRAITS,
    ),
    "availability_zone": ValueType(
        f"{TEXT}, or null",
        is_text,
    ),
    "metrics": ValueType(
        f"a mapping of at most {MAX_METRICS} numbers",
        lambda value: isinstance(value, Mapping) and len(value) <= MAX_METRICS,
    ),
    "facts": ValueType("a JSON object", lambda value: isinstance(value, Mapping)),
    "host_ip": _ANY,
    "numa": ValueType(
        f"a list of at most {MAX_CELLS} cells",
        lambda value: (
            isinstance(value, list) and len(value) <= MAX_CELLS and all(isinstance(cell, Mapping) for cell in value)
        ),
    ),
}
_OPTIONAL = frozenset(("parent", "kind", "availability_zone", "host_ip", "numa"))  # null: the node has none
# {key: further check that returns the value to store}
_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "parent": _check_parent,
    "inventories": _check_inventories,
    "traits": _check_traits,
    "metrics": _check_metrics,
    "facts": partial(_check_size, "facts", MAX_FACTS),
    "host_ip": _check_host_ip,
    "numa": partial(_check_size, "numa", MAX_CELLS_TEXT),
}


FACTS, NUMA = "facts", "numa"
Node = Mapping[str, Any]


def drop_refused_facts(nodes: Mapping[str, Node]) -> tuple[dict[str, Node], list[errors.InvalidFact]]:
    """Remove facts of a wrong type. Return the nodes, and one error per removed fact."""
    valid_nodes, refusals = dict(nodes), []
    for name, node in nodes.items():
        refused = dict(_refuse(node))
        if refused:
            refusals += [errors.InvalidFact(node=name, fact=fact[:MAX_SHOWN], why=why) for fact, why in refused.items()]
            valid_nodes[name] = _without(node, refused)
    return valid_nodes, refusals


def _refuse(node: Node) -> Iterator[tuple[str, str]]:
    yield from compute.refuse_facts(node.get(FACTS, {})).items()
    if not all(map(compute.CELL.is_valid, node.get(NUMA) or ())):
        yield NUMA, f"a list, each element {compute.CELL.allowed}"


def _without(node: Node, refused: Mapping[str, str]) -> Node:
    changes: dict[str, Any] = {}
    if FACTS in node:
        changes[FACTS] = {fact: value for fact, value in node[FACTS].items() if fact not in refused}
    if NUMA in refused:
        changes[NUMA] = None
    return {**node, **changes}
