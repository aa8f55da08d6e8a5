# SPDX-License-Identifier: Apache-2.0
"""Reads what candidates' trees have and use from the table's columns."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from scheduler_svc.core.table.resources import ResourceColumns
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.table.traits import TraitColumns
from scheduler_svc.core.table.view import View
from scheduler_svc.placement.candidates.deadline import Deadline
from scheduler_svc.placement.candidates.request import ClassSummary, ProviderSummaries
from scheduler_svc.store import paging

MAX_ROOTS = 2000  # that are read at a time, so that changes of the table do not wait long


def read_summaries(
    table: HostTable, roots: Iterable[str], only: Collection[str] | None, deadline: Deadline
) -> ProviderSummaries:
    """Return all providers of these trees, or ``only`` those with these ids; those that were deleted are left out.

    Raises Problem 503 where the time is over.
    """
    summaries = ProviderSummaries()
    for names in paging.batches(list(roots), MAX_ROOTS):
        deadline.require()
        with table.reading() as view:
            _read(view, names, only, summaries)
    return summaries


def _read(view: View, names: Sequence[str], only: Collection[str] | None, summaries: ProviderSummaries) -> None:
    trees, present = view.all_trees, view.present
    rows = view.rows_by_name(names)
    if not present[list(rows.values())].all():
        rows = {name: row for name, row in rows.items() if present[row]}
    used = [name for name in rows if only is None or name in only]
    summaries.ids.extend(used)
    summaries.parents.extend([None] * len(used))
    summaries.roots.extend(used)
    _add_columns(list(map(rows.__getitem__, used)), trees.hosts.resources, trees.hosts.traits, summaries)
    for forest, _ in trees.forests:
        below = forest.descendants_of(rows.values())
        if only is not None:
            below = [row for row in below if forest.names[row] in only]
        summaries.ids.extend([forest.names[row] for row in below])
        summaries.parents.extend([forest.parent(row) for row in below])
        summaries.roots.extend([view.name(root) for root in forest.root[below].tolist()])
        _add_columns(below, forest.resources, forest.traits, summaries)


def _add_columns(
    numbers: Sequence[int],
    resources: Mapping[str, ResourceColumns],
    traits: TraitColumns,
    summaries: ProviderSummaries,
) -> None:
    """Add traits and inventories of the providers with these rows, which were added last."""
    first, rows = len(summaries.traits), np.array(numbers, np.intp)
    summaries.traits.extend(traits.names_of(rows))
    for name, columns in resources.items():
        indices = np.flatnonzero(columns.has_inventory(rows))
        if len(indices):
            capacities, used = (column[rows[indices]].tolist() for column in (columns.capacity, columns.used))
            summaries.classes.append(ClassSummary(name, (indices + first).tolist(), capacities, used))
