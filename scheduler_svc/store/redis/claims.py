# SPDX-License-Identifier: Apache-2.0
"""Claim verbs on Redis."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimState
from scheduler_svc.core.records import Claim, ClaimRef, ClaimResult
from scheduler_svc.store import documents, verification
from scheduler_svc.store.redis import clock
from scheduler_svc.store.redis.connect import RedisConnection, caller

EXPIRE_BATCH = 500  # claims per script call
ANY_HOST = "*"  # destination in abort.lua: any host
WHOLE_HASH = 1 << 30  # HSCAN's COUNT that returns a whole hash at once


def end_all(
    connection: RedisConnection,
    verb: Literal["confirm", "release"],
    host: str,
    refs: Sequence[ClaimRef],
    *,
    host_uuid: str | None,
) -> list[ClaimResult]:
    return _run_on_refs(connection, verb, refs, refs, host=host, host_uuid=caller(host_uuid))


def abort_all(
    connection: RedisConnection,
    refs: Sequence[ClaimRef],
    host: str | None,
    destinations: Sequence[str | None],
    *,
    host_uuid: str | None,
) -> list[ClaimResult]:
    texts = [ANY_HOST if destination is None else destination for destination in destinations]
    rows = [(*ref, text) for ref, text in zip(refs, texts, strict=True)]
    return _run_on_refs(connection, "abort", refs, rows, host=host or "", host_uuid=caller(host_uuid))


def find_all(connection: RedisConnection, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
    return _run_on_refs(connection, "find", refs, refs, 4)


def _run_on_refs(
    connection: RedisConnection,
    script: str,
    refs: Sequence[ClaimRef],
    rows: Sequence[Sequence[Any]],
    width: int = 2,
    **arguments: Any,
) -> list[ClaimResult]:
    """Run a script on claims, with one row of arguments each; decode the ``width`` values that it returns per claim."""
    if not refs:
        return []
    raw = connection.run(script, (value for row in rows for value in row), **arguments)
    columns = (raw[column::width] for column in range(width))
    return [_claim_result(ref, *answer) for ref, *answer in zip(refs, *columns, strict=True)]


def page(
    connection: RedisConnection, host: str | None, consumer: str | None, *, marker: str | None, limit: int
) -> tuple[list[Claim], str | None]:
    expire_all(connection)
    if consumer is not None:
        (migration,) = connection.read(("HGET", "sources", consumer))
        claims = read_claims(connection, [consumer] if migration is None else [consumer, migration])
        return [claim for claim in claims if host is None or names.matches(claim.host, host)], None
    ranges = ((_after(low, marker), high) for low, high in _ranges(host))
    parts = connection.read(*(("ZRANGEBYLEX", "by_host", *ends, "LIMIT", 0, limit + 1) for ends in ranges))
    members = [member for part in parts for member in part]
    shown = members[:limit]
    claims = read_claims(connection, [_pair(member)[1] for member in shown])
    locations = set(shown)  # skip claims that moved after the index was read
    on_page = [claim for claim in claims if f"{claim.host}|{claim.consumer}" in locations]
    return on_page, shown[-1] if len(members) > limit else None


def read_claims(connection: RedisConnection, consumers: Sequence[str]) -> list[Claim]:
    (raws,) = connection.read(("HMGET", "claims", *consumers)) if consumers else ([],)
    return [documents.decode_claim(raw) for raw in raws if raw]


def prepared(connection: RedisConnection, limit: int) -> list[Claim]:
    expire_all(connection)
    (consumers,) = connection.read(("ZRANGE", "deadlines", 0, limit - 1))
    claims = read_claims(connection, consumers)
    return [claim for claim in claims if claim.state == ClaimState.PREPARED]  # others changed after the first read


def group_hosts(connection: RedisConnection, group_id: str) -> dict[str, int]:
    expire_all(connection)
    (raw,) = connection.read(("HGET", "groups", group_id))
    return json.loads(raw) if raw else {}


def hosts_of(connection: RedisConnection, consumers: Sequence[str]) -> dict[str, str]:
    if not consumers:
        return {}
    nodes = connection.run("hosts", consumers)
    return {name: node for name, node in zip(consumers, nodes, strict=True) if node}


def sources_of(connection: RedisConnection, consumers: Sequence[str], group_id: str) -> dict[str, str]:
    if not consumers:
        return {}
    nodes = connection.run("sources", consumers, group=group_id)
    return {name: node for name, node in zip(consumers, nodes, strict=True) if node}


def expire_all(connection: RedisConnection) -> None:
    while connection.run("expire", limit=EXPIRE_BATCH) == EXPIRE_BATCH:
        pass


def dump(connection: RedisConnection) -> verification.StoreDump:
    """Expire overdue claims, then return the data that ``verify`` compares, from one atomic read."""
    expire_all(connection)
    (epoch, position, *time), claims, capacity, used, groups, opened, excess, deadlines, *more = connection.read(
        ("HMGET", "meta", "epoch", "position", *clock.FIELDS),
        *(("HGETALL", word) for word in ("claims", "capacity", "used", "groups", "opened", "excess")),
        ("ZRANGE", "deadlines", 0, -1, "WITHSCORES"),
        ("ZRANGE", "by_host", 0, -1),
        ("SMEMBERS", "awaited"),
        *(("HGETALL", word) for word in ("unverified", "sources", "provider_names")),
        *(("ZRANGE", word, 0, -1) for word in ("children", "holders")),
        ("HGETALL", "tallies"),
        ("ZRANGE", "tallied", 0, -1),
        ("HSCAN", "providers", 0, "MATCH", f"{names.api_provider('')}*", "COUNT", WHOLE_HASH),
    )
    by_host, awaited, unverified, sources, provider_names, children, holders, *more = more
    tallies, tallied, (_cursor, api_providers) = more
    lead = clock.lead(*time)
    return verification.StoreDump(
        epoch=int(epoch or 0),
        position=int(position or 0),
        claims=[documents.decode_claim(raw) for raw in claims.values()],
        capacity=_decoded(capacity),
        used=_decoded(used),
        groups=_decoded(groups),
        deadlines={consumer: int(at) for consumer, at in zip(deadlines[::2], deadlines[1::2], strict=True)},
        by_host={_pair(member) for member in by_host},
        opened={host: int(when) for host, when in opened.items()},
        awaited=awaited,
        sources=sources,
        provider_names=provider_names,
        holders=holders,
        tallies={_owner(field): int(amount) for field, amount in tallies.items()},
        tallied={_owner(field) for field in tallied},
        children={_pair(member) for member in children},
        api_providers={name: documents.decode(text, "provider") for name, text in api_providers.items()},
        unverified={consumer: int(number) for consumer, number in unverified.items()},
        excess={_pair(member): int(since) + lead for member, since in excess.items()},
    )


def _claim_result(ref: ClaimRef, answer: str, host: str = "", migration: str = "", end: str = "") -> ClaimResult:
    ended = Answer(end) if end else None
    return ClaimResult(*ref, Answer(answer), host or None, migration=migration or None, end=ended)


def _ranges(host: str | None) -> list[tuple[bytes, bytes]]:
    """Return the ranges (first member, end) of a service host's or node's claims in index ``by_host``.

    A service host has two ranges, in byte order: claims on its nodes, "host/...", and on the host itself, "host|...".
    """
    if host is None:
        return [(b"", b"+")]
    heads = [f"{host}|"] if names.SEPARATOR in host else [f"{host}/", f"{host}|"]
    return [(head.encode(), b"(" + head.encode() + b"\xff") for head in heads]


def _after(low: bytes, marker: str | None) -> bytes:
    if marker is not None and marker.encode() >= low:
        return b"(" + marker.encode()
    return b"[" + low if low else b"-"


def _owner(field: str) -> tuple[str, ...]:
    return tuple(json.loads(f"[{field}]"))


def _decoded(raw: dict[str, str]) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in raw.items()}


def _pair(member: str) -> tuple[str, str]:
    first, _bar, second = member.partition("|")
    return first, second
