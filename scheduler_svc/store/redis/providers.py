# SPDX-License-Identifier: Apache-2.0
"""Providers in Redis: a change is planned on what was read, and written by a script unless that has changed since."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.core.records import Amounts
from scheduler_svc.store import documents, paging, reports
from scheduler_svc.store.providers import planner
from scheduler_svc.store.providers.changes import ProviderChange, ProviderState, Refusal, RefusalKind
from scheduler_svc.store.providers.plans import Document, ProviderPlan, holder_of
from scheduler_svc.store.providers.reported import ApiProviders
from scheduler_svc.store.redis.connect import RedisConnection

RACES = 50  # attempts to write a change that concurrent changes disturb; of those that race, one succeeds each time
EXPIRE_BATCH = 500  # claims past their deadline that are ended before a provider counts as in use


class RedisReads:
    """The providers that a plan reads, with what the script compares before it writes the plan."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._texts: dict[str, str | None] = {}
        self._documents: dict[str, Document | None] = {}
        self._used: dict[str, Amounts] = {}
        self._children: dict[str, list[str]] = {}
        self._increments: dict[str, int] = {}
        self._holders: dict[str, str | None] = {}
        self._compared_children: set[str] = set()
        self._compared_generations: set[str] = set()
        self.free_names: set[str] = set()  # names that the plan takes because nobody had them
        self.epoch = self.clock_ms = 0
        self._generation_base = 0

    def fetch(self, ids: Collection[str], provider_names: Collection[str] = ()) -> None:
        """Read these providers, and who has these names, as of one moment."""
        ids, provider_names = list(dict.fromkeys(ids)), list(provider_names)
        documents_of = [*ids, *(name for name in provider_names if not names.is_api_provider(name))]

        (seconds, micros), meta, texts, used, increments, *more = self._connection.read(
            ("TIME",),
            ("HMGET", "meta", "epoch", "generation_base"),
            ("HMGET", "providers", *documents_of),
            ("HMGET", "used", *ids),
            ("HMGET", "generations", *ids),
            *([("HMGET", "provider_names", *provider_names)] if provider_names else []),
            *(("ZRANGEBYLEX", "children", *_children_range(provider)) for provider in ids),
        )
        holders = more.pop(0) if provider_names else ()
        self.epoch, self._generation_base = (int(value or 0) for value in meta)
        self.clock_ms = seconds * 1000 + micros // 1000
        text_by_id = dict(zip(documents_of, texts, strict=True))
        for provider, sums, number, members in zip(ids, used, increments, more, strict=True):
            self._texts[provider] = text_by_id[provider]
            self._used[provider] = json.loads(sums or "{}")
            self._increments[provider] = int(number or 0)
            self._children[provider] = [member.partition("|")[2] for member in members]
        for name, provider in zip(provider_names, holders, strict=True):
            self._holders[name] = holder_of(name, provider, text_by_id.get)

    def part(self, ids: Collection[str], provider_names: Collection[str]) -> "RedisReads":
        """Return a plan's share in what was read: these providers and names."""
        share = RedisReads(self._connection)
        share.epoch, share.clock_ms, share._generation_base = self.epoch, self.clock_ms, self._generation_base
        for provider in ids:
            share._texts[provider], share._used[provider] = self._texts[provider], self._used[provider]
            share._children[provider], share._increments[provider] = (
                self._children[provider],
                self._increments[provider],
            )
        share._holders = {name: self._holders[name] for name in provider_names}
        return share

    @property
    def generation_base(self) -> int:
        """The position at which the epoch began; the script compares the epoch."""
        return self._generation_base

    def document(self, provider: str) -> Document | None:
        """Return a provider's document, or None."""
        self._fetch_with_siblings(provider)
        if provider not in self._documents:
            text = self._texts[provider]
            self._documents[provider] = None if text is None else documents.decode(text, "provider")
        return self._documents[provider]

    def generation(self, provider: str) -> int:
        """Return a provider's generation; the plan depends on it."""
        self._compared_generations.add(provider)
        return self.generation_base + self._increments[provider]

    def used(self, provider: str) -> Amounts:
        """Return the sums of live claims; the script judges those that it finds, not these."""
        return self._used[provider]

    def children(self, provider: str) -> Sequence[str]:
        """Return the API's providers directly below; the plan depends on their number."""
        self._fetch_with_siblings(provider)
        self._compared_children.add(provider)
        return self._children[provider]

    def holder(self, name: str) -> str | None:
        """Return the provider that has a name; where nobody has, the plan depends on it."""
        holder = self._holders[name]
        if holder is None:
            self.free_names.add(name)
        return holder

    def _fetch_with_siblings(self, provider: str) -> None:
        """Read a provider that was not read, with all children of those that were: a tree is read level by level."""
        if provider not in self._texts:
            listed = {child for children in self._children.values() for child in children}
            self.fetch([provider, *(listed - self._texts.keys())])

    def compared(self) -> Iterator[tuple[str, str, str | int, str | int]]:
        """Yield for each provider that was read its id, document, number of children and increments, '' if unused."""
        for provider, text in self._texts.items():
            children = len(self._children[provider]) if provider in self._compared_children else ""
            increments = self._increments[provider] if provider in self._compared_generations else ""
            yield provider, text or "", children, increments


