# SPDX-License-Identifier: Apache-2.0
"""A few hosts in aggregates, and who of them passes a filter."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_svc.filters import pipeline
from scheduler_svc.filters.options import DEFAULTS, Options
from scheduler_svc.reads import union
from scheduler_svc.table.table import HostTable
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import node, request


def aggregate(*members: str, **metadata: str) -> dict[str, Any]:
    """Return an aggregate's document."""
    return {"hosts": list(members), "metadata": metadata}


def telling(*names: str, **told: Any) -> dict[str, dict[str, Any]]:
    """Return nodes that tell the same of themselves beside their inventories."""
    return {name: {**node(metrics=told.get("metrics")), **told} for name in names}


def passing(
    name: str,
    nodes: Mapping[str, Mapping[str, Any]],
    aggregates: Sequence[Mapping[str, Any]] = (),
    options: Options = DEFAULTS,
    **asked: Any,
) -> list[str]:
    """Return which nodes pass the filter of this name for such a request."""
    return passes(name, table(name, nodes, aggregates, options), options, **asked)[0]


def table(
    name: str, nodes: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]] = (), options: Options = DEFAULTS
) -> HostTable:
    """Return a table that keeps what the filter of this name reads."""
    documents = {f"a{number}": each for number, each in enumerate(aggregates)}
    snapshot = dataclasses.replace(hosts.snapshot(nodes), states={"aggregate": documents})
    return HostTable.from_snapshot(snapshot, reads=union(each.reads for each in pipeline.build([name], options)))


def passes(name: str, held: HostTable, options: Options = DEFAULTS, **asked: Any) -> tuple[list[str], dict[str, int]]:
    """Return which nodes of a table pass, and how many fell to what."""
    with held.reading() as view:
        left = pipeline.run(pipeline.build([name], options), view, request(**asked))
        return [view.name(row) for row in range(view.size) if left.passes[row]], dict(left.reasons)
