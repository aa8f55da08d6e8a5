# SPDX-License-Identifier: Apache-2.0
"""Moves of all servers of a host, a bounded number of them at a time; the migrations' records are the only state."""

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rpcapi import errors
from rpcapi.cli import progress
from rpcapi.cli.argument import Argument, parse_number
from rpcapi.cli.comparison import ENDED_MIGRATIONS
from rpcapi.cli.error_messages import describe_error
from rpcapi.resources import names

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 0.5  # the next server may begin so much later than it could
MOVED = frozenset({"completed", "confirmed"})  # statuses of migrations that ended as requested
MAX_OPEN = 100  # moves at a time, and migrations that one call reads

FINISHED = "finished"  # at its destination; the source is kept until it is confirmed
RESIZE = "resize"

# Requests the moves of servers (their records) by migrations of these uuids, all of them or none; raises
# errors.GanttError where one cannot move. A repeated call with the same migrations changes nothing.
Start = Callable[[Sequence[Any], Sequence[str]], None]


# Parses the number of moves at a time.
parse_parallel = parse_number(int, 1, MAX_OPEN)


def make_options(parallel: int) -> Sequence[Argument]:
    """Return the options of a command that moves the servers of a host, ``parallel`` of them at a time."""
    return (
        Argument(
            "--parallel",
            type=parse_parallel,
            default=parallel,
            metavar="N",
            help=f"Number of servers that are moved at a time, up to {MAX_OPEN} ({parallel}).",
        ),
        Argument(
            "--timeout",
            type=float,
            default=300.0,
            metavar="S",
            help="Limit of the wait for the next server in seconds (300).",
        ),
        progress.OPTION,
    )


class MoveFailure(NamedTuple):
    """A server that did not move, and why."""

    server: str
    reason: str


class RequestedMove(NamedTuple):
    """A server's record, and the uuid of the migration that moves it."""

    server: Any
    migration: str


class HostMoves:
    """Moves servers with at most ``max_open`` moves at a time; a run that is repeated continues those under way."""

    def __init__(self, session: "Session", max_open: int, timeout: float, *, joins_batches: bool = False) -> None:
        """``timeout`` limits the wait for the next move that ends, in seconds.

        ``joins_batches``: one call requests the moves of several batches, which are independent of each other.
        """
        self._session = session
        self._max_open = max_open
        self._timeout = timeout
        self._joins_batches = joins_batches
        self._open: dict[str, str] = {}  # server by its migration
        self._confirmed: set[str] = set()  # finished migrations whose confirmation was requested
        self.failures: list[MoveFailure] = []
        self.moved = 0

    def run(self, batches: Iterable[Sequence[Any]], open_moves: Iterable[Any], start: Start, bar: Any) -> None:
        """Move the servers of all ``batches``; ``open_moves`` are the migrations that are under way already.

        Those of a batch move together, also where they are more than may move at a time. Raises errors.HostIsUp or
        errors.Unavailable, and then nothing is started any more.
        """
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
                continue  # the next ones begin at once
            if time.monotonic() > deadline:
                self._give_up()
                return
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE)

    def _fill(self, pending: deque[Sequence[Any]], start: Start, bar: Any) -> None:
        while batches := self._take(pending):
            self._start(
                [[RequestedMove(server, str(uuid.uuid4())) for server in batch] for batch in batches], start, bar
            )

    def _take(self, pending: deque[Sequence[Any]]) -> list[Sequence[Any]]:
        """Remove and return the batches of the next call; none if no move may begin now."""
        batches: list[Sequence[Any]] = []
        count = len(self._open)
        while pending and (not count or count + len(pending[0]) <= self._max_open):
            batches.append(pending.popleft())
            count += len(batches[-1])
            if not self._joins_batches:
                break
        return batches

    def _start(self, batches: Sequence[Sequence[RequestedMove]], start: Start, bar: Any) -> None:
        """Request the moves in one call; where it is refused, those of each half, until only what cannot move is left.

        Each keeps its migration: a call that failed may have recorded some of them.
        """
        moves = [move for batch in batches for move in batch]
        try:
            start([move.server for move in moves], [move.migration for move in moves])
        except (errors.HostIsUp, errors.Unavailable):
            raise
        except errors.GanttError as error:
            if len(batches) > 1:
                middle = len(batches) // 2
                self._start(batches[:middle], start, bar)
                self._start(batches[middle:], start, bar)
                return
            for move in moves:
                self.fail(move.server.uuid, describe_error(error), bar)
        else:
            self._open |= {move.migration: move.server.uuid for move in moves}

    def _collect(self, bar: Any) -> int:
        """Take the moves out that have ended; return their number."""
        get_migrations, uuids = self._session.conductor.get_migrations, list(self._open)
        migrations = [
            migration
            for start in range(0, len(uuids), MAX_OPEN)
            for migration in self._session.call(get_migrations, uuids[start : start + MAX_OPEN]).migrations
        ]
        for migration in migrations:
            if migration.status == FINISHED and migration.uuid not in self._confirmed:
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
        if migration.kind == RESIZE:
            del self._open[migration.uuid]
            self.fail(migration.instance, f"its resize {migration.uuid} waits to be confirmed or reverted", bar)
            return
        self._session.call(self._session.conductor.confirm_migrations, [migration.uuid])
        self._confirmed.add(migration.uuid)

    def fail(self, server: str, reason: str, bar: Any) -> None:
        """Note a server that cannot move, and why."""
        self.failures.append(MoveFailure(server, reason))
        bar.update(1)

    def _give_up(self) -> None:
        for migration, server in self._open.items():
            reason = f"its migration {migration} is under way after {self._timeout:g} s; run the command again"
            self.failures.append(MoveFailure(server, reason))


def servers_on(session: "Session", host: str) -> list[Any]:
    """Return the servers that are on a service host, or were last, but for those that are being deleted."""
    return [
        server
        for server in session.list_all(session.conductor.list_instances, "instances")
        if names.host_of(server.host or "") == host and server.status != "DELETING"
    ]


def open_moves(session: "Session") -> list[Any]:
    """Return the migrations that are under way."""
    migrations = session.list_all(session.conductor.list_migrations, "migrations")
    return [migration for migration in migrations if migration.status not in ENDED_MIGRATIONS]
