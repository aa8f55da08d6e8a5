# SPDX-License-Identifier: Apache-2.0
"""Query for allocation candidates, and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.placement.model.candidates.contents import ProviderContents


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """Query for allocation candidates; names providers by id.

    Attributes:
        trees: Request groups; ``in_tree`` of a group is the id of a root.
        limit: Maximum number of candidates; None means the server's maximum.
        nested: Whether a candidate may use several providers of one tree.
        seed: Determines the order of searched roots if there is a limit.
    """

    trees: TreeRequest
    limit: int | None = None
    nested: bool = True
    seed: str = ""


@dataclass(frozen=True, slots=True)
class CandidateList:
    """Answer to a query for allocation candidates.

    Attributes:
        bare_roots: Roots that each serve all groups alone and have no other candidate.
        providers: All other providers in the candidates' trees.
    """

    bare_roots: Sequence[ProviderContents] = ()
    candidates: Sequence[AllocationCandidate] = ()
    providers: Sequence[ProviderContents] = ()
