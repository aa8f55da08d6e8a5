# SPDX-License-Identifier: Apache-2.0
"""Anchors: roots of trees that could serve a query, found by operations on whole columns."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rpcapi.resources.groups import ISOLATE, RequestGroup
from rpcapi.resources.trees.tree import TreeRequest
from scheduler_svc.core.matching.group_columns import can_serve, could_serve_unsuffixed, could_use
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.trees import TreeColumns
from scheduler_svc.core.table.view import View
from scheduler_svc.placement.model.candidates.request import CandidateRequest


class Anchors(NamedTuple):
    """Roots to search, in this order.

    Attributes:
        bare: Whether the root can serve the whole request alone, and no other provider in its tree, or that shares with
            it, could serve a part.
        any_shares: Whether any provider is a sharing provider.
    """

    ids: list[str]
    bare: list[bool]
    any_shares: bool


def find_anchors(view: View, request: CandidateRequest) -> Anchors:
    trees = view.all_trees
    nested = trees.any_other(could_use, request.trees.groups)
    nested[trees.sharing_rows] = True  # a sharing provider also serves other roots, so it is never bare
    mask = _serves_alone(trees, request.trees)
    if nested.any():
        mask = np.where(nested, _could_serve(trees, request.trees), mask)
    rows = np.flatnonzero(view.present & mask)
    if request.limit is not None:
        digest = hashlib.blake2b(request.seed.encode(), digest_size=8).digest()
        count = len(rows) if nested[rows].any() else min(len(rows), request.limit)
        rows = np.random.default_rng(int.from_bytes(digest)).choice(rows, count, replace=False)
    any_shares = bool(len(trees.sharing_rows) or trees.sharing_children)
    return Anchors(view.names(rows), (~nested[rows]).tolist(), any_shares)


def total_amounts(request: TreeRequest) -> Mapping[str, int]:
    """Return the total of each resource class over all groups: the allocation of a bare root."""
    totals: Counter[str] = Counter()
    for group in request.groups:
        totals.update(group.resources)
    return dict(totals)


def _could_serve(trees: TreeColumns, request: TreeRequest) -> Column:
    """Return a mask of roots that qualify, and whose trees could serve each group separately."""
    column = trees.hosts.has_all(request.root_required) & trees.hosts.has_none(request.root_forbidden)
    counts: dict[str, tuple[RequestGroup, int]] = {}
    for group in request.groups:
        if group.suffix:
            key = repr(replace(group, suffix=""))
            counts[key] = group, counts.get(key, (group, 0))[1] + 1
        else:
            column &= could_serve_unsuffixed(trees, group)
    for group, times in counts.values():
        column &= can_serve(trees, group, times, isolated=request.policy == ISOLATE)
    return column


def _serves_alone(trees: TreeColumns, request: TreeRequest) -> Column:
    """Return a mask of roots that can serve all groups alone."""
    if request.policy == ISOLATE and sum(bool(group.suffix) for group in request.groups) > 1:
        return np.zeros(trees.hosts.size, np.bool_)
    column = _could_serve(trees.roots_only(), request)
    for name, amount in total_amounts(request).items():
        column &= trees.hosts.can_hold(name, amount)
    return column
