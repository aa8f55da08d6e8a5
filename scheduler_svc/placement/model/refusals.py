# SPDX-License-Identifier: Apache-2.0
"""Problems common to several operations on providers."""

from scheduler_svc.placement.model.problems import CONCURRENT_UPDATE, Problem, conflict, not_found
from scheduler_svc.store.providers.changes import ProviderState, Refusal, RefusalKind

STALE = "Resource provider's generation already changed. Please update the generation and try again."


def no_provider(uuid: str) -> Problem:
    return not_found(f"No resource provider with uuid {uuid} found")


def owned_by_agent(uuid: str) -> Problem:
    """Return the problem of a change that only the provider's agent may make.

    The code makes clients retry with refreshed data.
    """
    return conflict(
        f"Resource provider {uuid} is reported by a compute agent, and only the agent may change this.",
        CONCURRENT_UPDATE,
    )


def check_generation(provider: ProviderState, sent: int, stale: str) -> None:
    """Raise Problem 409 with message ``stale`` for an outdated generation. Call it before all other checks."""
    if sent != provider.generation:
        raise conflict(stale, CONCURRENT_UPDATE)


def refused_change(refusal: Refusal, uuid: str, stale: str = STALE) -> Problem:
    """Return the problem of a refusal that any change can get.

    ``stale`` is the message for an outdated generation. Raises ValueError for other refusals.
    """
    match refusal.kind:
        case RefusalKind.PROVIDER:
            return no_provider(uuid)
        case RefusalKind.GENERATION:
            return conflict(stale, CONCURRENT_UPDATE)
        case RefusalKind.OWNER:
            return owned_by_agent(uuid)
        case _:
            raise ValueError(f"refusal {refusal.kind} has no problem that all changes share")
