# SPDX-License-Identifier: Apache-2.0
"""Problems: refused requests of the Placement API."""

from scheduler_svc.store.providers.changes import ProviderState, Refusal, RefusalKind

UNDEFINED = "placement.undefined_code"
CONCURRENT_UPDATE = "placement.concurrent_update"
DUPLICATE_NAME = "placement.duplicate_name"
INVENTORY_IN_USE = "placement.inventory.inuse"
MISSING_PARAMETER = "placement.query.missing_value"
BAD_PARAMETER = "placement.query.bad_value"
DUPLICATE_PARAMETER = "placement.query.duplicate_key"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"
PROVIDER_HAS_CHILDREN = "placement.resource_provider.cannot_delete_parent"


class Problem(Exception):
    """Refused request, which is answered with an error and changed nothing.

    Attributes:
        status: HTTP status.
        detail: Message.
        code: Error code that clients compare: https://docs.openstack.org/api-ref/placement/#error-codes
    """

    def __init__(self, status: int, detail: str, code: str = UNDEFINED) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.code = code


def bad_request(detail: str, code: str = UNDEFINED) -> Problem:
    return Problem(400, detail, code)


def not_found(detail: str) -> Problem:
    return Problem(404, detail)


def conflict(detail: str, code: str = UNDEFINED) -> Problem:
    return Problem(409, detail, code)


STALE = "Resource provider's generation already changed. Please update the generation and try again."


def no_provider(uuid: str) -> Problem:
    return not_found(f"No resource provider with uuid {uuid} found")


def owned_by_agent(uuid: str) -> Problem:
    """Return the problem of a change that only an agent may make; its code makes clients read again."""
    return conflict(
        f"Resource provider {uuid} is reported by a compute agent, and only the agent may change this.",
        CONCURRENT_UPDATE,
    )


def check_generation(provider: ProviderState, sent: int, stale: str) -> None:
    """Raise Problem 409 with message ``stale`` for an outdated generation. Call it before all other checks."""
    if sent != provider.generation:
        raise conflict(stale, CONCURRENT_UPDATE)


def refused_change(refusal: Refusal, uuid: str, stale: str = STALE) -> Problem:
    """Return the Problem for a refusal common to all changes. Raises ValueError for specific ones."""
    match refusal.kind:
        case RefusalKind.PROVIDER:
            return no_provider(uuid)
        case RefusalKind.GENERATION:
            return conflict(stale, CONCURRENT_UPDATE)
        case RefusalKind.OWNER:
            return owned_by_agent(uuid)
        case _:
            raise ValueError(f"refusal {refusal.kind} has no problem that all changes share")
