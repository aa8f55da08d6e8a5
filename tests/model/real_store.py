# SPDX-License-Identifier: Apache-2.0
"""The real store's verbs behind those of the model, and its contents as the model has them."""

from collections.abc import Callable, Sequence
from typing import Any

from rpcapi.resources.claims import ClaimRole, ClaimState
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from scheduler_svc.store.records import RunningClaim
from scheduler_svc.store.tombstones import proves_end_of, state_of
from scheduler_svc.store.unverified import consumer_of
from tests.model.state import CLOSED, FENCED, FENCED_BEFORE, FOREIGN, NOWHERE, OPEN, Claim, Store
from tests.model.verbs import Found, Prepared, Running
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import LONG_MS, SMALL

INSTANCE = "instance"
MIGRATIONS = ("migration", "second-migration")
HOUR_MS = 3_600_000


def name_of(host: int) -> str:
    return f"h{host}"


def number_of(host: str | None) -> int:
    return NOWHERE if host is None else int(host[1:])


class RealStore:
    """A memory store with the model's hosts in one partition; its methods are the model's verbs without the store."""

    def __init__(self, model: Store) -> None:
        """``model`` is the model's store of that partition."""
        self._number = model.partition
        self.partition = memory_partition(partition=f"p{self._number}")
        self._store: Any = self.partition.store
        self._hosts = range(len(model.opened))
        for host in self._hosts:
            if model.opened[host] != FOREIGN:
                self.partition.add_host(name_of(host), amounts={"VCPU": 100, "MEMORY_MB": 10_000})

    def contents(self) -> Store:
        """Return its contents as the model has them."""
        contents = contents_of(self._store.state, (INSTANCE, *MIGRATIONS), self._hosts, name_of, number_of)
        return contents._replace(partition=self._number)

    def prepare(
        self, attempt: int, candidates: Sequence[int], replaces: int, *, is_fresh: bool, move: int = 0, source: int = 0
    ) -> Prepared:
        intent = Intent(
            *(INSTANCE, attempt, [Candidate(name_of(host)) for host in candidates], replaces or None),
            migration=MIGRATIONS[move - 1] if move else None,
            source_attempt=source or None,
        )
        result = self._store.prepare(self.partition.batch(intent, fresh=is_fresh)).prepared[0]
        if str(result.answer) == "refused":
            return Prepared("refused", tried_closed=bool(result.verdicts))
        alternates = tuple(number_of(host) for host in result.alternates)
        return Prepared(str(result.answer), number_of(result.host), alternates)

    def confirm(self, host: int, attempt: int) -> str:
        return str(self._store.confirm(name_of(host), [ClaimRef(INSTANCE, attempt)])[0].answer)

    def abort(self, attempt: int, host: int | None, destination: int | None) -> Found:
        only = destination if destination is None else name_of(destination) if destination != NOWHERE else ""
        caller = None if host is None else name_of(host)
        return _found(self._store.abort([ClaimRef(INSTANCE, attempt)], caller, [only])[0])

    def release(self, host: int, attempt: int) -> str:
        return str(self._store.release(name_of(host), [ClaimRef(INSTANCE, attempt)])[0].answer)

    def find(self, attempt: int) -> Found:
        result = self._store.find([ClaimRef(INSTANCE, attempt)])[0]
        return _found(result)._replace(move=_move(MIGRATIONS, result.migration))

    def begin_move(self, attempt: int, move: int) -> str:
        return str(self._store.begin_moves([ClaimRef(INSTANCE, attempt)], [MIGRATIONS[move - 1]])[0].answer)

    def end_move(self, attempt: int, move: int) -> str:
        return str(self._store.end_moves([ClaimRef(INSTANCE, attempt)], [MIGRATIONS[move - 1]])[0].answer)

    def vouch(self, host: int, attempt: int) -> str:
        return str(self._store.vouch(name_of(host), [ClaimRef(INSTANCE, attempt)])[0].answer)

    def audit(self, host: int, running: Sequence[Running], *, grace_is_over: bool) -> tuple[str, ...]:
        reported = [_running(host, claim) for claim in running]
        grace_ms = 0 if grace_is_over else LONG_MS
        outcome = self._store.audit(name_of(host), self._store.snapshot().epoch, reported, grace_ms)
        return tuple(str(result.answer) for result in outcome.answers)

    def fence(self, host: int) -> None:
        self.partition.fence(name_of(host))
        self._store.state.alive[name_of(host)] = False  # it counts as down when an operator fences it

    def expire(self) -> None:
        self._store.reap(dead_after_ms=HOUR_MS, tombstone_ms=HOUR_MS)

    def pass_deadline(self) -> None:
        self.partition.pass_deadline_of(INSTANCE)


def contents_of(
    state: Any,
    consumers: Sequence[str],
    hosts: Sequence[int],
    host_name: Callable[[int], str],
    host_number: Callable[[str | None], int],
) -> Store:
    """Return what a partition in memory has of one instance and its migrations, as the model has it."""
    instance, *migrations = consumers
    claims = [claim for claim in state.claims.values() if consumer_of(claim.ref.consumer) == instance]
    tombstones = state.ended.get(instance, {})
    ended = {number: state_of(text) for number, text in tombstones.items()}
    proven = max((number for number in range(100) if proves_end_of(tombstones, number)), default=-1) + 1
    here = [host_name(host) in state.reports for host in hosts]
    opened = [_openness(state.opened.get(host_name(host), 0), state.epoch) for host in hosts]
    return Store(
        claims=tuple(sorted(_claim(claim, migrations, host_number) for claim in claims)),
        ended=tuple(sorted(ended.items())),
        ended_moves=tuple(number for number, name in enumerate(migrations, 1) if name in state.ended),
        proven=proven,
        opened=tuple(value if is_here else FOREIGN for value, is_here in zip(opened, here, strict=True)),
        awaited=tuple(is_here and state.is_awaited(host_name(host)) for host, is_here in zip(hosts, here, strict=True)),
    )


def _move(migrations: Sequence[str], name: str | None) -> int:
    return 0 if name is None else migrations.index(name) + 1


def _claim(claim: Any, migrations: Sequence[str], host_number: Callable[[str | None], int]) -> Claim:
    is_overdue = claim.state == ClaimState.PREPARED and claim.deadline_ms == 1
    alternates = tuple(map(host_number, claim.alternates))
    return Claim(
        claim.attempt,
        host_number(claim.host),
        "overdue" if is_overdue else str(claim.state),
        str(claim.role),
        claim.orphan_ms is not None,
        alternates,
        _move(migrations, claim.move),
        claim.source_attempt or 0,
    )


def _openness(opened: int, epoch: int) -> int:
    if opened < 0:
        return FENCED if -opened == epoch else FENCED_BEFORE
    return OPEN if opened == epoch else CLOSED


def _found(result: Any) -> Found:
    return Found(str(result.answer), number_of(result.host), end=str(result.end or ""))


def _running(host: int, claim: Running) -> RunningClaim:
    role = ClaimRole(claim.role)
    return RunningClaim(
        *(INSTANCE, claim.attempt, claim.is_confirmed, name_of(host), {name_of(host): SMALL}),
        *("INSTANCE", "p", "u", "req-1"),
        role=role,
        migration=MIGRATIONS[claim.move - 1] if claim.move else None,
        source_attempt=claim.source or None,
    )
