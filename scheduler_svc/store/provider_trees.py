# SPDX-License-Identifier: Apache-2.0
"""Validation of the provider trees in host reports."""

from collections.abc import Collection, Mapping
from typing import Any

from rpcapi import errors
from rpcapi.resources import names

MAX_DEPTH = 8  # levels, including root and leaf
KINDS = ("compute", "volume", "network")  # kinds of root providers, by the service that uses their resources
ROOTS_ONLY = ("kind", "availability_zone", "metrics", "facts", "host_ip", "numa")  # fields that only roots may have


def check_full(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return {provider: root} of a full report. Raises InvalidStats unless the providers form trees.

    A child's name must begin with its root's name and SEPARATOR.
    """
    roots = {name: _root(name, nodes) for name in nodes}
    for name, root in roots.items():
        if name != root:
            if not name.startswith(root + names.SEPARATOR):
                raise _refusal(name, f"it is below {root!r}, so its name must begin with {root + names.SEPARATOR!r}")
            _check_child(name, nodes[name])
    return roots


def check_delta(nodes: Mapping[str, Mapping[str, Any]], stored: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return {provider: root} of a delta. Raises InvalidStats if a parent or kind changes.

    Such changes need a full report.
    """
    for name, node in nodes.items():
        recorded = stored[name]
        for part, value in (("parent", recorded["parent"]), ("kind", kind_of(recorded))):
            if node.get(part, value) != value:
                raise _refusal(name, f"its {part} is {value!r} and can be changed only in a full report")
        if recorded["parent"] is not None:
            _check_child(name, node)
    return {name: stored[name]["root"] for name in nodes}


def kind_of(root: Mapping[str, Any]) -> str:
    return str(root.get("kind") or KINDS[0])


def possible_roots(name: str, roots: Collection[str]) -> list[str]:
    """Return the possible former roots of a removed child: its name begins with theirs and SEPARATOR."""
    parts = name.split(names.SEPARATOR)
    heads = (names.SEPARATOR.join(parts[:count]) for count in range(1, len(parts)))
    return [head for head in heads if head in roots]


def _root(name: str, nodes: Mapping[str, Mapping[str, Any]]) -> str:
    line = [name]
    while (parent := nodes[line[-1]].get("parent")) is not None:
        if parent not in nodes:
            raise _refusal(line[-1], f"its parent {parent!r} is not a provider of the same service host in this report")
        if parent in line:
            raise _refusal(name, f"its parents form a cycle: {' -> '.join([*line, parent])}")
        line.append(parent)
        if len(line) > MAX_DEPTH:
            raise _refusal(name, f"its tree is more than {MAX_DEPTH} providers deep")
    return line[-1]


def _check_child(name: str, node: Mapping[str, Any]) -> None:
    root_fields = [part for part in ROOTS_ONLY if node.get(part)]
    if root_fields:
        raise _refusal(name, f"it has a parent, and {', '.join(root_fields)} can be reported for roots only")


def _refusal(name: str, why: str) -> errors.InvalidStats:
    return errors.InvalidStats(what=f"provider {name!r}", why=why)
