# SPDX-License-Identifier: Apache-2.0
"""The store on Redis: each verb is one script."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

import redis

from conductor.store import documents, keys
from conductor.store.connect import Connection
from conductor.store.interface import PAGE, Store
from conductor.store.records import (
    Instance,
    Lease,
    LeaseLost,
    Page,
    Request,
    Terms,
    Work,
    Written,
)
from conductor.store.scripts import load
from rpcapi import errors
from rpcapi.conf.replicas import Replicas


class RedisStore(Store):
    """Keys of its own on a Redis that it may share with others; any number of conductors use it at once."""

    def __init__(self, url: str, terms: Terms | None = None, replicas: Replicas | None = None) -> None:
        self._connection = Connection(url, replicas)
        self._terms = terms or Terms()

    def record(self, request: Request, uuids: Sequence[str]) -> bool:
        fresh = Instance(uuid="", request=request.key)
        body = documents.dump_instance(fresh)
        head: list[str | int] = [
            request.key,
            documents.dump_request(request),
            fresh.status.value,
            fresh.step.value,
            body,
        ]
        answer, *conflicts = self._run("record", [*head, *uuids])
        if answer == "conflict":
            raise errors.InstanceConflict(uuid=conflicts[0], why="it belongs to another request")
        return answer == "recorded"

    def take(self, owner: str, limit: int) -> list[Lease]:
        answer = self._run("take", [owner, self._terms.lease_ms, limit])
        return [Lease(request, token, bool(over)) for request, token, over in _by(3, answer)]

    def load(self, lease: Lease) -> Work:
        after, found, wakes = "", [], []
        while True:
            page: list[str | int] = [lease.request, lease.token, self._terms.lease_ms, after, PAGE]
            answer = self._run("load", page)
            # A request whose last instance was forgotten has no document; nobody needs its lease any more.
            if not answer or answer[3] is None:
                raise LeaseLost(lease.request)
            now, wake, after, document, *pairs = answer
            found += [documents.load_instance(uuid, text) for uuid, text in _by(2, pairs)]
            wakes += [int(wake)] if wake else []
            if not after:
                break
        request = documents.load_request(lease.request, document)
        return Work(request, found, int(now), min(wakes, default=None))

    def write(self, lease: Lease, instances: Sequence[Instance]) -> Written:
        return self._write([lease.request, lease.token], instances, wake=False)

    def note(self, instances: Sequence[Instance], *, wake: bool) -> Written:
        return self._write(["", ""], instances, wake=wake)

    def _write(self, held: list[str | int], instances: Sequence[Instance], *, wake: bool) -> Written:
        head = [*held, self._terms.lease_ms, self._terms.retention_ms, int(wake)]
        now, stale = 0, set()
        for chunk in _chunks(instances):
            answer = self._run("write", [*head, *(word for each in chunk for word in _row(each))])
            if not answer:
                raise LeaseLost(held[0])
            now = int(answer[0])
            stale.update(answer[1:])
        return Written(now, frozenset(stale))

    def release(self, lease: Lease, next_ms: int | None) -> bool:
        answer = self._run("release", [lease.request, lease.token, "" if next_ms is None else next_ms])
        return bool(answer)

    def get(self, uuids: Sequence[str]) -> dict[str, Instance]:
        return {uuid: documents.load_instance(uuid, text) for uuid, text in self._pick(keys.INSTANCES, uuids)}

    def requests(self, keys_wanted: Sequence[str]) -> dict[str, Request]:
        return {key: documents.load_request(key, text) for key, text in self._pick(keys.REQUESTS, keys_wanted)}

    def _pick(self, name: str, fields: Sequence[str]) -> Iterator[tuple[str, str]]:
        for chunk in _chunks(fields):
            texts: list[Any] = self._connection.ask(partial(_fields, name, chunk))
            yield from ((field, text) for field, text in zip(chunk, texts, strict=True) if text is not None)

    def page(self, marker: str | None, limit: int, *, deleted: bool) -> Page:
        limit = min(limit, PAGE)
        if marker is not None and not marker.isdecimal():
            raise errors.InvalidRequest(why=f"{marker[:40]!r} is no marker of a page of instances")
        answer = self._run("page_everything" if deleted else "page_listed", [marker or 0, limit])
        found = [documents.load_instance(uuid, text) for uuid, text in _by(2, answer)]
        return Page(found, str(found[-1].sequence) if len(found) == limit else None)

    def counts(self) -> Mapping[str, int]:
        counts: dict[Any, Any] = self._connection.ask(lambda client: client.hgetall(keys.COUNTS))
        return {status: int(count) for status, count in counts.items()}

    def purge(self, limit: int = PAGE) -> int:
        return int(self._run("purge", [limit]))

    def ping(self) -> None:
        self._connection.ask(lambda client: client.ping())

    def close(self) -> None:
        self._connection.close()

    def _run(self, verb: str, arguments: Sequence[str | int]) -> Any:
        return self._connection.run(load(verb), arguments)


def _fields(name: str, fields: list[str], client: redis.Redis) -> Any:
    return client.hmget(name, fields)


def _row(each: Instance) -> tuple[str | int, ...]:
    body = documents.dump_instance(each)
    return each.uuid, each.version, each.status.value, each.step.value, each.wake_ms, body


def _by(size: int, flat: Iterable) -> Iterator[tuple]:
    words = iter(flat)
    while row := tuple(islice(words, size)):
        yield row


def _chunks(items: Sequence) -> Iterator[list]:
    return (list(items[start : start + PAGE]) for start in range(0, len(items), PAGE))
