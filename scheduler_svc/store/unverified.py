# SPDX-License-Identifier: Apache-2.0
"""Names of unverified claims: attempts that a host's audit reports against what the store knows.

An unverified claim is stored under a name of its own, so that it counts against its host's capacity and is no claim of
its consumer. The blanks of the name keep it apart from consumers.
"""

from rpcapi.resources import names
from rpcapi.resources.claims import ClaimState
from scheduler_svc.core.records import Allocations, Claim

PREFIX = "unverified "


def unverified_name(consumer: str, attempt: int, host: str) -> str:
    """Return the name under which the attempt is stored while it is unverified on service host ``host``."""
    return f"{PREFIX}{consumer} {attempt} {host}"


def consumer_of(name: str) -> str:
    """Return the consumer of a stored claim, verified or not."""
    return name.split(" ")[1] if name.startswith(PREFIX) else name


def counted_allocations(claim: Claim) -> Allocations:
    """Return what a claim counts at providers: an unverified one only on its own host."""
    if claim.state != ClaimState.UNVERIFIED:
        return claim.allocations
    host = names.host_of(claim.host)
    return {provider: amounts for provider, amounts in claim.allocations.items() if names.host_of(provider) == host}
