# SPDX-License-Identifier: Apache-2.0
"""Doubles of the scheduler and the claims service: a scripted selection on a real claim store."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer, ClaimState
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import BatchAnswer, Candidate, ClaimBatch, ClaimRef, Intent, IntentResult
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.alternates import PreparedChunk
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import HostReport, RunningClaim
from scheduler_svc.store.validation import MAX_INTENTS

PARTITION = "cell"
TTL_MS = 60_000
FOREVER_MS = 24 * 3_600_000


class Ledger:
    """Nodes with capacity, and the claims on them. ``ttl_ms`` is so long that leaked claims stay visible."""

    def __init__(self, capacities: Mapping[str, int], clock: Callable[[], int]) -> None:
        self.nodes = list(capacities)
        self.ttl_ms = FOREVER_MS
        self.store = MemoryStore(PARTITION, clock=clock)
        for host in dict.fromkeys(node.partition("/")[0] for node in self.nodes):
            nodes = {node: capacities[node] for node in self.nodes if node.startswith(f"{host}/")}
            self.store.update_stats(
                host,
                HostReport(
                    incarnation=1, sequence=1, nodes={name: _document(capacity) for name, capacity in nodes.items()}
                ),
            )
            self.store.audit(host, self.store.snapshot().epoch, [], 0)

    def prepare(
        self, ctxt: RequestContext, spec: objects.RequestSpec, intents: Sequence[Intent], epoch: int, alternates: int
    ) -> BatchAnswer:
        """Prepare claims at the current position."""
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
        """Audit a host with all its confirmed claims as running, which opens it."""
        epoch = self.store.snapshot().epoch
        claims, _ = self.store.claims(host=host)
        running = [
            RunningClaim(claim.consumer, claim.attempt, True, claim.host, claim.allocations, "INSTANCE", "p", "u", "r")
            for claim in claims
            if claim.state == ClaimState.CONFIRMED
        ]
        self.store.audit(host, epoch, running, 0)

    def live(self) -> dict[str, tuple[str, int, str]]:
        """Return (host, attempt, state) of each consumer's live claim."""
        claims, _ = self.store.claims()
        return {claim.consumer: (claim.host, claim.attempt, str(claim.state)) for claim in claims}

    def problems(self) -> list[str]:
        """Return the problems that verify finds."""
        return list(self.store.verify().problems)


def _document(capacity: int) -> dict[str, Any]:
    inventory = Inventory(total=capacity).as_dict()
    return {"inventories": {"VCPU": inventory}, "traits": [], "availability_zone": None, "metrics": {}}


class Scheduler:
    """Selects the nodes in their order; each instance of a call starts one node further.

    Each call raises the next of ``fail`` before it is executed, or of ``lose`` after it, like a lost answer.
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
            Intent(uuid, attempt, [Candidate(nodes[(index + offset) % len(nodes)]) for offset in range(len(nodes))])
            for index, uuid in enumerate(uuids)
        ]
        prepared: list[IntentResult] = []
        for start in range(0, len(uuids), MAX_INTENTS):
            chunk = intents[start : start + MAX_INTENTS]
            answer = self.ledger.prepare(ctxt, spec, chunk, snapshot.epoch, alternates)
            if not answer.accepted:
                self.ledger.store.abort([ClaimRef(result.consumer, result.attempt) for result in prepared])
                refusals.raise_claim_error(answer.prepared, PARTITION)
                raise refusals.no_valid_host(
                    len(nodes), refusals.count_lost_candidates(refusals.last_verdicts(chunk, answer.prepared))
                )
            prepared += answer.prepared
        if self.lose:
            raise self.lose.pop(0)
        return objects.Selections.build(
            [result.host or "" for result in prepared],
            [result.alternates for result in prepared],
            partition=PARTITION,
            attempt=attempt,
            deadline_ms=0,
            epoch=snapshot.epoch,
            position=snapshot.position,
        )


class Claims:
    """Double of the claims service. ``down`` is raised by every call while set; ``calls`` has the executed calls."""

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
        intent_list = [
            Intent(consumer, attempt, [Candidate(name) for name in names], replaces)
            for consumer, attempt, names, replaces in rows
        ]
        epoch = self.store.snapshot().epoch  # intents of an older epoch are evaluated again
        return encode.prepare_answers(
            [PreparedChunk(intent_list, self.ledger.prepare(ctxt, intents.spec, intent_list, epoch, 2))]
        )

    def abort_claims(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, host: str | None = None
    ) -> objects.ClaimAnswers:
        self._begin("abort", ctxt)
        return encode.claim_answers(self.store.abort(decode.refs(refs), host), Answer.ABORTED)

    def list_claims(self, ctxt: RequestContext, consumer: str | None = None, **_: Any) -> objects.ClaimPage:
        self._begin("list", ctxt)
        claims, marker = self.store.claims(consumer=consumer)
        return objects.ClaimPage.of(claims=[encode.claim(claim) for claim in claims], marker=marker)
