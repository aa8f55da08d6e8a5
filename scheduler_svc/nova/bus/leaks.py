# SPDX-License-Identifier: Apache-2.0
"""Claims whose answer was lost: Nova's conductor timed out or died, and no server was built under them."""

from collections.abc import Callable, Sequence

from rpcapi.resources import names
from scheduler_svc.core.records import Claim
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.interface import Store

InstancesOnHosts = Callable[[Sequence[str]], frozenset[str]]  # which of these instances have a host


def find_leaks(
    store: Store, on_hosts: InstancesOnHosts, build_ms: int, marker: str | None, limit: int
) -> tuple[list[Claim], str | None]:
    """Return the leaked claims in one page of claims, and the marker of the next page, None on the last.

    ``build_ms`` is how long Nova may take from a claim until its instance has the host: a leak is older, and its
    consumer is no instance with a host. A claim that a client wrote is none: ``nova-manage placement audit`` is for
    those. Raises StoreUnavailable, and what the question for instances raises.
    """
    latest_ms = store.clock_ms() - build_ms
    page, next_marker = store.claims(host=names.API_HOST, marker=marker, limit=limit)
    claims = [claim for claim in page if names.is_api_provider(claim.host) and claim.created_ms <= latest_ms]
    used = on_hosts([claim.consumer for claim in claims]) if claims else frozenset()
    return [claim for claim in claims if claim.consumer not in used], next_marker


def end_leak(store: Store, claim: Claim) -> bool:
    """End a claim if it is still as it was found; return whether it was."""
    state = store.read_allocations([claim.consumer]).get(claim.consumer)
    if state is None or store.claims(consumer=claim.consumer)[0] != [claim]:
        return False
    change = AllocationChange(claim.consumer, {}, state.project, state.user, state.generation, is_deletion=True)
    return store.allocate([change]) is None