def read(connection: RedisConnection, ids: Sequence[str]) -> dict[str, ProviderState]:
    reads = RedisReads(connection)
    if ids:
        reads.fetch(ids)
    return {
        provider: planner.state_after(ProviderPlan(provider), reads, reads.generation(provider))
        for provider in ids
        if reads.document(provider) is not None
    }


def read_generations(connection: RedisConnection, ids: Sequence[str]) -> dict[str, int]:
    if not ids:
        return {}
    base, increments = connection.read(("HGET", "meta", "generation_base"), ("HMGET", "generations", *ids))
    return {provider: int(base or 0) + int(number or 0) for provider, number in zip(ids, increments, strict=True)}


def change(connection: RedisConnection, request: ProviderChange) -> ProviderState | Refusal:
    for _ in range(RACES):
        reads = RedisReads(connection)
        reads.fetch(*planner.related(request))
        planned = planner.plan(request, reads, reads.clock_ms)
        if isinstance(planned, Refusal):
            if planned.kind is RefusalKind.IN_USE and connection.run("expire", limit=EXPIRE_BATCH):
                continue  # what holds from it may have been past its deadline
            return planned
        generation = _write_plan(connection, planned, reads)
        if generation is not None:
            return planner.state_after(planned, reads, generation)
    raise errors.StoreUnavailable(why=f"too many concurrent changes of provider {request.provider!r}; retry")


def _write_plan(connection: RedisConnection, planned: ProviderPlan, reads: RedisReads) -> int | None:
    """Write a plan and return the generation; None where it was planned on what has changed since."""
    if not planned.documents:
        return reads.generation(planned.provider)
    rest, values = script_arguments(planned, reads)
    return generation_after(connection, reads, connection.run("change_provider", rest, **values))


def generation_after(connection: RedisConnection, reads: RedisReads, answer: Sequence[int]) -> int | None:
    """Return the generation that the script answers; None where it has not written the plan."""
    is_written, epoch, position, increments = answer
    connection.identity.observe(epoch, position)
    return reads.generation_base + increments if is_written else None


def retire(connection: RedisConnection, namespace: str, name: str, as_of: int) -> Refusal | None:
    vocabulary = connection.run("retire", namespace=namespace, name=name, as_of=as_of)
    return Refusal(RefusalKind.BEHIND, name, (), as_of, vocabulary) if vocabulary else None


def script_arguments(planned: ProviderPlan, reads: RedisReads) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments with which the script writes a plan: those that follow, and those that it names."""
    roots = {document["root"] for document in planned.documents.values() if document is not None}
    hosts = {names.host_of(name) for name in (*planned.documents, *roots, *planned.stale_roots)} - {names.API_HOST}
    links = link_arguments(planned.linked, planned.unlinked)
    sections: list[list[tuple[Any, ...]]] = [
        list(reads.compared()),
        [(name,) for name in reads.free_names],
        list(_writes(planned)),
        [(name, provider or "") for name, provider in planned.names.items()],
        [tuple(link) for link in paging.batches(links, 3)],
        [(host,) for host in hosts],
    ]
    values = [value for section in sections for row in section for value in row]
    return [*values, *planned.stale_roots], {
        "epoch": reads.epoch,
        "provider": planned.provider,
        "bump": int(planned.bump),
        "increments": "" if planned.generation is None else planned.generation - reads.generation_base,
        "generation": planned.generation or 0,
        "idle": "*" if planned.idle is None else documents.encode(list(planned.idle)),
        **dict(zip(("reads", "free_names", "writes", "names", "links", "hosts"), map(len, sections), strict=True)),
    }


def link_arguments(linked: Mapping[str, str], unlinked: Mapping[str, str]) -> list[str]:
    """Return (parent, child, 1 if it is added else 0) of each entry of the children, as one list."""
    values: list[str] = []
    for entries, added in ((unlinked, "0"), (linked, "1")):
        for child, parent in entries.items():
            values += [parent, child, added]
    return values


def read_share(
    connection: RedisConnection, nodes: Sequence[str], last_nodes: Sequence[str], conflicts: Sequence[str]
) -> ApiProviders:
    """Return the Placement API's share in the trees of a service host that reports ``nodes`` in place of others."""
    reads = RedisReads(connection)
    own = list(dict.fromkeys([*nodes, *last_nodes]))
    reads.fetch(own)
    above = list(own)
    for name in above:
        above += reads.children(name)
    below = {name: reads.document(name) for name in above[len(own) :] if name not in nodes}
    dropped = {name: reads.document(name) for name in last_nodes if name not in nodes}
    return ApiProviders(conflicts, _existing(below), _existing(dropped))


def _existing(documents_by_id: Mapping[str, Document | None]) -> dict[str, Document]:
    return {name: document for name, document in documents_by_id.items() if document is not None}


def _writes(planned: ProviderPlan) -> Iterator[tuple[str, str, str]]:
    """Yield for each document its id, text and capacity, '' for a deleted one and for an unchanged capacity."""
    for provider, document in planned.documents.items():
        if document is None:
            yield provider, "", ""
            continue
        has_capacity = planned.has_new_inventories and provider == planned.provider
        capacity = documents.encode(reports.capacity_of(document)) if has_capacity else ""
        yield provider, documents.encode(document), capacity


def _children_range(provider: str) -> tuple[bytes, bytes]:
    head = f"{provider}|".encode()
    return b"[" + head, b"(" + head + b"\xff"
