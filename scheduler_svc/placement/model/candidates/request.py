# SPDX-License-Identifier: Apache-2.0
"""What a query for allocation candidates requests, and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.placement.model.candidates.contents import ProviderContents


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """A query. Providers are named by id; ``in_tree`` of its groups is the id of a root.

    ``limit`` is the largest number of candidates, None: as many as a query may get. With ``nested`` a candidate may use
    several providers of one tree. The order in which roots are searched is drawn from ``seed`` where there is a limit.
    """

    trees: TreeRequest
    limit: int | None = None
    nested: bool = True
    seed: str = ""


@dataclass(frozen=True, slots=True)
class CandidateList:
    """The answer to a query: candidates, and what all providers of their trees have.

    Each of ``bare_roots`` serves all groups by itself, and has no other candidate. ``providers`` are all others.
    """

    bare_roots: Sequence[ProviderContents] = ()
    candidates: Sequence[AllocationCandidate] = ()
    providers: Sequence[ProviderContents] = ()
