# SPDX-License-Identifier: Apache-2.0
"""Allocations of consumers; requests name providers by UUID."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.core.records import Claim
from scheduler_svc.placement.model.catalogue import RESOURCE_CLASSES, Catalogue
from scheduler_svc.placement.model.directory import ProviderDirectory
from scheduler_svc.placement.model.problems import CONCURRENT_UPDATE, Problem, bad_request, conflict
from scheduler_svc.store import paging
from scheduler_svc.store.allocations import ANY, MAX_CONSUMERS, AllocationChange
from scheduler_svc.store.protocols.providers import ReshapingStore
from scheduler_svc.store.providers.changes import Refusal, RefusalKind

_REASONS = {
    RefusalKind.INVENTORY: "it has no inventory of this class.",
    RefusalKind.UNITS: "The requested amount violates min_unit, max_unit or step_size.",
    RefusalKind.CAPACITY: "The requested amount would exceed the capacity.",
    RefusalKind.CLOSED: "its agent must first report what runs there; retry later.",
}


class Consumers:
    """Reader and writer of consumers' allocations. Requests name providers by UUID."""

    def __init__(self, store: ReshapingStore, directory: ProviderDirectory, catalogue: Catalogue) -> None:
        self.store = store
        self.directory = directory
        self.catalogue = catalogue

    def find(self, consumer: str) -> Claim | None:
        """Return a consumer's claim, None without allocations."""
        return self.store.read_allocations([consumer]).get(consumer)

    def of_provider(self, provider: str) -> Iterator[Claim]:
        return paging.entries(partial(self.store.list_holders, provider))

    def replace(self, requests: Sequence[AllocationChange]) -> None:
        """Replace the allocations of all these consumers, or of none. Raises Problem."""
        refusal = self.apply(requests, self.store.allocate)
        if refusal is not None:
            raise refused_allocation(refusal)

    def apply(
        self, requests: Sequence[AllocationChange], write: Callable[[list[AllocationChange]], Refusal | None]
    ) -> Refusal | None:
        """Pass the changes to ``write`` and return its answer.

        Calls ``write`` again if it misses a provider and agents have reported providers since. Raises Problem for an
        unknown class or malformed UUID.
        """
        with self.generations_first(requests):
            changes = self._changes(requests)
        refusal = write(changes)
        if refusal is None or refusal.kind is not RefusalKind.PROVIDER or not refusal.consumer:
            return refusal
        self.directory.learn_agents()
        # Another thread may have learned the provider meanwhile, so compare the changes, not the directory.
        learned = self._changes(requests)
        return refusal if learned == changes else write(learned)

    @contextlib.contextmanager
    def generations_first(self, requests: Sequence[AllocationChange]) -> Iterator[None]:
        """Raise a Problem for an outdated consumer generation instead of the block's Problem, like Placement."""
        try:
            yield
        except Problem:
            self._check_generations(requests)
            raise

    def _check_generations(self, requests: Sequence[AllocationChange]) -> None:
        claims: dict[str, Claim] = {}
        for batch in paging.batches([request.consumer for request in requests], MAX_CONSUMERS):
            claims |= self.store.read_allocations(batch)
        for request in requests:
            claim = claims.get(request.consumer)
            actual = None if claim is None else claim.generation
            if request.generation is not ANY and request.generation != actual:
                stale = Refusal(RefusalKind.CONSUMER, "", (), request.generation, actual, request.consumer)
                raise refused_allocation(stale)

    def _changes(self, requests: Sequence[AllocationChange]) -> list[AllocationChange]:
        known_classes: set[str] = set()
        for request in requests:
            classes = {name for amounts in request.allocations.values() for name in amounts} - known_classes
            failure = f"Unable to allocate inventory for consumer {request.consumer}: "
            self.catalogue.check(RESOURCE_CLASSES, classes, failure)
            known_classes |= classes
        return [
            replace(
                request,
                allocations={self._provider_id(uuid): amounts for uuid, amounts in request.allocations.items()},
            )
            for request in requests
        ]

    def _provider_id(self, uuid: str) -> str:
        provider = self.directory.id_of(uuid)
        if provider is None:
            raise _no_provider(uuid)
        return provider


def refused_allocation(refusal: Refusal) -> Problem:
    match refusal.kind:
        case RefusalKind.CONSUMER:
            expected, sent = (
                "null" if generation is None else generation for generation in (refusal.actual, refusal.expected)
            )
            # Nova searches for the first three words of this message.
            return conflict(f"consumer generation conflict - expected {expected} but got {sent}", CONCURRENT_UPDATE)
        case RefusalKind.OWNER:
            return conflict(
                f"A compute agent owns the allocations of consumer {refusal.consumer}: after the agent has confirmed "
                "them, a request with the consumer's generation and type may add to them, unless they belong to a "
                "migration; only the agent may end them."
            )
        case RefusalKind.GUEST:
            classes, provider = ", ".join(refusal.resource_classes), uuid_of(refusal.provider)
            return conflict(
                f"The guest of consumer {refusal.consumer} uses more {classes} from resource provider {provider} than "
                "the request contains, by its compute agent's report: request at least that much."
            )
        case RefusalKind.PROVIDER:
            return _no_provider(uuid_of(refusal.provider))
        case kind:
            classes, provider = ", ".join(refusal.resource_classes), uuid_of(refusal.provider)
            return conflict(
                f"Unable to allocate inventory: Inventory for '{classes}' on resource provider '{provider}' invalid: "
                f"{_REASONS[kind]}"
            )


def _no_provider(uuid: str) -> Problem:
    return bad_request(f"Allocation for resource provider '{uuid}' that does not exist.")
