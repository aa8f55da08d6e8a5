# SPDX-License-Identifier: Apache-2.0
"""Concurrent moves of a host's servers; migration records are the only state."""

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.admin import Session, groups, host_control, waiting
from rpcapi.admin.error_messages import describe_error
from rpcapi.resources import names
from rpcapi.resources.statuses import ENDED_MIGRATIONS, InstanceStatus, MigrationKind, MigrationStatus

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 0.5  # seconds between reads of the open migrations
MOVED = frozenset({MigrationStatus.COMPLETED, MigrationStatus.CONFIRMED})
MAX_OPEN = 100  # concurrent moves, and migrations per read

# Requests moves of servers under these migration uuids, all or none; raises errors.GanttError. Idempotent.
Start = Callable[[Sequence[Any], Sequence[str]], None]
PARALLEL = 4  # default number of concurrent moves
REASON = "drained"
SHELVED = frozenset({InstanceStatus.SHELVED, InstanceStatus.OFFLOADING})
OFF_HOST = (InstanceStatus.SHELVED_OFFLOADED, InstanceStatus.DELETED)  # statuses in which no host has the server

# Creates a progress bar, like tqdm's, for a number of steps.
MakeBar = Callable[[int], AbstractContextManager[Any]]


class MoveFailure(NamedTuple):
    server: str
    reason: str


class HostMoves:
    """Runner of at most ``max_open`` moves; ``timeout`` limits the wait for the next end, in seconds."""

    def __init__(self, session: Session, max_open: int, timeout: float, *, joins_batches: bool = False) -> None:
        self._session = session
        self._max_open = max_open
        self._timeout = timeout
        self._joins_batches = joins_batches
        self._open: dict[str, str] = {}
        self._confirmed: set[str] = set()  # migrations with a requested confirmation
        self.failures: list[MoveFailure] = []
        self.moved = 0

    def run(self, batches: Iterable[Sequence[Any]], open_moves: Iterable[Any], start: Start, bar: Any) -> None:
        """Move each batch together, even beyond the limit; raises HostIsUp or Unavailable."""
        self._open = {move.uuid: move.instance for move in open_moves}
        pending = deque(batches)
        pause, deadline = FIRST_PAUSE, time.monotonic() + self._timeout
        while True:
            self._fill(pending, start, bar)
            if not self._open:
                return
            ended = self._collect(bar)
            if ended:
                pause, deadline = FIRST_PAUSE, time.monotonic() + self._timeout
                continue
            if time.monotonic() > deadline:
                self._give_up()
                return
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)

    def _fill(self, pending: deque[Sequence[Any]], start: Start, bar: Any) -> None:
        while batches := self._take(pending):
            self._start([[(server, str(uuid.uuid4())) for server in batch] for batch in batches], start, bar)

    def _take(self, pending: deque[Sequence[Any]]) -> list[Sequence[Any]]:
        """Pop the batches of the next call; none if the limit is reached."""
        batches: list[Sequence[Any]] = []
        count = len(self._open)
        while pending and (not count or count + len(pending[0]) <= self._max_open):
            batches.append(pending.popleft())
            count += len(batches[-1])
            if not self._joins_batches:
                break
        return batches

    def _start(self, batches: Sequence[Sequence[tuple[Any, str]]], start: Start, bar: Any) -> None:
        """Request the moves in one call; if it is refused, retry each half to isolate the failing move."""
        moves = [move for batch in batches for move in batch]
        try:
            start([server for server, _ in moves], [migration for _, migration in moves])
        except (errors.HostIsUp, errors.Unavailable):
            raise
        except errors.GanttError as error:
            if len(batches) > 1:
                middle = len(batches) // 2
                self._start(batches[:middle], start, bar)
                self._start(batches[middle:], start, bar)
                return
            for server, _ in moves:
                self.fail(server.uuid, describe_error(error), bar)
        else:
            self._open |= {migration: server.uuid for server, migration in moves}

    def _collect(self, bar: Any) -> int:
        get_migrations, uuids = self._session.conductor.get_migrations, list(self._open)
        migrations = [
            migration
            for start in range(0, len(uuids), MAX_OPEN)
            for migration in self._session.call(get_migrations, uuids[start : start + MAX_OPEN]).migrations
        ]
        for migration in migrations:
            if migration.status == MigrationStatus.FINISHED and migration.uuid not in self._confirmed:
                self._confirm(migration, bar)
        ended = [item for item in migrations if item.status in ENDED_MIGRATIONS and item.uuid in self._open]
        for migration in ended:
            server = self._open.pop(migration.uuid)
            if migration.status in MOVED:
                self.moved += 1
                bar.update(1)
            else:
                self.fail(server, migration.reason or f"its migration is {migration.status}", bar)
        return len(ended)

    def _confirm(self, migration: Any, bar: Any) -> None:
        if migration.kind == MigrationKind.RESIZE:
            del self._open[migration.uuid]
            self.fail(migration.instance, f"its resize {migration.uuid} waits to be confirmed or reverted", bar)
            return
        self._session.call(self._session.conductor.confirm_migrations, [migration.uuid])
        self._confirmed.add(migration.uuid)

    def fail(self, server: str, reason: str, bar: Any) -> None:
        self.failures.append(MoveFailure(server, reason))
        bar.update(1)

    def _give_up(self) -> None:
        for migration, server in self._open.items():
            reason = f"its migration {migration} is still in progress after {self._timeout:g} s; run the command again"
            self.failures.append(MoveFailure(server, reason))


