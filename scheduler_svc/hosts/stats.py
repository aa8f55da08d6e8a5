# SPDX-License-Identifier: Apache-2.0
"""Are the figures that a service host reports possible? What passes is stored as it is."""

import math
from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from rpcapi.model import names, vocabulary
from rpcapi.model.inventory import Inventory

MAX_NODES = 5000  # of one report
MAX_CLASSES = 64  # of one node
MAX_TRAITS = 1000
MAX_METRICS = 256
MAX_TEXT = 255
PARTS = frozenset({"inventories", "traits", "availability_zone", "metrics"})


def check_nodes(host: str, nodes: Any, full: bool) -> dict[str, dict[str, Any]]:
    """Return the nodes of ``host``'s report with canonical names and each inventory's capacity computed.

    A full report needs every node's inventories; a delta holds what changed. Raises InvalidStats, InvalidName,
    UnknownResourceClass or UnknownTrait, and then nothing of the report is kept.
    """
    if not isinstance(nodes, Mapping):
        raise errors.InvalidStats(what="nodes", why="they must be a mapping from resource names")
    if len(nodes) > MAX_NODES:
        raise errors.InvalidStats(what="nodes", why=f"a report may name {MAX_NODES}, not {len(nodes)}; split the host")
    checked = {}
    for name, node in nodes.items():
        canonical = names.canonical(name)
        if names.host_of(canonical) != host:
            raise errors.InvalidStats(what=f"node {canonical!r}", why=f"it is not one of service host {host!r}")
        checked[canonical] = _check_node(canonical, node, full)
    return checked


def _check_node(name: str, node: Any, full: bool) -> dict[str, Any]:
    if not isinstance(node, Mapping):
        raise errors.InvalidStats(what=f"node {name!r}", why="its state must be a mapping")
    unknown = sorted(map(str, node.keys() - PARTS))
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
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not isinstance(key, str) or not 1 <= len(key) <= MAX_TEXT:
            raise errors.InvalidStats(what=f"metric {str(key)[:60]!r} of {name!r}", why="it must be a finite number")
    return dict(raw)


_CHECKS = {
    "inventories": _check_inventories,
    "traits": _check_traits,
    "availability_zone": _check_zone,
    "metrics": _check_metrics,
}
