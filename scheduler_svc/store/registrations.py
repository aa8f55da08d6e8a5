# SPDX-License-Identifier: Apache-2.0
"""Registration of agents: host identities, incarnations, and detection of two agents with one identity."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rpcapi import errors
from scheduler_svc.store.records import HostReport

DUPLICATE = "duplicate_ms"  # service field: last time at which two agents alternated as the host
# Service fields: uuid of the state folder that owns the host's name; whether its machine is declared gone for good;
# why the agent takes no new guests.
HOST_UUID, REPLACED, REFUSAL = "host_uuid", "replaced", "refusal"
DUPLICATE_QUIET_MS = 600_000  # time without alternation after which the host accepts claims again
POSITION_BITS = 40  # low bits of an incarnation: log position of the registration; high bits: epoch
MAX_INCARNATION = (1 << 100) - 1


class TakeoverObstacle(StrEnum):
    """Reason why an agent with a different state folder may not register or act as a host."""

    AWAITED = "awaited"
    CLAIMS = "claims"
    FENCED = "fenced"
    UP = "up"
    OWNED = "owned"  # a different folder owns the name; refuses the agent's verbs, but no registration


_WHY = {
    TakeoverObstacle.AWAITED: "it may run guests that the store forgot and this new folder does not know",
    TakeoverObstacle.CLAIMS: "it has {claims} claims",
    TakeoverObstacle.FENCED: "it was fenced: its guests end when its agent returns",
    TakeoverObstacle.UP: "its agent is up",
    TakeoverObstacle.OWNED: "only its agent acts for the host",
}


@dataclass(frozen=True, slots=True)
class AppliedReport:
    """Last applied report of a service host.

    ``agent`` identifies one start of the agent that registered last. ``returned_ms`` is the time of the last return,
    see is_return.
    """

    incarnation: int
    sequence: int
    nodes: tuple[str, ...]
    agent: str = ""
    returned_ms: int | None = None


def incarnation(epoch: int, position: int) -> int:
    """Return the incarnation of a registration logged at ``position``. It also grows with each epoch."""
    return (epoch << POSITION_BITS) + position


def issued(number: int) -> tuple[int, int]:
    return number >> POSITION_BITS, number & ((1 << POSITION_BITS) - 1)


def is_return(last: AppliedReport | None, report: HostReport) -> bool:
    """Return whether an agent registers again after a different agent registered: both may be alive."""
    return (
        last is not None
        and 0 < report.incarnation < last.incarnation
        and report.agent != last.agent
        and report.register
    )


def is_duplicate(last: AppliedReport | None, report: HostReport, now: int) -> bool:
    """Return whether two agents alternate as one host: this is the second return within DUPLICATE_QUIET_MS.

    A single return may be a delayed registration of a dead agent.
    """
    if last is None or last.returned_ms is None or not is_return(last, report):
        return False
    return now - last.returned_ms < DUPLICATE_QUIET_MS


def with_registration(service: Mapping[str, Any], report: HostReport) -> dict[str, Any]:
    document = {key: value for key, value in service.items() if key not in (HOST_UUID, REPLACED, REFUSAL)}
    if report.host_uuid:
        document[HOST_UUID] = report.host_uuid
    if report.refusal:
        document[REFUSAL] = report.refusal
    return document if document == service else {**document, "version": service["version"] + 1}


def with_replaced(service: Mapping[str, Any]) -> dict[str, Any]:
    return {**service, "version": service["version"] + (REPLACED not in service), REPLACED: True}


def is_foreign(service: Mapping[str, Any] | None, host_uuid: str | None) -> bool:
    """Return whether a state folder other than ``host_uuid`` owns the host's name; None skips the check."""
    owner_uuid = (service or {}).get(HOST_UUID)
    return owner_uuid is not None and host_uuid is not None and host_uuid != owner_uuid


def foreign(
    host: str, obstacle: TakeoverObstacle, owner_uuid: str | None, claims: int = 0
) -> errors.HostIdentityConflict:
    """Return the error for an agent whose state folder does not own the host's name."""
    owner = f"state folder {owner_uuid} has this name, and " if owner_uuid else ""
    return errors.HostIdentityConflict(host=host, why=owner + _WHY[obstacle].format(claims=claims))


def with_duplicate(service: Mapping[str, Any], since_ms: int | None) -> dict[str, Any]:
    """Return the service document marked as a duplicate identity at ``since_ms``; None clears the mark."""
    document = {key: value for key, value in service.items() if key != DUPLICATE}
    changed = (DUPLICATE in service) != (since_ms is not None)
    mark = {} if since_ms is None else {DUPLICATE: since_ms}
    return {**document, "version": service["version"] + changed, **mark}


def is_quiet(service: Mapping[str, Any], now: int) -> bool:
    return DUPLICATE in service and now - service[DUPLICATE] >= DUPLICATE_QUIET_MS
