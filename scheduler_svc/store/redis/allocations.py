# SPDX-License-Identifier: Apache-2.0
"""Allocation verbs on Redis."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from scheduler_svc.core.records import Claim
from scheduler_svc.store import allocations, documents, tallies
from scheduler_svc.store.allocations import ANY, AllocationChange, Usage
from scheduler_svc.store.paging import Page
from scheduler_svc.store.providers.changes import Refusal, RefusalKind
from scheduler_svc.store.redis.claims import expire_all, read_claims
from scheduler_svc.store.redis.connect import RedisConnection

TALLY_PAGE = 1000  # sums per script call


def read(connection: RedisConnection, consumers: Sequence[str]) -> dict[str, Claim]:
    if not consumers:
        return {}
    connection.run("hosts", consumers)  # expires overdue claims
    base, texts = connection.read(("HGET", "meta", "generation_base"), ("HMGET", "claims", *consumers))
    return {
        consumer: allocations.client_view(documents.decode_claim(text), int(base or 0))
        for consumer, text in zip(consumers, texts, strict=True)
        if text is not None
    }


def list_holders(connection: RedisConnection, provider: str, marker: str | None, limit: int) -> Page[Claim]:
    expire_all(connection)
    head = f"{provider}|"
    ends = (f"({head}{marker or ''}", f"({provider}}}")  # '}' is the byte after '|'
    base, *parts = connection.read(
        ("HGET", "meta", "generation_base"),
        *(("ZRANGEBYLEX", word, *ends, "LIMIT", 0, limit + 1) for word in ("by_host", "holders")),
    )
    holding = sorted(member.removeprefix(head) for members in parts for member in members)
    claims = [claim for claim in read_claims(connection, holding[:limit]) if provider in claim.allocations]
    states = [allocations.client_view(claim, int(base or 0)) for claim in claims]
    return states, holding[limit - 1] if len(holding) > limit else None


def usages(connection: RedisConnection, project: str, user: str | None, consumer_type: str | None) -> dict[str, Usage]:
    return tallies.usages(_tallies(connection, project, user), consumer_type)


def _tallies(connection: RedisConnection, project: str, user: str | None) -> Iterator[tuple[str, str, int]]:
    """Yield (consumer type, resource class, sum) for each user; class '' is the number of consumers."""
    arguments: dict[str, Any] = {
        "project": project,
        "has_user": int(user is not None),
        "user": user or "",
        "limit": TALLY_PAGE,
    }
    marker = None
    while marker != "":
        outcome, *rows = connection.run("usages", marker=marker or "", **arguments)
        if outcome == "page":
            marker, *values = rows
            for names, amount in zip(values[::2], values[1::2], strict=True):
                _user, type_name, resource_class = json.loads(names)
                yield type_name, resource_class, int(amount)


def allocate(connection: RedisConnection, changes: Sequence[AllocationChange]) -> Refusal | None:
    answer = connection.run("allocate", [value for change in changes for value in _arguments(change)])
    if not answer:
        return None
    kind, consumer, provider, resource_classes, generation = answer
    classes = tuple(resource_classes.split(",")) if resource_classes else ()
    if kind != RefusalKind.CONSUMER:
        return Refusal(RefusalKind(kind), provider, classes, consumer=consumer)
    (expected,) = (change.generation for change in changes if change.consumer == consumer)
    actual = int(generation) if generation else None
    return Refusal(RefusalKind.CONSUMER, "", (), None if expected is ANY else expected, actual, consumer)


def _arguments(change: AllocationChange) -> Iterator[Any]:
    yield change.consumer
    yield "any" if change.generation is ANY else "none" if change.generation is None else change.generation
    yield documents.encode_in_order(change.allocations) if change.allocations else ""
    yield int(not change.is_deletion)
    yield int(change.type is not None)
    yield change.type or ""
    members = documents.encode({"project": change.project, "user": change.user, "request_id": ""})
    yield "," + members[1:-1]
