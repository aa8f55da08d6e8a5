# SPDX-License-Identifier: Apache-2.0
"""Claims in Redis."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimState
from scheduler_svc.core.records import Claim, ClaimRef, ClaimResult
from scheduler_svc.store import documents, verification
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import Verification
from scheduler_svc.store.redis import clock
from scheduler_svc.store.redis.connect import RedisConnection, caller
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.verbs import fencing

EXPIRE_BATCH = 500
ANY_HOST = "*"  # a destination in the script abort
WHOLE_HASH = 1 << 30  # elements that one HSCAN returns at most: all of them
UNKNOWN_HOST = -1  # an answer of the script fence


class RedisClaims(Store):
    """The verbs on claims."""

    _connection: RedisConnection

    def _end_claims(
        self, verb: Literal["confirm", "release"], host: str, refs: Sequence[ClaimRef], host_uuid: str | None
    ) -> list[ClaimResult]:
        return self._run_on_refs(verb, refs, refs, host=host, host_uuid=caller(host_uuid))

    def _abort(
        self, refs: Sequence[ClaimRef], host: str | None, destinations: Sequence[str | None], host_uuid: str | None
    ) -> list[ClaimResult]:
        texts = [ANY_HOST if destination is None else destination for destination in destinations]
        rows = [(*ref, text) for ref, text in zip(refs, texts, strict=True)]
        return self._run_on_refs("abort", refs, rows, host=host or "", host_uuid=caller(host_uuid))

    def _find(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        return self._run_on_refs("find", refs, refs, 4)

    def _change_moves(
        self, verb: Literal["begin_moves", "end_moves"], refs: Sequence[ClaimRef], migrations: Sequence[str]
    ) -> list[ClaimResult]:
        rows = [(*ref, migration) for ref, migration in zip(refs, migrations, strict=True)]
        return self._run_on_refs(verb, refs, rows, 3)

    def _vouch(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        return self._run_on_refs("vouch", refs, refs, host=host)

    def _run_on_refs(
        self, script: str, refs: Sequence[ClaimRef], rows: Sequence[Sequence[Any]], width: int = 2, **arguments: Any
    ) -> list[ClaimResult]:
        """Run a script with a row of arguments for each claim, and return a result for each.

        The script answers the first ``width`` parameters of ``claim_result`` after ``ref``.
        """
        if not refs:
            return []
        raw = self._connection.run(script, (value for row in rows for value in row), **arguments)
        columns = (raw[column::width] for column in range(width))
        return [claim_result(ref, *answer) for ref, *answer in zip(refs, *columns, strict=True)]

    def _claims(
        self, host: str | None, consumer: str | None, marker: str | None, limit: int
    ) -> tuple[list[Claim], str | None]:
        if consumer is not None:
            self._expire_all()
            claims = self._claims_of(consumer)
            return [claim for claim in claims if host is None or names.matches(claim.host, host)], None
        bounds = [value for low, high in _ranges(host) for value in (_after(low, marker), high)]
        following, *raws = self._connection.run("claims", bounds, limit=limit)
        return [documents.decode_claim(raw) for raw in raws], following or None

    def _claims_of(self, consumer: str) -> list[Claim]:
        """Return the live claims of a consumer: its own, and the source of its move."""
        head = prefix(self.partition)
        migration = self._connection.read(lambda pipe: pipe.hget(head + "sources", consumer))[0]
        consumers = [consumer] if migration is None else [consumer, migration]
        raws = self._connection.read(lambda pipe: pipe.hmget(head + "claims", consumers))[0]
        return [documents.decode_claim(raw) for raw in raws if raw]

    def _prepared_claims(self, limit: int) -> list[Claim]:
        self._expire_all()
        head = prefix(self.partition)
        consumers = self._connection.read(lambda pipe: pipe.zrange(head + "deadlines", 0, limit - 1))[0]
        raws = self._connection.read(lambda pipe: pipe.hmget(head + "claims", consumers))[0] if consumers else []
        claims = [documents.decode_claim(raw) for raw in raws if raw]
        return [claim for claim in claims if claim.state == ClaimState.PREPARED]  # some may have ended meanwhile

    def _fence(self, host: str, token: str, force: bool, replace: bool) -> int | None:
        ended, *remaining = self._connection.run(
            "fence",
            host=host,
            record=fencing.fence_record(host, token),
            force=int(force),
            replace=int(replace),
            limit=fencing.FENCE_BATCH,
            progress=fencing.PROGRESS,
        )
        if not remaining:
            raise errors.UnknownHost(name=host) if ended == UNKNOWN_HOST else errors.HostIsUp(host=host)
        return None if remaining[0] else int(ended)

    def _group_hosts(self, group_id: str) -> dict[str, int]:
        self._expire_all()
        raw = self._connection.read(lambda pipe: pipe.hget(prefix(self.partition) + "groups", group_id))[0]
        return json.loads(raw) if raw else {}

    def _hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        if not consumers:
            return {}
        nodes = self._connection.run("hosts", consumers)
        return {name: node for name, node in zip(consumers, nodes, strict=True) if node}

    def _sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        if not consumers:
            return {}
        nodes = self._connection.run("sources", consumers, group=group_id)
        return {name: node for name, node in zip(consumers, nodes, strict=True) if node}

    def counts(self) -> Mapping[str, int]:
        head = prefix(self.partition)
        live, prepared = self._connection.read(lambda pipe: pipe.hlen(head + "claims").zcard(head + "deadlines"))
        return {"prepared": prepared, "confirmed": live - prepared}  # exactly the prepared ones have a deadline

    def clock_lead(self) -> int:
        time = self._connection.read(lambda pipe: pipe.hmget(prefix(self.partition) + "meta", clock.FIELDS))[0]
        return clock.lead(*time)

    def _expire_all(self) -> None:
        """End all claims past their deadline, one batch at a time."""
        while self._connection.run("expire", limit=EXPIRE_BATCH) == EXPIRE_BATCH:
            pass

    def verify(self) -> Verification:
        self._expire_all()
        head = prefix(self.partition)

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

        reply = self._connection.read(fill)
        (epoch, position, *time), claims, capacity, used, groups, opened, excess, deadlines, *more = reply
        by_host, awaited, unverified, sources, provider_names, children, holders, *more = more
        tallies, tallied, (_cursor, api_providers) = more
        lead = clock.lead(*time)
        dump = verification.StoreDump(
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
        return verification.verify(dump)


def claim_result(ref: ClaimRef, answer: str, host: str = "", migration: str = "", end: str = "") -> ClaimResult:
    """Return the result of a script's answer."""
    ended = Answer(end) if end else None
    return ClaimResult(*ref, Answer(answer), host or None, migration=migration or None, end=ended)


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


def _owner(field: str) -> tuple[str, ...]:
    """Return project, user, consumer type and resource class of a tally."""
    return tuple(json.loads(f"[{field}]"))


def _decoded(raw: dict[str, str]) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in raw.items()}


def _pair(member: str) -> tuple[str, str]:
    first, _bar, second = member.partition("|")
    return first, second