def servers_on(session: Session, host: str) -> list[Any]:
    """Return the servers whose current or last service host is ``host``, except servers in DELETING."""
    return [
        server
        for server in session.list_instances()
        if names.host_of(server.host or "") == host and server.status != InstanceStatus.DELETING
    ]


def open_moves(session: Session) -> list[Any]:
    return [migration for migration in session.list_migrations() if migration.status not in ENDED_MIGRATIONS]


class DrainResult(NamedTuple):
    """Numbers of servers in total, moved, and (if shelved) offloaded or deleted meanwhile; and the failures."""

    total: int
    moved: int
    offloaded: int
    failures: Sequence[MoveFailure]


def drain(
    session: Session, host: str, make_bar: MakeBar, *, is_live: bool = True, parallel: int = PARALLEL, timeout: float
) -> DrainResult:
    """Disable a host and move its servers, live if ``is_live``; ``timeout`` (seconds) limits the wait for each."""
    _disable(session, host)
    moves = HostMoves(session, parallel, timeout)
    leaving, arriving, shelved, others = _find_servers(session, host)
    total = len(leaving) + len(arriving) + len(shelved) + len(others)
    conductor = session.conductor

    def start(batch: Sequence[Any], migrations: Sequence[str]) -> None:
        copies = is_live and any(server.status == InstanceStatus.ACTIVE for server in batch)
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
    moves = open_moves(session)
    leaving = [move for move in moves if names.host_of(move.source_host) == host]
    arriving = [move for move in moves if names.host_of(move.destination_host or "") == host and move not in leaving]
    moving = {move.instance for move in (*leaving, *arriving)}
    rest = [server for server in servers_on(session, host) if server.uuid not in moving]
    shelved = [server.uuid for server in rest if server.status in SHELVED]
    return leaving, arriving, shelved, [server for server in rest if server.status not in SHELVED]


def _offload(session: Session, servers: Sequence[str], moves: HostMoves, timeout: float, bar: Any) -> int:
    for server in servers:
        try:
            session.call(session.conductor.offload_instances, [server])
        except errors.InstanceConflict:
            continue  # The status has changed; the records show the result.
    ends = waiting.wait_for_status(session, servers, waiting.END_STATUSES - SHELVED, timeout, bar)
    remaining = [record for record in ends.values() if record.status not in OFF_HOST]
    moves.failures += [MoveFailure(record.uuid, f"it is {record.status}") for record in remaining]
    return len(ends) - len(remaining)


def _disable(session: Session, host: str) -> None:
    state = session.get_state("service", host)
    if state.document.get("enabled"):
        host_control.set_enabled(session, host, enabled=False, reason=REASON)
