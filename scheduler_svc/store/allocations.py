# SPDX-License-Identifier: Apache-2.0
"""Allocations as clients of the Placement API read and write them.

A consumer's allocations are stored as one live claim, confirmed at once, on the pseudo-host API_HOST. No agent audits
or releases this claim, and it leaves no tombstone. If the scheduler made the claim, its host is the selected node.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from rpcapi.resources import names
from scheduler_svc.core.records import Allocations, Amounts, Claim
from scheduler_svc.store import validation
from scheduler_svc.store.unverified import consumer_of

MAX_CONSUMERS = 1000  # consumers per call
IMPORT_REQUEST = "placement-import"  # request id of claims that only imports have written


class AnyGeneration(Enum):
    """Marker of a write without a generation check (microversions before 1.28)."""

    ANY = auto()


ANY = AnyGeneration.ANY


@dataclass(frozen=True, slots=True)
class AllocationChange:
    """New allocations of one consumer, which replace all its former allocations.

    Attributes:
        allocations: {provider: {class: amount}}; {} ends the consumer's allocations.
        generation: Generation that the client read; None requires a consumer without allocations.
        type: Consumer type; None keeps the stored type, "" means no type.
        is_deletion: Keeps the generations of the former providers. Any other write increases the generations of the
            new providers, or of the former providers if there are no new ones.
    """

    consumer: str
    allocations: Allocations
    project: str
    user: str
    generation: int | AnyGeneration | None
    type: str | None = None
    is_deletion: bool = False


@dataclass(frozen=True, slots=True)
class ConsumerImport:
    """A consumer's allocations in another Placement, which replace an earlier import; {} ends them.

    The consumer's generation becomes ``generation``, or the epoch's first generation if that is larger. Comparisons
    ignore ``changed_ms``, because the other Placement may store coarser times.
    """

    consumer: str
    allocations: Allocations
    project: str
    user: str
    type: str
    generation: int
    changed_ms: int = field(compare=False)


def is_api_claim(claim: Claim) -> bool:
    """Return whether the Placement API owns the claim, whether a client or the scheduler made it."""
    return names.host_of(claim.host) == names.API_HOST


def is_imported(claim: Claim) -> bool:
    """Return whether the claim is an import that no client has changed since."""
    return is_api_claim(claim) and claim.request_id == IMPORT_REQUEST


def reported_allocations(claim: Claim) -> Allocations:
    """Return the amounts that the guest uses by its agent's last audit; without one, the claim's."""
    return claim.allocations if claim.reported is None else claim.reported


def lowered_amounts(claim: Claim, requested: Allocations) -> tuple[str, tuple[str, ...]] | None:
    """Return the first (provider, classes) where ``requested`` is below the guest's use of its claim, or None."""
    for provider, amounts in sorted(reported_allocations(claim).items()):
        claim_amounts, remaining = claim.allocations.get(provider, {}), requested.get(provider, {})
        classes = [
            name
            for name, amount in sorted(amounts.items())
            if remaining.get(name, 0) < min(amount, claim_amounts.get(name, 0))
        ]
        if classes:
            return provider, tuple(classes)
    return None


def unheld_amounts(claim: Claim) -> Allocations:
    """Return the guest's amounts in classes where it uses more than its claim has."""
    unheld = {
        provider: {
            name: amount
            for name, amount in sorted(amounts.items())
            if amount > claim.allocations.get(provider, {}).get(name, 0)
        }
        for provider, amounts in sorted(reported_allocations(claim).items())
    }
    return {provider: amounts for provider, amounts in unheld.items() if amounts}


def generation_of(claim: Claim, generation_base: int) -> int:
    """Return the consumer's generation: at least the epoch's first, at most the log position."""
    return max(claim.generation, generation_base)


def client_view(claim: Claim, generation_base: int) -> Claim:
    """Return the claim with the consumer and generation that clients of the Placement API see."""
    return replace(claim, consumer=consumer_of(claim.consumer), generation=generation_of(claim, generation_base))


@dataclass(frozen=True, slots=True)
class Usage:
    consumers: int
    amounts: Amounts


def holder_keys(claim: Claim) -> list[str]:
    """Return the claim's keys in the index of holders, one per provider other than the claim's host."""
    return [f"{provider}|{claim.consumer}" for provider in claim.allocations if provider != claim.host]


def check(changes: Sequence[AllocationChange]) -> None:
    """Raise InvalidRequest or InvalidName unless there are 1 to MAX_CONSUMERS valid changes of distinct consumers."""
    _check_consumers(changes)
    for change in changes:
        _check_rest(change.generation, change.type)


def check_imports(imports: Sequence[ConsumerImport]) -> None:
    """Raise InvalidRequest or InvalidName unless there are 1 to MAX_CONSUMERS valid imports of distinct consumers."""
    _check_consumers(imports)
    for item in imports:
        validation.check_text("consumer type", item.type)
        for what in ("generation", "changed_ms"):
            validation.check_number(what, getattr(item, what), 0, validation.MAX_NUMBER)


def _check_consumers(changes: Sequence[AllocationChange | ConsumerImport]) -> None:
    if not 1 <= len(changes) <= MAX_CONSUMERS:
        raise validation.refuse(f"a call must contain 1 to {MAX_CONSUMERS} consumers, got {len(changes)}")
    validation.check_consumers([change.consumer for change in changes])
    if len({change.consumer for change in changes}) < len(changes):
        raise validation.refuse("a call must not contain the same consumer twice")
    for change in changes:
        if change.allocations:
            validation.check_allocations(change.allocations)
        for what in ("project", "user"):
            validation.check_text(what, getattr(change, what))


def check_usages(project: Any, user: Any, consumer_type: Any) -> None:
    for what, value in (("project", project), ("user", user), ("consumer type", consumer_type)):
        if value is not None or what == "project":
            validation.check_text(what, value)


def _check_rest(generation: Any, consumer_type: Any) -> None:
    if consumer_type is not None:
        validation.check_text("consumer type", consumer_type)
    if generation is not None and generation is not ANY:
        validation.check_number("generation", generation, 0, validation.MAX_NUMBER)
