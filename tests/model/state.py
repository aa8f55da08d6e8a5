# SPDX-License-Identifier: Apache-2.0
"""State of the modelled cluster: one instance, two or three hosts, one or two migrations; small tuples hash quickly.

The hosts are in one partition or in two, which are numbered, and each have a store. The words are those of the code
where it has one: statuses, steps, answers and stages. A missing number is 0, a missing word "".
"""

from typing import NamedTuple

NOWHERE = -1

# Openness of a host in a store.
FOREIGN = 2  # it is in another partition
OPEN = 1  # audited in this epoch
CLOSED = 0  # not audited in this epoch, nor fenced
FENCED = -1  # fenced in this epoch
FENCED_BEFORE = -2  # fenced in an earlier one, and not audited since

# Life of a host.
ALIVE = 2
SILENT = 1  # its agent is suspended or cut off; its guests run
OFF = 0  # without power

# Whether the conductor has acknowledged an attempt's outcome.
UNREPORTED, REPORTED, ASKED_AGAIN = 0, 1, 2


class Claim(NamedTuple):
    """A live claim. ``state`` is prepared, overdue (prepared, past its deadline), confirmed or unverified.

    ``move`` is the migration of which it is an end, ``source`` the attempt that a destination moves.
    """

    attempt: int
    host: int
    state: str
    role: str = "only"
    is_orphan: bool = False
    alternates: tuple[int, ...] = ()
    move: int = 0
    source: int = 0


class Store(NamedTuple):
    """A partition with its number. ``ended`` are the tombstones, ``ended_moves`` those of migrations."""

    claims: tuple[Claim, ...] = ()
    ended: tuple[tuple[int, str], ...] = ()
    ended_moves: tuple[int, ...] = ()
    proven: int = 0
    opened: tuple[int, ...] = (OPEN, OPEN)
    awaited: tuple[bool, ...] = (False, False)
    partition: int = 0


class Copy(NamedTuple):
    """The last copy of a guest from its host."""

    number: int
    phase: str
    post_copy: bool = False


class Attempt(NamedTuple):
    """An attempt in an agent's journal, with its guest: "", running, off, paused, or excepted by a fence.

    ``move`` is that of its role, ``held_for`` the one for which it was stopped. ``is_settled`` and ``is_copying`` are
    lost with the agent's process. ``has_disk``: it has the disk.
    """

    number: int
    stage: str
    role: str = "only"
    transition: int = 0
    claim_end: str = ""
    outcome: str = ""
    reported: int = UNREPORTED
    is_settled: bool = False
    is_incoming: bool = False
    copy: Copy | None = None
    is_copying: bool = False
    held_for: int = 0
    guest: str = ""
    has_disk: bool = False
    move: int = 0
    source: int = 0
    starts_off: bool = False

    @property
    def is_live(self) -> bool:
        return self.stage != "gone"

    @property
    def is_on(self) -> bool:
        return self.guest in ("running", "excepted")


class Agent(NamedTuple):
    """A host. ``audit_due``: its agent may not act before it has audited."""

    life: int = ALIVE
    audit_due: bool = False
    attempts: tuple[Attempt, ...] = ()


class Migration(NamedTuple):
    """The migration of a record; ``has_reason``: it failed, and was not reverted by request."""

    kind: str
    status: str
    source: int
    source_attempt: int
    destination_attempt: int = 0
    request: str = ""
    phase: str = ""
    is_resumed: bool = False
    is_checked: bool = False
    has_reason: bool = False
    was_stopped: bool = False
    source_partition: int = 0
    number: int = 1

    @property
    def has_ended(self) -> bool:
        return self.status in ("confirmed", "reverted", "error", "completed", "cancelled")


class Record(NamedTuple):
    """The conductors' record of the instance; ``history`` has (attempt, outcome) of each ended attempt."""

    status: str
    step: str
    attempt: int = 1
    last_attempt: int = 0
    host: int = NOWHERE
    alternates: tuple[int, ...] = ()
    history: tuple[tuple[int, str], ...] = ()
    is_second_try: bool = False
    is_certain: bool = True
    was_stopped: bool = False
    migration: Migration | None = None
    partition: int = 0

    @property
    def transition_number(self) -> int:
        return max(self.attempt, self.last_attempt)

    @property
    def next_attempt(self) -> int:
        return self.transition_number + 1

    @property
    def moving(self) -> Migration | None:
        """The open migration, unless it is an evacuation."""
        migration = self.migration
        return None if migration is None or migration.has_ended or migration.kind == "evacuation" else migration

    @property
    def move(self) -> Migration:
        assert self.moving is not None
        return self.moving

    @property
    def is_at_source(self) -> bool:
        """Whether its own claim is that on the source of its move."""
        return self.moving is not None and self.attempt == self.moving.source_attempt

    @property
    def evacuation(self) -> Migration | None:
        migration = self.migration
        return (
            migration if migration is not None and migration.kind == "evacuation" and not migration.has_ended else None
        )

    def has_ended(self, attempt: int) -> bool:
        return any(number == attempt for number, _outcome in self.history)


class Message(NamedTuple):
    """A message to an agent (build, incoming, terminate, change, copy), or a call of the store's verb ``kind``.

    An agent refuses one for another partition than its own; None: it names none.
    """

    kind: str
    host: int
    attempt: int
    action: str = ""
    role: str = ""
    number: int = 0
    partition: int | None = None
    move: int = 0
    source: int = 0


class Snapshot(NamedTuple):
    """The earlier contents of all stores."""

    record: Record
    stores: tuple[Store, ...]


class Left(NamedTuple):
    """How many faults of each kind may still happen."""

    losses: int = 0  # of a store's tail
    late: int = 0  # messages that arrive late or twice, and verbs that are executed late
    crashes: int = 0  # of a conductor or an agent, with an answer that is lost by that
    outages: int = 0  # of a host: silent, or without power
    failures: int = 0  # of a spawn, a copy, or a deadline


class State(NamedTuple):
    """The whole cluster, and what happened that the promises depend on.

    ``stores`` are those of the partitions, in their order. ``late`` is what may still arrive, ``mark`` the earlier
    contents of a store that may be lost. ``requests`` are those that users or operators have made, ``fenced`` the
    (host, attempt) that fences ended.
    """

    record: Record | None
    stores: tuple[Store, ...]
    agents: tuple[Agent, ...]
    late: Message | None = None
    mark: Record | Store | Snapshot | None = None
    left: Left = Left()
    requests: tuple[str, ...] = ()
    fenced: tuple[tuple[int, int], ...] = ()

    def store_of(self, host: int) -> Store:
        """Return the store of the partition that a host is in: the first or the second one."""
        first = self.stores[0]
        return first if first.opened[host] != FOREIGN else self.stores[1]

    def with_store(self, store: Store) -> "State":
        """Return the state in which the partition of ``store`` has that one."""
        former = self.stores[store.partition]
        if store is former:
            return self
        if len(self.stores) == 1:
            return self._replace(stores=(store,))
        return self._replace(stores=tuple(store if other is former else other for other in self.stores))
