# SPDX-License-Identifier: Apache-2.0
"""Allocations as clients of the Placement API read and replace them.

What a consumer holds by the API is one live claim, confirmed from the beginning, on the service host that stands for
the API: no agent audits, confirms or releases it, and it leaves no tombstone. One that the scheduler made is on the
node that it chose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from rpcapi.resources import names
from scheduler_svc.core.records import Allocations, Amounts, Claim
from scheduler_svc.store import validation
from scheduler_svc.store.unverified import consumer_of

MAX_CONSUMERS = 1000  # of one call
IMPORT_REQUEST = "placement-import"  # the request id of claims that nothing but imports wrote


class AnyGeneration(Enum):
    """The marker for a change that is made whatever the consumer's generation is (microversions before 1.28)."""

    ANY = auto()


ANY = AnyGeneration.ANY


@dataclass(frozen=True, slots=True)
class AllocationChange:
    """What one consumer is to hold, in place of all that it held.

    ``allocations`` {} ends what it holds. ``generation`` is the consumer's as the client read it; None: it must hold
    nothing. ``type`` None leaves the type of a consumer that holds something; "" is none. The generations of the
    providers in ``allocations`` are increased; where these are empty, those of the providers that the consumer held
    from, unless ``is_deletion`` (DELETE of the consumer's allocations).
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
    """What one consumer holds in another Placement, in place of what it held by an earlier import.

    ``allocations`` {} ends that. The consumer's generation becomes ``generation``, or the one at which the epoch began
    if that is larger. The generations of providers stay.
    """

    consumer: str
    allocations: Allocations
    project: str
    user: str
    type: str
    generation: int
    created_ms: int


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """What a consumer holds by its live claim, of either owner. ``generation`` is the one that clients send back.

    ``is_imported`` is whether an import wrote it, and nobody since.
    """

    consumer: str
    generation: int
    project: str
    user: str
    type: str
    allocations: Allocations
    is_api_owned: bool
    created_ms: int
    is_imported: bool = False


def is_api_claim(claim: Claim) -> bool:
    """Return whether the Placement API owns a claim: a client wrote it, or the scheduler for the node that it chose."""
    return names.host_of(claim.host) == names.API_HOST


def is_imported(claim: Claim) -> bool:
    """Return whether a claim is as an import wrote it."""
    return is_api_claim(claim) and claim.request_id == IMPORT_REQUEST


def reported_allocations(claim: Claim) -> Allocations:
    """Return the amounts of the claim's guest by its agent's last report, or else by its confirmation."""
    return claim.allocations if claim.reported is None else claim.reported


def lowered_amounts(claim: Claim, requested: Allocations) -> tuple[str, tuple[str, ...]] | None:
    """Return the first provider from which an agent's guest uses more than ``requested``, and the classes, or None.

    Reported amounts that the claim does not hold need not be requested: the store did not believe them.
    """
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
    """Return the amounts of the claim's guest, by its agent's report, that exceed the claim, in order."""
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
    """Return the consumer's generation: that of its claim, or if that is of an earlier epoch what this one begins at.

    It is never larger than the partition's position, so that it does not repeat in a later epoch.
    """
    return max(claim.generation, generation_base)


def state_of(claim: Claim, generation_base: int) -> ConsumerState:
    """Return what a consumer holds by its live claim."""
    return ConsumerState(
        consumer_of(claim.consumer),
        generation_of(claim, generation_base),
        claim.project,
        claim.user,
        claim.type,
        claim.allocations,
        is_api_claim(claim),
        claim.created_ms,
        is_imported(claim),
    )


@dataclass(frozen=True, slots=True)
class Usage:
    """What the consumers of one type hold: their number, and the sums by resource class."""

    consumers: int
    amounts: Amounts


def holder_keys(claim: Claim) -> list[str]:
    """Return the entries of a claim in the index of holders: the index by host has that of its own host."""
    return [f"{provider}|{claim.consumer}" for provider in claim.allocations if provider != claim.host]


def check(changes: Sequence[AllocationChange]) -> None:
    """Raise InvalidRequest or InvalidName unless these are valid changes of 1 to MAX_CONSUMERS different consumers."""
    _check_consumers(changes)
    for change in changes:
        _check_rest(change.generation, change.type)


def check_imports(imports: Sequence[ConsumerImport]) -> None:
    """Raise InvalidRequest or InvalidName unless these are valid imports of 1 to MAX_CONSUMERS different consumers."""
    _check_consumers(imports)
    for item in imports:
        validation.check_text("consumer type", item.type)
        for what in ("generation", "created_ms"):
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
    """Raise InvalidRequest unless these can be a project, a user or None, and a consumer type or None."""
    for what, value in (("project", project), ("user", user), ("consumer type", consumer_type)):
        if value is not None or what == "project":
            validation.check_text(what, value)


def _check_rest(generation: Any, consumer_type: Any) -> None:
    if consumer_type is not None:
        validation.check_text("consumer type", consumer_type)
    if generation is not None and generation is not ANY:
        validation.check_number("generation", generation, 0, validation.MAX_NUMBER)
