# SPDX-License-Identifier: Apache-2.0
"""Leaked claims: made for Nova, whose conductor lost the answer and built no server."""

from collections.abc import Callable, Sequence

from rpcapi.resources import names
from scheduler_svc.core.records import Claim
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.interface import Store
from scheduler_svc.store.paging import Page

InstancesOnHosts = Callable[[Sequence[str]], frozenset[str]]  # returns the given instances that have a host


def find_leaks(store: Store, on_hosts: InstancesOnHosts, build_ms: int, marker: str | None, limit: int) -> Page[Claim]:
    """Return the leaked claims in one page of claims, and the next marker or None.

    A claim is leaked if it is older than ``build_ms``, the longest time from claim to host in Nova, and its consumer is
    no instance with a host. ``nova-manage placement audit`` finds the leaks of other clients. Raises StoreUnavailable,
    and the errors of ``on_hosts``.
    """
    latest_ms = store.clock_ms() - build_ms
    page, next_marker = store.claims(host=names.API_HOST, marker=marker, limit=limit)
    claims = [claim for claim in page if names.is_api_provider(claim.host) and claim.created_ms <= latest_ms]
    used = on_hosts([claim.consumer for claim in claims]) if claims else frozenset()
    return [claim for claim in claims if claim.consumer not in used], next_marker


def end_leak(store: Store, claim: Claim) -> bool:
    """End the claim unless it has changed since it was read; return whether it was ended."""
    state = store.read_allocations([claim.consumer]).get(claim.consumer)
    if state is None or store.claims(consumer=claim.consumer)[0] != [claim]:
        return False
    change = AllocationChange(claim.consumer, {}, state.project, state.user, state.generation, is_deletion=True)
    return store.allocate([change]) is None
