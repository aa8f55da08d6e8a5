# SPDX-License-Identifier: Apache-2.0
"""Helpers of filter tests: a few hosts in aggregates, and the hosts that pass a filter."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.reads import union
from scheduler_svc.core.table.table import HostTable
from tests.unit.scheduler_svc.fakes import hosts
from tests.unit.scheduler_svc.fakes.hosts import node, request


def aggregate(*members: str, **metadata: str) -> dict[str, Any]:
    """Return an aggregate's document."""
    return {"hosts": list(members), "metadata": metadata}


def make_nodes(*names: str, **fields: Any) -> dict[str, dict[str, Any]]:
    """Return nodes with these names and the same reported fields."""
    return {name: {**node(metrics=fields.get("metrics")), **fields} for name in names}


def passing_hosts(
    name: str,
    nodes: Mapping[str, Mapping[str, Any]],
    aggregates: Sequence[Mapping[str, Any]] = (),
    options: FilterOptions = DEFAULTS,
    **request_fields: Any,
) -> list[str]:
    """Return the nodes that pass the named filter for a request."""
    return run_filter(name, make_table(name, nodes, aggregates, options), options, **request_fields)[0]


def make_table(
    name: str, nodes: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]] = (), options: FilterOptions = DEFAULTS
) -> HostTable:
    """Return a table with the state that the named filter reads."""
    documents = {f"a{number}": document for number, document in enumerate(aggregates)}
    snapshot = dataclasses.replace(hosts.snapshot(nodes), states={"aggregate": documents})
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
