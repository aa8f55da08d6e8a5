# SPDX-License-Identifier: Apache-2.0
"""Redis store: one script per verb, two commands per page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import redis

from conductor.admission import UNLIMITED_ADMISSION, Admission
from conductor.store import documents, keys
from conductor.store.bounds import split_deleted
from conductor.store.connect import ConductorConnection
from conductor.store.interface import CHUNK, NO_LIMITS, PAGE, UNLIMITED, ConductorStore, ProjectLimits
from conductor.store.migrations import MigrationRecord
from conductor.store.records import (
    BuildRequestRecord,
    DueWork,
    InstanceRecord,
    LeaseLost,
    RecordPage,
    RequestLease,
    StoreTimeouts,
    WriteResult,
    check_deadline,
    digest_project,
    make_lease_token,
    make_version,
    parse_marker,
)
from conductor.store.script_rows import amounts_text, chunks, script_row, split_rows
from conductor.store.scripts import load, make_identity
from rpcapi import errors
from rpcapi.bounds import CollectionSize
from rpcapi.conf import redis_url
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.redis_failover.memory_usage import ALL_KEYS, MeasuredKey, key_type, measure

# {collection: words of the key schema}. The first word's key counts the entries. Keys of other words never grow.
WORDS = {
    "instances": ("instances", "everything"),
    "others": (
        *("requests", "listed", "left", "amounts", "own_amounts", "usage"),
        *("migrations", "listed_migrations", "ended_migrations"),
    ),
    "queue": (
        *("queues", "due", "new", "wakes", "new_wakes", "turns", "pending", "leases", "woken"),
        *("waiting", "begun", "shares"),
    ),
    "purge": ("purge",),
}
COLLECTIONS = {
    name: [MeasuredKey(keys.key(word), key_type(keys.KEYS[word]), word == words[0]) for word in words]
    for name, words in WORDS.items()
}


class RedisConductorStore(ConductorStore):
    """Store on Redis under one key prefix, shared by any number of conductors."""

    def __init__(
        self,
        url: str,
        timeouts: StoreTimeouts | None = None,
        replicas: ReplicaAcknowledgement | None = None,
        *,
        is_durable: bool = False,
    ) -> None:
        identity = make_identity(is_durable=is_durable and not redis_url.has_multiple_servers(url))
        self._connection = ConductorConnection(url, identity, replicas)
        self._timeouts = timeouts or StoreTimeouts()

    def record(
        self,
        request: BuildRequestRecord,
        uuids: Sequence[str],
        first_sent_ms: int | None = None,
        admission: Admission = UNLIMITED_ADMISSION,
        deadline_ms: int | None = None,
    ) -> bool:
        # If an epoch begins before the write, the record is certain in no epoch.
        certain_epoch = self._timeouts.certain_epoch(self._connection.epoch(), first_sent_ms)
        new_record = InstanceRecord(uuid="", request=request.key, certain_epoch=certain_epoch)
        return self._record(request, uuids, new_record, admission, first_sent_ms=first_sent_ms, deadline_ms=deadline_ms)

    def adopt(self, request: BuildRequestRecord, instance: InstanceRecord, amounts: Mapping[str, int]) -> bool:
        return self._record(request, [instance.uuid], instance, Admission(amounts))

    def _record(
        self,
        request: BuildRequestRecord,
        uuids: Sequence[str],
        new_record: InstanceRecord,
        admission: Admission,
        *,
        first_sent_ms: int | None = None,
        deadline_ms: int | None = None,
    ) -> bool:
        answer, *details = self._run(
            "record",
            uuids,
            request=request.key,
            document=documents.dump_request(request),
            status=new_record.status.value,
            step=new_record.step.value,
            version=make_version(),
            instance=documents.dump_instance(new_record),
            first_sent_ms="" if first_sent_ms is None else first_sent_ms,
            repeat_horizon_ms=self._timeouts.repeat_horizon_ms,
            deadline_ms="" if deadline_ms is None else deadline_ms,
            amounts=amounts_text(admission.amounts),
            limits=amounts_text(admission.limits),
            max_backlog=admission.max_backlog,
        )
        if answer == "conflict":
            raise errors.InstanceConflict(uuid=details[0], why="it belongs to another request")
        if answer == "late":
            check_deadline(request, deadline_ms, int(details[0]))
        if answer == "old":
            self._timeouts.check_age(int(details[0]), first_sent_ms)
        if answer == "quota":
            name, used = details
            raise admission.quota_exceeded(request.project, name, int(used), len(uuids))
        if answer == "overloaded":
            waiting, oldest_ms = map(int, details)
            raise admission.overloaded(waiting, len(uuids), oldest_ms)
        if answer == "recorded":
            self._connection.identity.observe(0, int(details[0]))
        return bool(answer == "recorded")

    def take(
        self, owner: str, limit: int, max_instances: int = UNLIMITED, max_building: int = UNLIMITED
    ) -> list[RequestLease]:
        token = make_lease_token(owner)
        answer = self._run(
            "take",
            token=token,
            lease_ms=self._timeouts.lease_ms,
            limit=limit,
            max_instances=max_instances,
            max_building=max_building,
        )
        rows = split_rows(3, answer)
        return [RequestLease(request, token, bool(is_takeover), steps) for request, is_takeover, steps in rows]

    def load(self, lease: RequestLease) -> DueWork:
        marker, records, wakes = "", [], []
        while True:
            answer = self._run(
                "load",
                request=lease.request,
                token=lease.token,
                lease_ms=self._timeouts.lease_ms,
                after=marker,
                limit=CHUNK,
                repeat_horizon_ms=self._timeouts.repeat_horizon_ms,
            )
            # After the purge of its last instance, a request has no document and its lease is void.
            if not answer or answer[3] is None:
                raise LeaseLost(lease.request)
            now, wake, marker, document, epoch, may_repeat, *pairs = answer
            records += [documents.load_instance(uuid, text) for uuid, text in split_rows(2, pairs)]
            wakes += [int(wake)] if wake else []
            if not marker:
                break
        request = documents.load_request(lease.request, document)
        # The last page's epoch is safe: records read before it began are certain in an older epoch only.
        next_ms = min(wakes, default=None)
        return DueWork(request, records, int(now), next_ms, int(epoch), may_repeat=bool(may_repeat))

    def write(self, lease: RequestLease, instances: Sequence[InstanceRecord]) -> WriteResult:
        return self._write(lease.request, lease.token, instances, NO_LIMITS, wake=False)

    def write_without_lease(
        self, instances: Sequence[InstanceRecord], *, wake: bool, limits: ProjectLimits = NO_LIMITS
    ) -> WriteResult:
        return self._write("", "", instances, limits, wake=wake)

    def _write(
        self, request: str, token: str, instances: Sequence[InstanceRecord], limits: ProjectLimits, *, wake: bool
    ) -> WriteResult:
        projects = {digest_project(project): project for project in limits}
        now, stale = 0, set()
        for chunk in chunks(instances):
            answer = self._run(
                "write",
                (value for record in chunk for value in script_row(record)),
                request=request,
                token=token,
                lease_ms=self._timeouts.lease_ms,
                retention_ms=self._timeouts.retention_ms,
                wake=int(wake),
                limits="\n".join(f"{digest} {amounts_text(limits[name])}" for digest, name in projects.items()),
                new_version=make_version(),
            )
            if not answer:
                raise LeaseLost(request)
            if answer[0] == "quota":
                project, name, used, added = projects[answer[1]], answer[2], int(answer[3]), int(answer[4])
                raise Admission({name: added}, limits[project]).quota_exceeded(project, name, used, 1)
            now, sequence, *changed = answer
            self._connection.identity.observe(0, int(sequence))
            stale.update(changed)
        return WriteResult(int(now), frozenset(stale))

    def release(self, lease: RequestLease, next_ms: int | None) -> bool:
        answer = self._run(
            "release", request=lease.request, token=lease.token, next_ms="" if next_ms is None else next_ms
        )
        return bool(answer)

    def get(self, uuids: Sequence[str]) -> dict[str, InstanceRecord]:
        return {uuid: documents.load_instance(uuid, text) for uuid, text in self._pick(keys.key("instances"), uuids)}

    def requests(self, request_keys: Sequence[str]) -> dict[str, BuildRequestRecord]:
        return {key: documents.load_request(key, text) for key, text in self._pick(keys.key("requests"), request_keys)}

    def _pick(self, name: str, fields: Sequence[str]) -> Iterator[tuple[str, str]]:
        for chunk in chunks(fields):
            texts: list[Any] = self._connection.execute(partial(redis.Redis.hmget, name=name, keys=chunk))
            yield from ((field, text) for field, text in zip(chunk, texts, strict=True) if text is not None)

    def page(self, marker: str | None, limit: int, *, deleted: bool) -> RecordPage[InstanceRecord]:
        after = parse_marker(marker, "instances")
        rows, next_marker = self._page("everything" if deleted else "listed", "instances", after, limit)
        records, unreadable = documents.load_rows(rows, documents.load_instance, documents.show_instance)
        return RecordPage(records, next_marker, unreadable)

    def migrations(self, uuids: Sequence[str]) -> Mapping[str, MigrationRecord]:
        return {uuid: documents.load_migration(uuid, text) for uuid, text in self._pick(keys.key("migrations"), uuids)}

    def page_migrations(self, marker: str | None, limit: int) -> RecordPage[MigrationRecord]:
        after = parse_marker(marker, "migrations")
        rows, next_marker = self._page("listed_migrations", "migrations", after, limit)
        records, unreadable = documents.load_rows(rows, documents.load_migration, documents.show_migration)
        return RecordPage(records, next_marker, unreadable)

    def _page(
        self, index: str, collection: str, after: int, limit: int
    ) -> tuple[Iterator[tuple[str, str]], str | None]:
        limit = min(limit, PAGE)
        listed: list[Any] = self._connection.execute(
            lambda client: client.zrangebyscore(keys.key(index), f"({after}", "+inf", 0, limit, withscores=True)
        )
        next_marker = str(int(listed[-1][1])) if len(listed) == limit else None
        return self._pick(keys.key(collection), [uuid for uuid, _sequence in listed]), next_marker

    def counts(self) -> Mapping[str, int]:
        counts: dict[Any, Any] = self._connection.execute(lambda client: client.hgetall(keys.key("counts")))
        return {status: int(count) for status, count in counts.items()}

    def usage(self, project: str) -> Mapping[str, int]:
        text: Any = self._connection.execute(lambda client: client.hget(keys.key("usage"), digest_project(project)))
        return {name: int(amount) for name, amount in (word.split("=") for word in (text or "").split())}

    def sizes(self) -> Mapping[str, CollectionSize]:
        sizes = measure(self._read, COLLECTIONS)
        split = split_deleted(sizes["instances"], sizes["others"].bytes, sizes["queue"], sizes["purge"])
        return {**split, ALL_KEYS: sizes[ALL_KEYS]}

    def purge(self, limit: int = PAGE) -> int:
        return int(self._run("purge", limit=limit))

    def stamps(self) -> Mapping[str, str]:
        stamps: dict[Any, Any] = self._connection.execute(lambda client: client.hgetall(keys.key("stamps")))
        return stamps

    def keep_stamps(self, stamps: Mapping[str, str]) -> None:
        self._run("stamp", (value for pair in stamps.items() for value in pair))

    def epoch(self) -> int:
        return self._connection.identity.high_water_mark[0]

    def check_replicas(self) -> None:
        self._connection.check_replicas()

    def ping(self) -> None:
        self._connection.execute(lambda client: client.ping())

    def close(self) -> None:
        self._connection.close()

    def _read(self, *commands: Sequence[Any]) -> Sequence[Any]:
        def execute(client: redis.Redis) -> Sequence[Any]:
            pipeline = client.pipeline(transaction=True)
            for command in commands:
                pipeline.execute_command(*command)
            return pipeline.execute()

        return self._connection.execute(execute)

    def _run(self, verb: str, rest: Iterable[str | int] = (), **values: str | int) -> Any:
        script = load(verb)
        if "max_step_ms" in script.args:
            values["max_step_ms"] = self._timeouts.max_step_ms
        return self._connection.run(script, script.arguments(rest, **values))
