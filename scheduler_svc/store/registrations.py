# SPDX-License-Identifier: Apache-2.0
"""Registration of agents: identity of a host, issued incarnations, and proof that two agents share one identity."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rpcapi import errors
from scheduler_svc.store.records import HostReport

DUPLICATE = (
    "duplicate_ms"  # field of a service's document: when two agents last alternated for it; absent if they do not
)
# More fields of a service's document, absent if they do not apply: the uuid of the state folder that owns the host's
# name; true once an operator has declared the machine of that folder gone; why the agent takes no new guests.
HOST_UUID, REPLACED, REFUSAL = "host_uuid", "replaced", "refusal"
DUPLICATE_QUIET_MS = 600_000  # without alternating agents, after which a host takes claims again
POSITION_BITS = 40
MAX_INCARNATION = (1 << 100) - 1


class TakeoverObstacle(StrEnum):
    """Reason why the agent of another state folder may not register as a host, or not act for it."""

    AWAITED = "awaited"
    CLAIMS = "claims"
    FENCED = "fenced"
    UP = "up"
    OWNED = "owned"  # another folder owns the name; only calls other than registrations are refused for this


_WHY = {
    TakeoverObstacle.AWAITED: "it may run guests that the store forgot, which this new folder does not know",
    TakeoverObstacle.CLAIMS: "it has {claims} claims",
    TakeoverObstacle.FENCED: "it was fenced: its guests end when its agent returns",
    TakeoverObstacle.UP: "its agent is up",
    TakeoverObstacle.OWNED: "only its agent acts for the host",
}


@dataclass(frozen=True, slots=True)
class AppliedReport:
    """The last report applied for a service host, and the nodes that the host has since.

    ``agent`` identifies the start of the agent that registered last; ``returned_ms`` is the time of the last return of
    an agent, None if there was none.
    """

    incarnation: int
    sequence: int
    nodes: tuple[str, ...]
    agent: str = ""
    returned_ms: int | None = None


def incarnation(epoch: int, position: int) -> int:
    """Return the incarnation of a registration that was logged at ``position``; later ones are larger, in any epoch."""
    return (epoch << POSITION_BITS) + position


def issued(number: int) -> tuple[int, int]:
    """Return the epoch and the position of an incarnation."""
    return number >> POSITION_BITS, number & ((1 << POSITION_BITS) - 1)


def is_return(last: AppliedReport | None, report: HostReport) -> bool:
    """Return whether an agent registers again because another agent registered after it: both are alive."""
    return (
        last is not None
        and 0 < report.incarnation < last.incarnation
        and report.agent != last.agent
        and report.register
    )


def is_duplicate(last: AppliedReport | None, report: HostReport, now: int) -> bool:
    """Return whether two agents alternate for one host.

    One return is not enough: a registration that arrives late, from an agent that has ended, causes one too.
    """
    if last is None or last.returned_ms is None or not is_return(last, report):
        return False
    return now - last.returned_ms < DUPLICATE_QUIET_MS


def with_registration(service: Mapping[str, Any], report: HostReport) -> dict[str, Any]:
    """Return the service's document after a registration; the version grows if anything changes."""
    document = {key: value for key, value in service.items() if key not in (HOST_UUID, REPLACED, REFUSAL)}
    if report.host_uuid:
        document[HOST_UUID] = report.host_uuid
    if report.refusal:
        document[REFUSAL] = report.refusal
    return document if document == service else {**document, "version": service["version"] + 1}


def with_replaced(service: Mapping[str, Any]) -> dict[str, Any]:
    """Return the service's document after an operator declared the machine of its state folder gone."""
    return {**service, "version": service["version"] + (REPLACED not in service), REPLACED: True}


def is_foreign(service: Mapping[str, Any] | None, host_uuid: str | None) -> bool:
    """Return whether another state folder than ``host_uuid`` owns the host's name; None is not checked."""
    owner_uuid = (service or {}).get(HOST_UUID)
    return owner_uuid is not None and host_uuid is not None and host_uuid != owner_uuid


def foreign(
    host: str, obstacle: TakeoverObstacle, owner_uuid: str | None, claims: int = 0
) -> errors.HostIdentityConflict:
    """Return the error for an agent whose state folder is not ``owner_uuid``, the owner of the host's name."""
    owner = f"state folder {owner_uuid} has this name, and " if owner_uuid else ""
    return errors.HostIdentityConflict(host=host, why=owner + _WHY[obstacle].format(claims=claims))


def with_duplicate(service: Mapping[str, Any], since_ms: int | None) -> dict[str, Any]:
    """Return the service's document, marked as a duplicate identity since ``since_ms``, or with None not marked.

    The version grows where the mark appears or disappears.
    """
    document = {key: value for key, value in service.items() if key != DUPLICATE}
    changed = (DUPLICATE in service) != (since_ms is not None)
    mark = {} if since_ms is None else {DUPLICATE: since_ms}
    return {**document, "version": service["version"] + changed, **mark}


def is_quiet(service: Mapping[str, Any], now: int) -> bool:
    """Return whether a duplicate identity is over: nobody has alternated for long enough."""
    return DUPLICATE in service and now - service[DUPLICATE] >= DUPLICATE_QUIET_MS
