# SPDX-License-Identifier: Apache-2.0
"""The scheduler and the claims as a conductor sees them: a scripted choice, on the real rules of claims."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.model.claims import Answer, ClaimState
from rpcapi.model.inventory import Inventory
from scheduler_svc.deciding import refusal
from scheduler_svc.deciding.alternates import PreparedChunk
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import BatchAnswer, Candidate, ClaimBatch, ClaimRef, Intent, IntentResult, RunningClaim
from scheduler_svc.store.validation import MAX_INTENTS

PARTITION = "cell"
TTL_MS = 60_000
FOREVER_MS = 24 * 3_600_000


class Ledger:
    """Nodes with room, and the claims on them, which live ``ttl_ms`` unconfirmed: so long that a leak shows."""

    def __init__(self, rooms: Mapping[str, int], clock: Callable[[], int]) -> None:
        self.nodes = list(rooms)
        self.ttl_ms = FOREVER_MS
        self.store = MemoryStore(PARTITION, clock=clock)
        for host in dict.fromkeys(node.partition("/")[0] for node in self.nodes):
            nodes = {node: rooms[node] for node in self.nodes if node.startswith(f"{host}/")}
            self.store.update_stats(
                host,
                incarnation=1,
                sequence=1,
                base=0,
                full=True,
                nodes={name: _document(room) for name, room in nodes.items()},
            )
            self.store.audit(host, self.store.snapshot().epoch, [], 0)

    def prepare(
        self, ctxt: RequestContext, spec: objects.RequestSpec, intents: Sequence[Intent], epoch: int, alternates: int
    ) -> BatchAnswer:
        """Prepare claims as of now: nothing here changes who may have what."""
        return self.store.prepare(
            ClaimBatch(
                request_id=ctxt.request_id,
                project="p",
                user="u",
                resources=dict(spec.resources),
                intents=intents,
                epoch=epoch,
                position=self.store.snapshot().position,
                ttl_ms=self.ttl_ms,
                alternates=alternates,
            )
        )

    def forget(self) -> None:
        """Begin a new epoch, in which no host is audited yet."""
        self.store.begin_epoch()

    def audit(self, host: str) -> None:
        """Have a host tell that all its confirmed claims run, which opens it."""
        epoch = self.store.snapshot().epoch
        found, _ = self.store.claims(host=host)
        running = [
            RunningClaim(each.consumer, each.attempt, True, each.host, each.allocations, "INSTANCE", "p", "u", "r")
            for each in found
            if each.state == ClaimState.CONFIRMED
        ]
        self.store.audit(host, epoch, running, 0)

    def live(self) -> dict[str, tuple[str, int, str]]:
        """Return (host, attempt, state) of each consumer's live claim."""
        found, _ = self.store.claims()
        return {claim.consumer: (claim.host, claim.attempt, str(claim.state)) for claim in found}

    def problems(self) -> list[str]:
        """Return what is wrong with the sums."""
        return list(self.store.verify().problems)


def _document(room: int) -> dict[str, Any]:
    inventory = Inventory(total=room).as_dict()
    return {"inventories": {"VCPU": inventory}, "traits": [], "availability_zone": None, "metrics": {}}


class Scheduler:
    """Offers the nodes in their order, each next instance of a call beginning one further on.

    Each call raises the next of ``fail`` before it is carried out, or of ``lose`` after it, as if the answer were lost.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.calls: list[tuple[list[str], int]] = []
        self.fail: list[Exception] = []
        self.lose: list[Exception] = []

    def select_destinations(
        self, ctxt: RequestContext, spec: objects.RequestSpec, uuids: list[str], attempt: int = 1, alternates: int = 2
    ) -> objects.Selections:
        ctxt.check_deadline()
        self.calls.append((list(uuids), attempt))
        if self.fail:
            raise self.fail.pop(0)
        snapshot = self.ledger.store.snapshot()
        nodes = self.ledger.nodes
        intents = [
            Intent(uuid, attempt, [Candidate(nodes[(index + more) % len(nodes)]) for more in range(len(nodes))])
            for index, uuid in enumerate(uuids)
        ]
        prepared: list[IntentResult] = []
        for start in range(0, len(uuids), MAX_INTENTS):
            some = intents[start : start + MAX_INTENTS]
            answer = self.ledger.prepare(ctxt, spec, some, snapshot.epoch, alternates)
            if not answer.accepted:
                self.ledger.store.abort([ClaimRef(one.consumer, one.attempt) for one in prepared])
                refusal.raise_claim_error(answer.prepared, PARTITION)
                raise refusal.no_valid_host(len(nodes), refusal.count_lost_candidates(refusal.last_verdicts(some, answer.prepared)))
            prepared += answer.prepared
        if self.lose:
            raise self.lose.pop(0)
        return objects.Selections.build(
            [one.host or "" for one in prepared],
            [one.alternates for one in prepared],
            partition=PARTITION,
            attempt=attempt,
            deadline_ms=0,
            epoch=snapshot.epoch,
            position=snapshot.position,
        )


class Claims:
    """``down`` is raised by every call while it is set; ``calls`` names the calls that were carried out."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.store = ledger.store
        self.down: Exception | None = None
        self.calls: list[str] = []

    def _begin(self, name: str, ctxt: RequestContext) -> None:
        ctxt.check_deadline()
        if self.down is not None:
            raise self.down
        self.calls.append(name)

    def prepare_claims(self, ctxt: RequestContext, intents: objects.ClaimIntents) -> objects.ClaimAnswers:
        self._begin("prepare", ctxt)
        rows = zip(intents.consumers, intents.attempts, intents.candidates, intents.replaces, strict=True)
        wishes = [
            Intent(consumer, attempt, [Candidate(name) for name in names], replaces)
            for consumer, attempt, names, replaces in rows
        ]
        epoch = self.store.snapshot().epoch  # a decision of an older one is looked at anew
        return encode.prepare_answers([PreparedChunk(wishes, self.ledger.prepare(ctxt, intents.spec, wishes, epoch, 2))])

    def abort_claims(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, host: str | None = None
    ) -> objects.ClaimAnswers:
        self._begin("abort", ctxt)
        return encode.claim_answers(self.store.abort(decode.refs(refs), host), Answer.ABORTED)

    def list_claims(self, ctxt: RequestContext, consumer: str | None = None, **_: Any) -> objects.ClaimPage:
        self._begin("list", ctxt)
        found, marker = self.store.claims(consumer=consumer)
        return objects.ClaimPage.of(claims=[encode.claim(claim) for claim in found], marker=marker)
