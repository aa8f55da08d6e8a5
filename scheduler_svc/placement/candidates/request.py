# SPDX-License-Identifier: Apache-2.0
"""What a query for allocation candidates requests, and its answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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


class ClassSummary(NamedTuple):
    """Capacity and usage of one resource class, of the providers with these indices."""

    resource_class: str
    indices: list[int]
    capacities: list[int]
    used: list[int]


@dataclass(frozen=True, slots=True)
class ProviderSummaries:
    """What providers have and use, one element for each provider. ``parents`` are None for roots."""

    ids: list[str] = field(default_factory=list)
    parents: list[str | None] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    traits: list[Sequence[str]] = field(default_factory=list)
    classes: list[ClassSummary] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CandidateList:
    """The answer to a query. Each of ``bare_roots`` serves all groups by itself, and has no other candidate."""

    bare_roots: Sequence[str] = ()
    candidates: Sequence[AllocationCandidate] = ()
    providers: ProviderSummaries = field(default_factory=ProviderSummaries)
