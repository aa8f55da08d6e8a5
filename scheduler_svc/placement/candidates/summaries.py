# SPDX-License-Identifier: Apache-2.0
"""Reads what candidates' trees have and use from the table's columns."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from scheduler_svc.core.table.resources import ResourceColumns
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.table.traits import TraitColumns
from scheduler_svc.core.table.view import View
from scheduler_svc.placement.candidates.request import ProviderSummary

MAX_ROOTS = 2000  # that are read at a time, so that changes of the table do not wait long


def read_summaries(table: HostTable, roots: Iterable[str]) -> dict[str, ProviderSummary]:
    """Return all providers of these trees by id; of trees that were deleted meanwhile none."""
    names = list(roots)
    summaries: dict[str, ProviderSummary] = {}
    for start in range(0, len(names), MAX_ROOTS):
        with table.reading() as view:
            _read(view, names[start : start + MAX_ROOTS], summaries)
    return summaries


def _read(view: View, names: Collection[str], summaries: dict[str, ProviderSummary]) -> None:
    trees, present = view.all_trees, view.present
    rows = {name: row for name in names if (row := view.row(name)) is not None and present[row]}
    hosts = [ProviderSummary(None, name) for name in rows]
    _fill(hosts, list(rows.values()), trees.hosts.resources, trees.hosts.traits)
    summaries.update(zip(rows, hosts, strict=True))
    for forest, _ in trees.forests:
        below = [(row, name) for name, root in rows.items() for row in forest.descendants(root)]
        children = [ProviderSummary(forest.parent(row), name) for row, name in below]
        _fill(children, [row for row, _ in below], forest.resources, forest.traits)
        summaries.update(zip((forest.names[row] for row, _ in below), children, strict=True))


def _fill(
    summaries: Sequence[ProviderSummary],
    rows: Sequence[int],
    resources: Mapping[str, ResourceColumns],
    traits: TraitColumns,
) -> None:
    numbers = np.array(rows, np.intp)
    for name, columns in resources.items():
        selection = np.flatnonzero(columns.has_inventory(numbers))
        capacities, used = (column[numbers[selection]].tolist() for column in (columns.capacity, columns.used))
        for number, capacity, amount in zip(selection.tolist(), capacities, used, strict=True):
            summaries[number].resources[name] = {"capacity": capacity, "used": amount}
    for summary, names in zip(summaries, traits.names_of(numbers), strict=True):
        summary.traits = names
