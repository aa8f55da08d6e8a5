# SPDX-License-Identifier: Apache-2.0
"""Whose child is a provider, and which root stands above it: what a report tells of its trees, checked."""

from collections.abc import Collection, Mapping
from typing import Any

from rpcapi import errors
from rpcapi.model import names

MAX_DEPTH = 8  # providers from a root down to a leaf, both counted
KINDS = ("compute", "volume", "network")  # of roots: which service's resource it is
ROOTS_ONLY = ("kind", "availability_zone", "metrics", "facts", "host_ip", "numa")  # what no child reports


def check_full(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the root of each of ``nodes``, all that a service host has; raises InvalidStats where they form no trees.

    Each parent must be among them, and above no more than MAX_DEPTH providers in a line; a child's name must begin with
    that of its root and a separator.
    """
    roots = {name: _root(name, nodes) for name in nodes}
    for name, root in roots.items():
        if name != root:
            if not name.startswith(root + names.SEPARATOR):
                raise _refusal(name, f"it is below {root!r}, so its name must begin with {root + names.SEPARATOR!r}")
            _check_child(name, nodes[name])
    return roots


def check_delta(nodes: Mapping[str, Mapping[str, Any]], stored: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the root of each of ``nodes``, some that are ``stored``; raises InvalidStats where one would move.

    Trees grow, shrink and move in full reports only: a delta need not know all of a tree.
    """
    for name, told in nodes.items():
        held = stored[name]
        for part, now in (("parent", held["parent"]), ("kind", kind_of(held))):
            if told.get(part, now) != now:
                raise _refusal(name, f"its {part} is {now!r} and changes in a full report only")
        if held["parent"] is not None:
            _check_child(name, told)
    return {name: stored[name]["root"] for name in nodes}


def kind_of(told: Mapping[str, Any]) -> str:
    """Return the kind that is told of a root, or the usual one."""
    return str(told.get("kind") or KINDS[0])


def above(name: str, roots: Collection[str]) -> list[str]:
    """Return those of ``roots`` that a child of this name may have been below: it is no longer there to be asked."""
    parts = name.split(names.SEPARATOR)
    heads = (names.SEPARATOR.join(parts[:count]) for count in range(1, len(parts)))
    return [head for head in heads if head in roots]


def _root(name: str, nodes: Mapping[str, Mapping[str, Any]]) -> str:
    line = [name]
    while (parent := nodes[line[-1]].get("parent")) is not None:
        if parent not in nodes:
            raise _refusal(line[-1], f"its parent {parent!r} is not a provider of the same service host in this report")
        if parent in line:
            raise _refusal(name, f"its parents go in a circle: {' -> '.join([*line, parent])}")
        line.append(parent)
        if len(line) > MAX_DEPTH:
            raise _refusal(name, f"more than {MAX_DEPTH} providers stand in a line from it to its root")
    return line[-1]


def _check_child(name: str, told: Mapping[str, Any]) -> None:
    given = [part for part in ROOTS_ONLY if told.get(part)]
    if given:
        raise _refusal(name, f"it has a parent, and {', '.join(given)} can be told of roots only")


def _refusal(name: str, why: str) -> errors.InvalidStats:
    return errors.InvalidStats(what=f"provider {name!r}", why=why)
