# SPDX-License-Identifier: Apache-2.0
"""Repairs of what ``gantt audit`` finds: each by a call that checks again that nothing is under way."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rpcapi import errors
from rpcapi.cli.comparison import Difference
from rpcapi.cli.error_messages import describe_error

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

NO_REPAIR = "none"  # begins the outcome of a difference that was left as it is

Repair = Callable[["Session", Mapping[str, str], Difference], None]


def repair(session: "Session", differences: Iterable[Difference]) -> list[str]:
    """Repair each difference; return for each what was done, or why nothing was."""
    partitions = _partitions_by_host(session)
    return [_repair_one(session, partitions, difference) for difference in differences]


def _repair_one(session: "Session", partitions: Mapping[str, str], difference: Difference) -> str:
    action = REPAIRS.get(difference.kind)
    if action is None:
        return f"{NO_REPAIR}: see 'gantt help audit'"
    done, call = action
    try:
        call(session, partitions, difference)
    except errors.GanttError as error:
        return f"{NO_REPAIR}: {describe_error(error)}"
    return done


def _partitions_by_host(session: "Session") -> dict[str, str]:
    return {
        state.name: state.partition
        for state in session.list_all(session.scheduler.list_host_state, "states", "service")
        if state.partition is not None
    }


def _partition_of(partitions: Mapping[str, str], host: str) -> str:
    if host not in partitions:
        raise errors.UnknownHost(name=host)
    return partitions[host]


def _refs(difference: Difference) -> Any:
    from rpcapi import objects  # noqa: PLC0415 - lazy, see session

    return objects.ClaimRefs.of(consumers=[difference.instance], attempts=[difference.attempt])


def _adopt(session: "Session", partitions: Mapping[str, str], difference: Difference) -> None:
    partition = _partition_of(partitions, difference.host)
    session.call(session.conductor.adopt_instances, partition, difference.host, [difference.instance])


def _release(session: "Session", partitions: Mapping[str, str], difference: Difference) -> None:
    session.call(session.conductor.release_orphans, difference.host, _refs(difference))


def _end_migration(session: "Session", partitions: Mapping[str, str], difference: Difference) -> None:
    partition = _partition_of(partitions, difference.host)
    session.call(session.conductor.end_leaked_migrations, partition, difference.host, _refs(difference))


def _compare(session: "Session", partitions: Mapping[str, str], difference: Difference) -> None:
    session.call(session.conductor.compare_instances, [difference.instance])


# By the kind of the difference: what its repair is called, and the repair.
REPAIRS: Mapping[str, tuple[str, Repair]] = {
    "guest without record": ("adopted", _adopt),
    "unverified claim": ("adopted", _adopt),
    "claim without guest": ("released", _release),
    "record without claim": ("record corrected", _compare),
    "guest and record differ": ("record corrected", _compare),
    "leaked migration": ("ended at its host", _end_migration),
}
