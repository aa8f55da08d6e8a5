# SPDX-License-Identifier: Apache-2.0
"""Unverified claims: attempts that an audit reported and the store contradicts.

They are stored as claims of pseudo-consumers. Their names contain spaces, unlike names of consumers.
"""

from rpcapi.resources import names
from rpcapi.resources.claims import ClaimState
from scheduler_svc.core.records import CLAIMS, FOREIGN_CLAIMS, Allocations, Claim

PREFIX = "unverified "


def unverified_name(consumer: str, attempt: int, host: str) -> str:
    return f"{PREFIX}{consumer} {attempt} {host}"


def consumer_of(name: str) -> str:
    """Return the consumer of the claim that is stored under ``name``, whether verified or not."""
    return name.split(" ")[1] if name.startswith(PREFIX) else name


def counted_amounts(claim: Claim) -> Allocations:
    """Return the amounts and claim counts that a claim adds to used sums.

    An unverified claim counts only at its host's providers.
    """
    host = names.host_of(claim.host)
    allocations = claim.allocations if claim.host == names.API_HOST else {claim.host: {}, **claim.allocations}
    counted = {}
    for provider, amounts in allocations.items():
        owner = names.host_of(provider)
        if claim.state != ClaimState.UNVERIFIED or owner == host:
            counts = {CLAIMS: 1} if owner == host else {CLAIMS: 1, FOREIGN_CLAIMS: 1}
            counted[provider] = {**amounts, **counts}
    return counted
