# SPDX-License-Identifier: Apache-2.0
"""Claims in Redis: the verbs on them, their listing, and the read for verify."""

import json
from collections.abc import Sequence
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimState
from scheduler_svc.core.records import Claim, ClaimRef, ClaimResult
from scheduler_svc.store import documents, verification
from scheduler_svc.store.redis import clock
from scheduler_svc.store.redis.connect import RedisConnection, caller
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.verbs import fencing

EXPIRE_BATCH = 500
ANY_HOST = "*"  # a destination in the script abort
WHOLE_HASH = 1 << 30  # elements that one HSCAN returns at most: all of them
UNKNOWN_HOST = -1  # an answer of the script fence


def end_claims(
    connection: RedisConnection, verb: str, host: str, refs: Sequence[ClaimRef], host_uuid: str | None
) -> list[ClaimResult]:
    """Run confirm or release for ``refs``, and return a result for each."""
    return _run_on_refs(connection, verb, refs, host=host, host_uuid=caller(host_uuid))


def abort(
    connection: RedisConnection,
    host: str | None,
    refs: Sequence[ClaimRef],
    destinations: Sequence[str | None],
    host_uuid: str | None,
) -> list[ClaimResult]:
    """Abort claims, and return a result for each; ``destinations`` has one element for each."""
    texts = [ANY_HOST if destination is None else destination for destination in destinations]
    rows = [(*ref, text) for ref, text in zip(refs, texts, strict=True)]
    return _results(connection, "abort", refs, rows, host=host or "", host_uuid=caller(host_uuid))


