# SPDX-License-Identifier: Apache-2.0
"""Verbs in Python on Redis. One script commits a verb's changes, if all data that the verb read is unchanged."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, cast

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.core.records import Claim, LogEntry
from scheduler_svc.store import codecs, documents
from scheduler_svc.store.codecs import Codec
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.rows import (
    Plan,
    RedisChildren,
    RedisFields,
    RedisMembers,
    RedisPositions,
    RedisRecords,
    RedisScores,
    digest,
    range_below,
)
from scheduler_svc.store.registrations import AppliedReport
from scheduler_svc.store.reports import capacity_in
from scheduler_svc.store.unverified import counted_amounts
from scheduler_svc.store.verbs.contents import ALL, RowNames
from scheduler_svc.store.verbs.partition import PartitionState

P = ParamSpec("P")
T = TypeVar("T")

RACES = 50  # tries of a verb under contention; in each race, one verb succeeds


NUMBER = Codec(str, int)
FLAG = Codec(lambda is_set: str(int(is_set)), lambda text: text == "1")
CHILDREN = Codec("\0".join, lambda text: [member.partition("|")[2] for member in text.split("\0")])
# {key word: (class, codec) of the mapping in PartitionStorage}, for mappings that verbs in Python use.
ROWS: Mapping[str, tuple[type[RedisFields[Any]], Codec]] = {
    "claims": (RedisRecords, codecs.CLAIM),
    "ended": (RedisFields, codecs.ENDS),
    "sources": (RedisFields, codecs.PLAIN),
    "unverified": (RedisFields, NUMBER),
    "providers": (RedisFields, codecs.PROVIDER),
    "capacity": (RedisFields, codecs.JSON),
    "used": (RedisFields, codecs.JSON),
    "generations": (RedisFields, NUMBER),
    "children": (RedisChildren, CHILDREN),
    "provider_names": (RedisFields, codecs.PLAIN),
    "services": (RedisFields, codecs.SERVICE),
    "reports": (RedisFields, codecs.REPORT),
    "alive": (RedisFields, FLAG),
    "opened": (RedisFields, NUMBER),
    "awaited": (RedisMembers, FLAG),
    "changed": (RedisPositions, NUMBER),
    "eligible": (RedisPositions, NUMBER),
    "built": (RedisPositions, NUMBER),
    "api_changed": (RedisPositions, NUMBER),
    "clock_offsets": (RedisPositions, NUMBER),
    "ended_at": (RedisScores, NUMBER),
    "deadlines": (RedisScores, NUMBER),
    "beats": (RedisScores, NUMBER),
    "holders": (RedisScores, Codec(lambda _present: "0", int)),
}
# {argument of ``prefetch``: key words to read}.
FETCHED = {
    "consumers": ("claims", "ended", "sources", "unverified"),
    "providers": ("providers", "capacity", "used", "generations", "children"),
    "services": ("services", "reports", "alive", "opened", "awaited"),
    "provider_names": ("provider_names",),
}
# Fields of a claim that commit.lua needs to count it, besides the group.
COUNTED = ("state", "host", "type", "project", "user", "allocations")
# Sections of a plan, see commit.lua: first comparisons, then writes.
SECTIONS = ("reads", "sizes", "rooms", "entries", "positions", "writes", "excess", "idle")


def run(
    connection: RedisConnection,
    verb: Callable[Concatenate[Any, int, P], T],
    *arguments: P.args,
    **options: P.kwargs,
) -> T:
    """Run a verb that may change the partition. Raises StoreUnavailable after too many races."""
    return run_at(connection, verb, *arguments, **options)[0]


def run_at(
    connection: RedisConnection,
    verb: Callable[Concatenate[Any, int, P], T],
    *arguments: P.args,
    **options: P.kwargs,
) -> tuple[T, int]:
    """Run a verb like ``run``; return its answer and the log position of its commit."""
    for _ in range(RACES):
        partition = RedisPartition(connection)
        now = partition.begin()
        try:
            answer = verb(partition, now, *arguments, **options)
        except (LookupError, errors.GanttError) as error:
            if isinstance(error, errors.Unavailable) or partition.send_plan():
                raise
            continue  # another verb wrote between two reads, which may have caused the error
        partition.flush(now)
        if partition.commit():
            return answer, partition.position
    raise errors.StoreUnavailable(why=f"too many concurrent changes of partition {connection.partition!r}; retry")


class RedisPartition(PartitionState):
    """A partition's data during one run of a verb: read on demand, and written by ``commit``.

    Sums, excess and increments of generations are left to commit.lua, so that verbs that only add to them do not
    conflict.
    """

    claims: RedisRecords[Claim]
    providers: RedisFields[dict[str, Any]]
    used: RedisFields[dict[str, int]]
    reports: RedisFields[AppliedReport]
    awaited: RedisMembers
    api_changed: RedisPositions

    def __init__(self, connection: RedisConnection) -> None:
        super().__init__()
        self._connection = connection
        self.epoch = 0  # 0: not read yet
        self._rows = {word: kind(connection, word, codec) for word, (kind, codec) in ROWS.items()}
        for word, rows in self._rows.items():
            setattr(self, word, rows)
        self._former_position = self._former_vocabulary = 0
        self._plan: Plan = {section: [] for section in SECTIONS}
        self._entries: list[tuple[int, str, Any]] = []
        self._counted: list[tuple[Mapping[str, Any], int]] = []
        self._own_sums: Counter[tuple[str, str]] = Counter()  # {(provider, class): this verb's change of the sum}
        self._raised: Counter[str] = Counter()  # {provider: increments of its generation}
        self._excess: dict[str, bool] = {}  # {provider: whether to flag new excess}
        self._idle: set[str] = set()

    def begin(self) -> int:
        """Advance partition time and expire overdue claims; return partition time."""
        meta = map(int, self._connection.run("begin"))
        self.epoch, self.position, now, self.clock_ms, self.generation_base, self.vocabulary = meta
        self.time_ms = now
        self._former_position, self._former_vocabulary = self.position, self.vocabulary
        return now

    def commit(self) -> bool:
        """Write all changes of the verb; return False and write nothing if data that it read has changed."""
        self._note_api_changes()
        self._plan["entries"].extend(self._entries)
        self._plan["excess"].extend(self._excess.items())
        self._plan["idle"].extend(self._idle)
        if self.vocabulary != self._former_vocabulary:
            self._plan["positions"].append(("meta", "vocabulary", self.vocabulary))
        for name, before, after in self.claims.changes():
            if before is not None:
                self._plan["writes"].append(("ZREM", "by_host", f"{before.host}|{name}"))
            if after is not None:
                self._plan["writes"].append(("ZADD", "by_host", "0", f"{after.host}|{name}"))
        for rows in self._rows.values():
            rows.write(self._plan)
        self._plan["writes"].extend(("HINCRBY", "generations", name, number) for name, number in self._raised.items())
        return self.send_plan()

    def send_plan(self) -> bool:
        """Run the plan, which writes only if all data that the verb read is unchanged; return whether it is."""
        for rows in self._rows.values():
            rows.compare(self._plan)
        plan = {"epoch": self.epoch, "position": self._former_position, **self._plan}
        is_current, epoch, position = self._connection.run("commit", plan=documents.encode(plan))
        self._connection.identity.observe(epoch, position)
        self.position = position
        return bool(is_current)

    def prefetch(self, **row_names: Unpack[RowNames]) -> None:
        by_name: Mapping[str, Any] = row_names
        missing = [
            (self._rows[word], self._rows[word].missing(by_name.get(argument, ())))
            for argument, words in FETCHED.items()
            for word in words
        ]
        commands = [command for rows, fields in missing for command in rows.commands(fields)]
        if not self.epoch:
            commands.append(("HMGET", "meta", "epoch", "generation_base"))
        answers = iter(self._connection.read(*commands) if commands else ())
        for rows, fields in missing:
            rows.note(fields, answers)
        if not self.epoch:
            self.epoch, self.generation_base = (int(value or 0) for value in next(answers))

    def append_entry(self, entry: LogEntry) -> None:
        self._entries.append((entry.position, entry.kind, documents.encode(entry.payload)))

    def due_consumers(self, until: int, limit: int) -> list[str]:
        return []  # ``begin`` has already expired overdue claims

    def claims_on(self, host: str, limit: int = ALL) -> list[Claim]:
        number = -1 if limit == ALL else limit
        ends = ((f"[{host}/", f"({host}0"), range_below(host))
        commands = [("ZRANGEBYLEX", "by_host", *pair, "LIMIT", 0, number) for pair in ends]
        parts = self._connection.read(*commands)
        self._plan["reads"].extend(
            (digest(members), *command) for members, command in zip(parts, commands, strict=True)
        )
        consumers = {member.partition("|")[2] for members in parts for member in members}
        self.prefetch(consumers=consumers)
        consumers.update(name for name, _before, _after in self.claims.changes())
        claims = [claim for name in consumers if (claim := self.claims.get(name)) is not None]
        own_claims = (claim for claim in claims if names.host_of(claim.host) == host)
        return sorted(own_claims, key=lambda claim: f"{claim.host}|{claim.consumer}")[:limit]

    def is_awaited(self, host: str) -> bool:
        return host in self.awaited

    def awaits_any(self) -> bool:
        if not self._plan["sizes"]:
            (size,) = self._connection.read(("SCARD", "awaited"))
            self._plan["sizes"].append(("awaited", size > 0))
        return bool(self._plan["sizes"][0][1])

    def has_room(self, provider: str, resource_class: str, amount: int) -> bool:
        """Return whether the amount fits. Only this answer is compared at commit: unrelated claims change the sum."""
        capacity = capacity_in(self.capacity.get(provider, {}).get(resource_class))
        most = capacity - amount - self._own_sums[provider, resource_class]
        has_room = self.peek(self.used, provider, {}).get(resource_class, 0) <= most
        self._plan["rooms"].append((provider, resource_class, most, has_room))
        return has_room

    def await_host(self, host: str) -> None:
        self.awaited[host] = True

    def stop_awaiting(self, host: str) -> None:
        del self.awaited[host]

    def flush(self, now: int, *, flag: bool = False) -> None:
        """Queue the counted claims for commit.lua, which changes and logs the sums."""
        if self._counted:
            self._entries.append((self.position + 1, "used", {"flag": flag, "claims": self._counted}))
            self.position += bool(self.changed_providers)  # the script adds no log entry without changes
            for provider in self.claimed_providers:
                self.increase_generation(provider)
            self._counted = []
            self.changed_providers.clear()
            self.claimed_providers.clear()

    def generation_of(self, provider: str, *, conflicts_on_change: bool = True) -> int:
        return super().generation_of(provider, conflicts_on_change=conflicts_on_change) + self._raised[provider]

    def peek(self, mapping: Mapping[str, T], name: str, default: T) -> T:
        value = cast("RedisFields[T]", mapping).peek(name)
        return default if value is None else value

    def increase_generation(self, provider: str) -> None:
        """Queue an increment for commit.lua, so that only verbs that read the generation conflict."""
        self._raised[provider] += 1

    def set_generation(self, provider: str, generation: int) -> None:
        super().set_generation(provider, generation)
        del self._raised[provider]

    def update_excess(self, provider: str, now: int, *, flag: bool) -> None:
        """Queue the update for commit.lua, which writes sums and capacity first."""
        self._excess[provider] = flag

    def drop_idle_sums(self, provider: str) -> None:
        """Queue the removal for commit.lua, which writes the sums first."""
        self._idle.add(provider)

    def _count(self, claim: Claim, sign: int) -> None:
        group = documents.encode_group(claim.group) if claim.group else None
        counted = {"group": group} | {name: getattr(claim, name) for name in COUNTED}
        self._counted.append((counted, sign))
        for provider, amounts in counted_amounts(claim).items():
            self.changed_providers.add(provider)
            for resource_class, amount in amounts.items():
                self._own_sums[provider, resource_class] += sign * amount
            if sign > 0 and names.is_api_provider(provider):
                self.claimed_providers.add(provider)

    def _note_api_changes(self) -> None:
        """Record this position for service hosts whose trees changed, so that reports planned on older trees fail."""
        touched = {host for host, _before, report in self.reports.changes() if report is None}
        for name, *documents_ in self.providers.changes():
            touched |= {name, *(document["root"] for document in documents_ if document is not None)}
        for host in {names.host_of(name) for name in touched} - {names.API_HOST}:
            if host in self.reports:
                self.api_changed[host] = self.position
            else:
                del self.api_changed[host]
