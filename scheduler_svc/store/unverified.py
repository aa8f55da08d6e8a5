# SPDX-License-Identifier: Apache-2.0
"""Unverified claims: attempts that an audit reported and the store contradicts.

They are stored as claims of pseudo-consumers. Their names contain spaces, unlike names of consumers.
"""

from rpcapi.resources import names
from rpcapi.resources.claims import ClaimState
from scheduler_svc.core.records import Allocations, Claim

PREFIX = "unverified "


def unverified_name(consumer: str, attempt: int, host: str) -> str:
    return f"{PREFIX}{consumer} {attempt} {host}"


def consumer_of(name: str) -> str:
    """Return the consumer of the claim that is stored under ``name``, whether verified or not."""
    return name.split(" ")[1] if name.startswith(PREFIX) else name


def counted_allocations(claim: Claim) -> Allocations:
    """Return the allocations that count in sums; of an unverified claim, only those from its host's providers."""
    if claim.state != ClaimState.UNVERIFIED:
        return claim.allocations
    host = names.host_of(claim.host)
    return {provider: amounts for provider, amounts in claim.allocations.items() if names.host_of(provider) == host}
