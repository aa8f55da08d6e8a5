# SPDX-License-Identifier: Apache-2.0
"""Host drain, for the command and the dashboard."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.admin import Session, groups, host_changes, host_moves, waiting
from rpcapi.resources import names

PARALLEL = 4  # default number of concurrent moves
REASON = "drained"
SHELVED = frozenset({"SHELVED", "OFFLOADING"})

# Creates a progress bar, like tqdm's, for a number of steps.
MakeBar = Callable[[int], AbstractContextManager[Any]]


class DrainResult(NamedTuple):
    """Numbers of servers in total, moved, and (if shelved) offloaded; and the failures."""

    total: int
    moved: int
    offloaded: int
    failures: Sequence[host_moves.MoveFailure]


def drain(
    session: Session, host: str, make_bar: MakeBar, *, is_live: bool = True, parallel: int = PARALLEL, timeout: float
) -> DrainResult:
    """Disable a host and move its servers, live if ``is_live``; ``timeout`` (seconds) limits the wait for each."""
    _disable(session, host)
    moves = host_moves.HostMoves(session, parallel, timeout)
    leaving, arriving, shelved, others = _find_servers(session, host)
    total = len(leaving) + len(arriving) + len(shelved) + len(others)
    conductor = session.conductor

    def start(batch: Sequence[Any], migrations: Sequence[str]) -> None:
        copies = is_live and any(server.status == "ACTIVE" for server in batch)
        migrate = conductor.live_migrate_instances if copies else conductor.migrate_instances
        session.call(migrate, [server.uuid for server in batch], list(migrations))

    with make_bar(total) as bar:
        for move in arriving:
            reason = f"its migration {move.uuid} to {host} is {move.status}: run the command again after it has ended"
            moves.fail(move.instance, reason, bar)
        offloaded = _offload(session, shelved, moves, timeout, bar)
        moves.run(groups.affinity_batches(session, host, others), leaving, start, bar)
    return DrainResult(total, moves.moved, offloaded, moves.failures)


def _find_servers(session: Session, host: str) -> tuple[list[Any], list[Any], list[str], list[Any]]:
    """Return (migrations from the host, migrations to it, uuids of shelved servers, other servers)."""
    moves = host_moves.open_moves(session)
    leaving = [move for move in moves if names.host_of(move.source_host) == host]
    arriving = [move for move in moves if names.host_of(move.destination_host or "") == host and move not in leaving]
    moving = {move.instance for move in (*leaving, *arriving)}
    rest = [server for server in host_moves.servers_on(session, host) if server.uuid not in moving]
    shelved = [server.uuid for server in rest if server.status in SHELVED]
    return leaving, arriving, shelved, [server for server in rest if server.status not in SHELVED]


def _offload(session: Session, servers: Sequence[str], moves: host_moves.HostMoves, timeout: float, bar: Any) -> int:
    """Offload shelved servers and return the number of successes."""
    for server in servers:
        try:
            session.call(session.conductor.offload_instances, [server])
        except errors.InstanceConflict:
            continue  # its status has changed; the records show the result
    ends = waiting.wait_for_status(session, servers, waiting.END_STATUSES - SHELVED, timeout, bar)
    left = [record for record in ends.values() if record.status not in ("SHELVED_OFFLOADED", "DELETED")]
    moves.failures += [host_moves.MoveFailure(record.uuid, f"it is {record.status}") for record in left]
    return len(ends) - len(left)


def _disable(session: Session, host: str) -> None:
    state = session.get_state("service", host)
    if state.document.get("enabled"):
        host_changes.set_enabled(session, host, enabled=False, reason=REASON)
