# SPDX-License-Identifier: Apache-2.0
"""Claims in Redis: the verbs that carry them on, the listing, and the look that verify takes."""

import json
from collections.abc import Sequence
from typing import Any

from rpcapi import errors
from rpcapi.model import names
from rpcapi.model.claims import Answer
from scheduler_svc.store import documents, verification
from scheduler_svc.store.records import Claim, Ended, Ref
from scheduler_svc.store.redis.connect import Connection
from scheduler_svc.store.redis.keys import prefix

EXPIRE_LOT = 500
FENCE_LOT = 500


def end_each(connection: Connection, verb: str, host: str | None, refs: Sequence[Ref]) -> list[Ended]:
    """Run confirm, abort or release for ``refs`` and return what each answered."""
    if not refs:
        return []
    raw = connection.run(verb, host or "", *(value for ref in refs for value in ref))
    return [
        Ended(ref.consumer, ref.attempt, Answer(said), where or None)
        for ref, said, where in zip(refs, raw[::2], raw[1::2], strict=True)
    ]


def move(connection: Connection, ref: Ref, to: Ref, consumer_type: str) -> Ended:
    """Hand a confirmed claim over."""
    about_new, said, host = connection.run("move", *ref, *to, consumer_type)
    return Ended(*(to if about_new else ref), Answer(said), host or None)


def page(
    connection: Connection, host: str | None, consumer: str | None, marker: str | None, limit: int
) -> tuple[list[Claim], str | None]:
    """Return live claims after ``marker``, and the next marker."""
    if consumer is not None:
        connection.run("expire", EXPIRE_LOT)
        raw = connection.read(lambda pipe: pipe.hget(prefix(connection.partition) + "claims", consumer))[0]
        found = [documents.decode_claim(raw)] if raw else []
        return [claim for claim in found if host is None or names.matches(claim.host, host)], None
    bounds = [value for low, high in _ranges(host) for value in (_after(low, marker), high)]
    following, *raws = connection.run("claims", limit, *bounds)
    return [documents.decode_claim(raw) for raw in raws], following or None


def fence(connection: Connection, host: str) -> int:
    """End all live claims of a host, a lot at a time, and await it no more; raises UnknownHost.

    It is closed from the first lot on, so that none is added; an agent that opens it again in between is closed out
    by the next lot.
    """
    total = 0
    while True:
        ended, *more = connection.run("fence", host, FENCE_LOT)
        if not more:
            raise errors.UnknownHost(name=host)
        total += ended
        if not more[0]:
            return total


def _ranges(host: str | None) -> list[tuple[bytes, bytes]]:
    """Return the parts of the index, in byte order, that hold a host's or a node's claims: (first text, end)."""
    if host is None:
        return [(b"", b"+")]
    heads = [f"{host}|"] if names.SEPARATOR in host else [f"{host}/", f"{host}|"]
    return [(head.encode(), b"(" + head.encode() + b"\xff") for head in heads]


def _after(low: bytes, marker: str | None) -> bytes:
    if marker is not None and marker.encode() >= low:
        return b"(" + marker.encode()
    return b"[" + low if low else b"-"


def group_hosts(connection: Connection, group_id: str) -> dict[str, int]:
    """Return how many live claims of a group each host holds."""
    raw = connection.read(lambda pipe: pipe.hget(prefix(connection.partition) + "groups", group_id))[0]
    return json.loads(raw) if raw else {}


def hosts_of(connection: Connection, consumers: Sequence[str]) -> dict[str, str]:
    """Return the node of each consumer's live claim."""
    if not consumers:
        return {}
    return {name: host for name, host in zip(consumers, connection.run("hosts", *consumers), strict=True) if host}


def counts(connection: Connection) -> dict[str, int]:
    """Return how many live claims are in each state; every prepared one has a deadline, no other has."""
    head = prefix(connection.partition)
    live, prepared = connection.read(lambda pipe: pipe.hlen(head + "claims").zcard(head + "deadlines"))
    return {"prepared": prepared, "confirmed": live - prepared}


def look(connection: Connection) -> verification.Look:
    """End what is past its deadline, then take one atomic look at all that verify compares."""
    while connection.run("expire", EXPIRE_LOT) == EXPIRE_LOT:
        pass
    head = prefix(connection.partition)

    def fill(pipe: Any) -> None:
        pipe.hmget(head + "meta", "epoch", "position")
        for word in ("claims", "capacity", "used", "groups", "opened", "excess"):
            pipe.hgetall(head + word)
        pipe.zrange(head + "deadlines", 0, -1, withscores=True)
        pipe.zrange(head + "by_host", 0, -1)
        pipe.smembers(head + "awaited")

    found = connection.read(fill)
    (epoch, position), claims, capacity, used, groups, opened, excess, deadlines, by_host, awaited = found
    return verification.Look(
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
        excess={_pair(member): int(since) for member, since in excess.items()},
    )


def _decoded(raw: dict[str, str]) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in raw.items()}


def _pair(member: str) -> tuple[str, str]:
    first, _bar, second = member.partition("|")
    return first, second
