# SPDX-License-Identifier: Apache-2.0
"""Claims whose answer was lost: Nova's conductor timed out or died, and no server was built under them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rpcapi.resources import names
from scheduler_svc.core.records import Allocations, Claim
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.interface import Store

InstancesOnHosts = Callable[[Sequence[str]], frozenset[str]]  # which of these instances have a host


@dataclass(frozen=True, slots=True)
class Leak:
    """A claim that gantt made for Nova and that no instance uses. ``created_ms`` is by the store's clock."""

    consumer: str
    host: str
    request_id: str
    created_ms: int
    allocations: Allocations


class LeakedClaims:
    """Finds and ends leaked claims in one store.

    A claim that a client wrote is not among them: ``nova-manage placement audit`` is for those.
    """

    def __init__(self, store: Store, on_hosts: InstancesOnHosts, build_ms: int) -> None:
        """``build_ms`` is how long Nova may take from a claim until its instance has the host."""
        self._store = store
        self._on_hosts = on_hosts
        self._build_ms = build_ms

    def find(self, marker: str | None, limit: int) -> tuple[list[Leak], str | None]:
        """Return the leaks in one page of claims, and the marker of the next page, None on the last.

        A leak is older than the build time-out and its consumer is no instance with a host. Raises StoreUnavailable,
        and what the question for instances raises.
        """
        latest_ms = self._store.clock_ms() - self._build_ms
        page, next_marker = self._store.claims(host=names.API_HOST, marker=marker, limit=limit)
        claims = [claim for claim in page if names.is_api_provider(claim.host) and claim.created_ms <= latest_ms]
        used = self._on_hosts([claim.consumer for claim in claims]) if claims else frozenset()
        return [_leak(claim) for claim in claims if claim.consumer not in used], next_marker

    def end(self, leak: Leak) -> bool:
        """End a claim if it is still as it was found; return whether it was."""
        state = self._store.read_allocations([leak.consumer]).get(leak.consumer)
        claims, _ = self._store.claims(consumer=leak.consumer)
        if state is None or [_leak(claim) for claim in claims] != [leak]:
            return False
        change = AllocationChange(leak.consumer, {}, state.project, state.user, state.generation, is_deletion=True)
        return self._store.allocate([change]) is None


def _leak(claim: Claim) -> Leak:
    return Leak(claim.consumer, claim.host, claim.request_id, claim.created_ms, claim.allocations)