def find(connection: RedisConnection, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
    """Look up claims, and return a result for each."""
    return _results_of_columns(connection, "find", refs, refs, 4)


def change_moves(
    connection: RedisConnection, script: str, refs: Sequence[ClaimRef], migrations: Sequence[str]
) -> list[ClaimResult]:
    """Run ``begin_moves`` or ``end_moves``, and return a result for each claim."""
    rows = [(*ref, migration) for ref, migration in zip(refs, migrations, strict=True)]
    return _results_of_columns(connection, script, refs, rows, 3)


def vouch(connection: RedisConnection, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
    """Make unverified claims of a host claims of their consumers, and return a result for each."""
    return _run_on_refs(connection, "vouch", refs, host=host)


def _run_on_refs(
    connection: RedisConnection, script: str, refs: Sequence[ClaimRef], **arguments: Any
) -> list[ClaimResult]:
    return _results(connection, script, refs, refs, **arguments)


def _results(
    connection: RedisConnection, script: str, refs: Sequence[ClaimRef], rows: Sequence[Sequence[Any]], **arguments: Any
) -> list[ClaimResult]:
    """Run a script with a row of arguments for each claim, and return a result for each."""
    if not refs:
        return []
    raw = connection.run(script, (value for row in rows for value in row), **arguments)
    return [claim_result(ref, answer, node) for ref, answer, node in zip(refs, raw[::2], raw[1::2], strict=True)]


def _results_of_columns(
    connection: RedisConnection, script: str, refs: Sequence[ClaimRef], rows: Sequence[Sequence[Any]], width: int
) -> list[ClaimResult]:
    """Like ``_results``, for a script that answers the first ``width`` parameters of ``claim_result`` after ``ref``."""
    if not refs:
        return []
    raw = connection.run(script, (value for row in rows for value in row))
    columns = (raw[column::width] for column in range(width))
    return [claim_result(ref, *answer) for ref, *answer in zip(refs, *columns, strict=True)]


def claim_result(ref: ClaimRef, answer: str, host: str = "", migration: str = "", end: str = "") -> ClaimResult:
    """Return the result of a script's answer."""
    ended = Answer(end) if end else None
    return ClaimResult(*ref, Answer(answer), host or None, migration=migration or None, end=ended)


def page(
    connection: RedisConnection, host: str | None, consumer: str | None, marker: str | None, limit: int
) -> tuple[list[Claim], str | None]:
    """Return live claims after ``marker``, and the next marker."""
    if consumer is not None:
        expire_all(connection)
        claims = _claims_of(connection, consumer)
        return [claim for claim in claims if host is None or names.matches(claim.host, host)], None
    bounds = [value for low, high in _ranges(host) for value in (_after(low, marker), high)]
    following, *raws = connection.run("claims", bounds, limit=limit)
    return [documents.decode_claim(raw) for raw in raws], following or None


def _claims_of(connection: RedisConnection, consumer: str) -> list[Claim]:
    """Return the live claims of a consumer: its own, and the source of its move."""
    head = prefix(connection.partition)
    migration = connection.read(lambda pipe: pipe.hget(head + "sources", consumer))[0]
    consumers = [consumer] if migration is None else [consumer, migration]
    raws = connection.read(lambda pipe: pipe.hmget(head + "claims", consumers))[0]
    return [documents.decode_claim(raw) for raw in raws if raw]


def prepared(connection: RedisConnection, limit: int) -> list[Claim]:
    """Return the prepared claims by their deadlines, at most ``limit``; those that end meanwhile are left out."""
    expire_all(connection)
    head = prefix(connection.partition)
    consumers = connection.read(lambda pipe: pipe.zrange(head + "deadlines", 0, limit - 1))[0]
    raws = connection.read(lambda pipe: pipe.hmget(head + "claims", consumers))[0] if consumers else []
    claims = [documents.decode_claim(raw) for raw in raws if raw]
    return [claim for claim in claims if claim.state == ClaimState.PREPARED]


def fence(connection: RedisConnection, host: str, token: str, force: bool, replace: bool) -> int:
    """Release all live claims of a host, one batch at a time, and stop awaiting it; raises UnknownHost and HostIsUp."""
    record = fencing.fence_record(host, token)

    def step() -> int | None:
        ended, *remaining = connection.run(
            "fence",
            host=host,
            record=record,
            force=int(force),
            replace=int(replace),
            limit=fencing.FENCE_BATCH,
            progress=fencing.PROGRESS,
        )
        if not remaining:
            raise errors.UnknownHost(name=host) if ended == UNKNOWN_HOST else errors.HostIsUp(host=host)
        return None if remaining[0] else int(ended)

    return fencing.complete(step)


def expire_all(connection: RedisConnection) -> None:
    """End all claims past their deadline, one batch at a time."""
    while connection.run("expire", limit=EXPIRE_BATCH) == EXPIRE_BATCH:
        pass


def _ranges(host: str | None) -> list[tuple[bytes, bytes]]:
    """Return the index ranges, in byte order, of a host's or a node's claims: (first member, end)."""
    if host is None:
        return [(b"", b"+")]
    heads = [f"{host}|"] if names.SEPARATOR in host else [f"{host}/", f"{host}|"]
    return [(head.encode(), b"(" + head.encode() + b"\xff") for head in heads]


def _after(low: bytes, marker: str | None) -> bytes:
    if marker is not None and marker.encode() >= low:
        return b"(" + marker.encode()
    return b"[" + low if low else b"-"


def group_hosts(connection: RedisConnection, group_id: str) -> dict[str, int]:
    """Return how many live claims of a group each host holds."""
    expire_all(connection)
    raw = connection.read(lambda pipe: pipe.hget(prefix(connection.partition) + "groups", group_id))[0]
    return json.loads(raw) if raw else {}


def hosts_of(connection: RedisConnection, consumers: Sequence[str]) -> dict[str, str]:
    """Return the node of each consumer's live claim."""
    if not consumers:
        return {}
    return {name: host for name, host in zip(consumers, connection.run("hosts", consumers), strict=True) if host}


def sources_of(connection: RedisConnection, consumers: Sequence[str], group_id: str) -> dict[str, str]:
    """Return the node of each consumer's source that a migration holds as a member of a group."""
    if not consumers:
        return {}
    nodes = connection.run("sources", consumers, group=group_id)
    return {name: node for name, node in zip(consumers, nodes, strict=True) if node}


def counts(connection: RedisConnection) -> dict[str, int]:
    """Return the number of live claims in each state; exactly the prepared ones have a deadline."""
    head = prefix(connection.partition)
    live, prepared = connection.read(lambda pipe: pipe.hlen(head + "claims").zcard(head + "deadlines"))
    return {"prepared": prepared, "confirmed": live - prepared}


def dump(connection: RedisConnection) -> verification.StoreDump:
    """End claims past their deadline, then read everything that verify compares in one transaction."""
    expire_all(connection)
    head = prefix(connection.partition)

    def fill(pipe: Any) -> None:
        pipe.hmget(head + "meta", "epoch", "position", *clock.FIELDS)
        for word in ("claims", "capacity", "used", "groups", "opened", "excess"):
            pipe.hgetall(head + word)
        pipe.zrange(head + "deadlines", 0, -1, withscores=True)
        pipe.zrange(head + "by_host", 0, -1)
        pipe.smembers(head + "awaited")
        pipe.hgetall(head + "unverified")
        pipe.hgetall(head + "sources")
        pipe.hgetall(head + "provider_names")
        pipe.zrange(head + "children", 0, -1)
        pipe.zrange(head + "holders", 0, -1)
        pipe.hgetall(head + "tallies")
        pipe.zrange(head + "tallied", 0, -1)
        pipe.hscan(head + "providers", match=f"{names.api_provider('')}*", count=WHOLE_HASH)

    reply = connection.read(fill)
    (epoch, position, *time), claims, capacity, used, groups, opened, excess, deadlines, *more = reply
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
        deadlines={consumer: int(at) for consumer, at in deadlines},
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


def _owner(field: str) -> tuple[str, ...]:
    """Return project, user, consumer type and resource class of a tally."""
    return tuple(json.loads(f"[{field}]"))


def _decoded(raw: dict[str, str]) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in raw.items()}


def _pair(member: str) -> tuple[str, str]:
    first, _bar, second = member.partition("|")
    return first, second
