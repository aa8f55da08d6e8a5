# SPDX-License-Identifier: Apache-2.0
"""Refusal of single invalid facts, so that the rest of a report is kept."""

from collections.abc import Iterator, Mapping
from typing import Any

from rpcapi import errors
from rpcapi.validation.text import MAX_SHOWN
from scheduler_svc.core.namespaces import compute

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
