# SPDX-License-Identifier: Apache-2.0
"""Registration of agents: the incarnation that the store issues, and the proof that two agents share one identity."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_svc.store.records import HostReport

DUPLICATE = (
    "duplicate_ms"  # field of a service's document: when two agents last alternated for it; absent if they do not
)
DUPLICATE_QUIET_MS = 600_000  # without alternating agents, after which a host takes claims again
POSITION_BITS = 40
MAX_INCARNATION = (1 << 100) - 1


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
