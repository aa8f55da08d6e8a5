# SPDX-License-Identifier: Apache-2.0
"""Helpers of filter tests: a few hosts in aggregates, and the hosts that pass a filter."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.reads import union
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request

Documents = Mapping[str, Mapping[str, Mapping[str, Any]]]
NO_DOCUMENTS: Documents = {}


def aggregate(*members: str, **metadata: str) -> dict[str, Any]:
    """Return an aggregate's document."""
    return {"hosts": list(members), "metadata": metadata}


def two_aggregates(**metadata: tuple[str, str]) -> list[dict[str, Any]]:
    """Return the aggregates of "one" and "both", and of "both" and "two"; each value is a pair of texts."""
    first, second = ({key: pair[index] for key, pair in metadata.items()} for index in (0, 1))
    return [aggregate("one", "both", **first), aggregate("both", "two", **second)]


def make_nodes(*names: str, **fields: Any) -> dict[str, dict[str, Any]]:
    """Return nodes with these names and the same reported fields."""
    return {name: {**node(metrics=fields.get("metrics")), **fields} for name in names}


def passing_hosts(
    name: str,
    nodes: Mapping[str, Mapping[str, Any]],
    aggregates: Sequence[Mapping[str, Any]] = (),
    options: FilterOptions = DEFAULTS,
    *,
    documents: Documents = NO_DOCUMENTS,
    **request_fields: Any,
) -> list[str]:
    """Return the nodes that pass the named filter for a request."""
    table = make_table(name, nodes, aggregates, options, documents)
    return run_filter(name, table, options, **request_fields)[0]


def make_table(
    name: str,
    nodes: Mapping[str, Any],
    aggregates: Sequence[Mapping[str, Any]] = (),
    options: FilterOptions = DEFAULTS,
    documents: Documents = NO_DOCUMENTS,
) -> HostTable:
    """Return a table with the state that the named filter reads; ``documents`` are by namespace and name."""
    named_aggregates = {f"a{number}": document for number, document in enumerate(aggregates)}
    snapshot = dataclasses.replace(hosts.snapshot(nodes), states={"aggregate": named_aggregates, **documents})
    return HostTable.from_snapshot(
        snapshot, reads=union(host_filter.reads for host_filter in pipeline.build([name], options))
    )


def run_filter(
    name: str, table: HostTable, options: FilterOptions = DEFAULTS, **request_fields: Any
) -> tuple[list[str], dict[str, int]]:
    """Return the nodes of a table that pass, and the rejections per reason."""
    with table.reading() as view:
        survivors = pipeline.run(pipeline.build([name], options), view, request(**request_fields))
        return [view.name(row) for row in range(view.size) if survivors.passes[row]], dict(survivors.reasons)
