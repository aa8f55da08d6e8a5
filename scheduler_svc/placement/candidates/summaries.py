# SPDX-License-Identifier: Apache-2.0
"""Reads what candidates' trees have and use from the table's columns."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from scheduler_svc.core.table.resources import ResourceColumns
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.table.traits import TraitColumns
from scheduler_svc.core.table.view import View
from scheduler_svc.placement.candidates.request import ClassSummary, ProviderSummaries

MAX_ROOTS = 2000  # that are read at a time, so that changes of the table do not wait long


def read_summaries(table: HostTable, roots: Iterable[str], only: Collection[str] | None = None) -> ProviderSummaries:
    """Return all providers of these trees, or ``only`` those with these ids; those that were deleted are left out."""
    names = list(roots)
    summaries = ProviderSummaries()
    for start in range(0, len(names), MAX_ROOTS):
        with table.reading() as view:
            _read(view, names[start : start + MAX_ROOTS], only, summaries)
    return summaries


def _read(view: View, names: Sequence[str], only: Collection[str] | None, summaries: ProviderSummaries) -> None:
    trees, present = view.all_trees, view.present
    rows = {name: row for name in names if (row := view.row(name)) is not None and present[row]}
    hosts = [(name, None, name, row) for name, row in rows.items() if only is None or name in only]
    _add(hosts, trees.hosts.resources, trees.hosts.traits, summaries)
    for forest, _ in trees.forests:
        children = [
            (forest.names[row], forest.parent(row), name, row)
            for name, root in rows.items()
            for row in forest.descendants(root)
            if only is None or forest.names[row] in only
        ]
        _add(children, forest.resources, forest.traits, summaries)


def _add(
    providers: Sequence[tuple[str, str | None, str, int]],
    resources: Mapping[str, ResourceColumns],
    traits: TraitColumns,
    summaries: ProviderSummaries,
) -> None:
    """Add providers: their ids, parents, roots and rows in these columns."""
    if not providers:
        return
    ids, parents, roots, numbers = zip(*providers, strict=True)
    first, rows = len(summaries.ids), np.array(numbers, np.intp)
    summaries.ids.extend(ids)
    summaries.parents.extend(parents)
    summaries.roots.extend(roots)
    summaries.traits.extend(traits.names_of(rows))
    for name, columns in resources.items():
        indices = np.flatnonzero(columns.has_inventory(rows))
        if len(indices):
            capacities, used = (column[rows[indices]].tolist() for column in (columns.capacity, columns.used))
            summaries.classes.append(ClassSummary(name, (indices + first).tolist(), capacities, used))
