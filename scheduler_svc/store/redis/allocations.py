# SPDX-License-Identifier: Apache-2.0
"""Allocations in Redis."""

from collections.abc import Iterator, Sequence
from typing import Any

from scheduler_svc.store import allocations, documents
from scheduler_svc.store.allocations import ANY, AllocationChange, ConsumerState
from scheduler_svc.store.providers.changes import Refusal, RefusalKind
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.keys import prefix


def read(connection: RedisConnection, consumers: Sequence[str]) -> dict[str, ConsumerState]:
    """Return what each of these consumers holds that holds anything."""
    if not consumers:
        return {}
    connection.run("hosts", consumers)  # ends those past their deadline
    head = prefix(connection.partition)

    def fill(pipe: Any) -> None:
        pipe.hget(head + "meta", "generation_base")
        pipe.hmget(head + "claims", consumers)

    base, texts = connection.read(fill)
    return {
        consumer: allocations.state_of(documents.decode_claim(text), int(base or 0))
        for consumer, text in zip(consumers, texts, strict=True)
        if text is not None
    }


def list_holders(
    connection: RedisConnection, provider: str, marker: str | None, limit: int
) -> tuple[list[ConsumerState], str | None]:
    """Return a page of the claims that hold from a provider, by the name of the claim, and the next marker."""
    base, following, *texts = connection.run("holders", provider=provider, marker=marker or "", limit=limit)
    claims = [documents.decode_claim(text) for text in texts if text is not None]
    states = [allocations.state_of(claim, int(base)) for claim in claims if provider in claim.allocations]
    return states, following or None


def allocate(connection: RedisConnection, changes: Sequence[AllocationChange]) -> Refusal | None:
    """Replace what consumers hold, as checked, or return why nothing is changed."""
    answer = connection.run("allocate", [value for change in changes for value in _arguments(change)])
    if not answer:
        return None
    kind, consumer, provider, resource_class, generation = answer
    classes = (resource_class,) if resource_class else ()
    if kind != RefusalKind.CONSUMER:
        return Refusal(RefusalKind(kind), provider, classes, consumer=consumer)
    (expected,) = (change.generation for change in changes if change.consumer == consumer)
    actual = int(generation) if generation else None
    return Refusal(RefusalKind.CONSUMER, "", (), None if expected is ANY else expected, actual, consumer)


def _arguments(change: AllocationChange) -> Iterator[Any]:
    yield change.consumer
    yield "any" if change.generation is ANY else "none" if change.generation is None else change.generation
    yield documents.encode(change.allocations) if change.allocations else ""
    yield int(not change.is_deletion)
    yield int(change.type is not None)
    yield change.type or ""
    members = documents.encode({"project": change.project, "user": change.user, "request_id": ""})
    yield "," + members[1:-1]
