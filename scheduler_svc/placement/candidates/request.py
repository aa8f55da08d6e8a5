# SPDX-License-Identifier: Apache-2.0
"""What a query for allocation candidates requests, and its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest


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


@dataclass(slots=True)
class ProviderSummary:
    """A provider of a candidate's trees. ``resources`` has capacity and usage by resource class."""

    parent: str | None
    root: str
    resources: dict[str, dict[str, int]] = field(default_factory=dict)
    traits: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class CandidateList:
    """The answer to a query; ``summaries`` are by the id of the provider."""

    candidates: Sequence[AllocationCandidate] = ()
    summaries: Mapping[str, ProviderSummary] = field(default_factory=dict)
