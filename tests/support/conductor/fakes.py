# SPDX-License-Identifier: Apache-2.0
"""Fakes of the services that a conductor calls: scheduler and claims."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.claims import Answer, GroupPolicy
from scheduler_svc.core.records import Candidate, Intent
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.host_state.stamps import CONDUCTORS, StampSigner
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.alternates import PreparedBatch
from tests.support.conductor.ledger import PARTITION, Ledger


def partition_list(partitions: Sequence[str]) -> objects.PartitionList:
    """Return the answer to list_partitions of a scheduler with these partitions, each with one host."""
    count = len(partitions)
    return objects.PartitionList.of(
        names=list(partitions),
        available=[True] * count,
        epochs=[1] * count,
        positions=[0] * count,
        hosts=[1] * count,
        alive=[1] * count,
        claims=[{}] * count,
    )


def allowed_nodes(spec: objects.RequestSpec, ledger: Ledger) -> list[str]:
    """Return the nodes of a partition that the request does not exclude."""
    target = spec.requested_destination.get("host")
    return [
        node
        for node in ledger.nodes
        if not {node, names.host_of(node)} & set(spec.ignore_hosts) and target in (None, node, names.host_of(node))
    ]


class FakeScheduler:
    """Selects the nodes in their order; each instance of a call starts one node further.

    Each call raises the next of ``fail`` before it is executed, or of ``lose`` after it, like a lost answer.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.calls: list[tuple[list[str], int]] = []
        self.fail: list[Exception] = []
        self.lose: list[Exception] = []
        self.signer = StampSigner(None)
        self.partitions = [PARTITION]
        self.silent: set[str] = set()  # partitions whose store does not answer
        self.specs: list[objects.RequestSpec] = []  # of each selection
        self.image_checks: list[tuple[list[str], dict[str, Any]]] = []  # (hosts, image) of each dry run of a rebuild
        self.refuse_images: set[str] = set()  # hosts that can run no new image
        self.down: set[str] = set()  # hosts without heartbeats
        self.unanswered: Exception | None = None  # raised by calls about the state of hosts while set
        self.full: set[str] = set()  # nodes that a dry run refuses
        self.full_reason = "not enough VCPU"  # of these refusals
        self.groups: dict[str, objects.ServerGroup] = {}  # those that are no affinity groups

    def exchange_stamps(self, ctxt: RequestContext, stamps: dict[str, str]) -> dict[str, str | None]:
        if PARTITION in self.silent:
            return {}
        proof = self.signer.verify(PARTITION, CONDUCTORS, stamps.get(PARTITION))
        place = self.ledger.store.begin_epoch_if_behind(*(proof or (0, 0)))
        return {PARTITION: self.signer.sign(PARTITION, CONDUCTORS, *place)}

    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        if self.unanswered is not None:
            raise self.unanswered
        return partition_list(self.partitions)

    def get_server_group(self, ctxt: RequestContext, group_id: str, project: str | None = None) -> objects.ServerGroup:
        affinity = objects.ServerGroup.of(id=group_id, project=project, policy=GroupPolicy.AFFINITY)
        return self.groups.get(group_id, affinity)

    def _allowed_nodes(self, spec: objects.RequestSpec) -> list[str]:
        """Return the nodes that the request does not exclude."""
        assert spec.requested_destination.get("partition", PARTITION) == PARTITION
        return allowed_nodes(spec, self.ledger)

    def select_destinations(
        self,
        ctxt: RequestContext,
        spec: objects.RequestSpec,
        uuids: list[str],
        attempt: int = 1,
        alternates: int = 2,
        *,
        fresh: bool = False,
        moves: Sequence[Mapping[str, Any] | None] = (),
    ) -> objects.Selections:
        ctxt.check_deadline()
        self.calls.append((list(uuids), attempt))
        if self.fail:
            raise self.fail.pop(0)
        self.specs.append(spec)
        snapshot = self.ledger.store.snapshot()
        nodes = self._allowed_nodes(spec)
        if not nodes:
            raise refusals.no_valid_host({"ignored": len(self.ledger.nodes)})
        intents = [
            Intent(
                *(uuid, attempt, [Candidate(name) for name in self._candidates(spec, nodes, index, len(uuids))]),
                migration=move.migration,
                source_attempt=move.source_attempt,
            )
            for index, (uuid, move) in enumerate(zip(uuids, decode.moves(moves, len(uuids)), strict=True))
        ]
        answer = self.ledger.prepare(ctxt, spec, intents, snapshot.epoch, alternates, fresh=fresh)
        prepared = answer.prepared
        if not answer.accepted:
            if error := refusals.claim_error(prepared, PARTITION):
                raise error
            verdicts = refusals.last_verdicts(intents, prepared)
            raise refusals.no_valid_host(refusals.count_lost_candidates(verdicts))
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
            allocations=[result.allocations for result in prepared],
        )

    def _candidates(self, spec: objects.RequestSpec, nodes: Sequence[str], index: int, count: int) -> list[str]:
        """Return the nodes for the instance of that index; of an affinity group, those that have room for all."""
        if spec.group_policy == GroupPolicy.AFFINITY:
            return [node for node in nodes if self.ledger.free(node) >= count * spec.resources["VCPU"]]
        return [nodes[(index + offset) % len(nodes)] for offset in range(len(nodes))]

    def get_host_state(self, ctxt: RequestContext, namespace: str, name: str) -> objects.HostState:
        if self.unanswered is not None:
            raise self.unanswered
        version, document = self.ledger.store.get_state(namespace, name)
        shown = {**document, "alive": name not in self.down}
        return objects.HostState.of(namespace=namespace, name=name, version=version, document=shown)

    def dry_run(
        self, ctxt: RequestContext, spec: objects.RequestSpec, count: int = 1, scope: str = "all"
    ) -> objects.Decision:
        if self.unanswered is not None:
            raise self.unanswered
        if scope == "rebuild":
            self.image_checks.append((list(spec.force_hosts), dict(spec.image)))
            is_refused = names.host_of(spec.force_hosts[0]) in self.refuse_images
            refusal = {
                "outcome": "refused",
                "reasons": {"image properties": 1},
                "why": "No valid host: 1 image properties",
            }
            document = refusal if is_refused else {"outcome": "selected"}
            return objects.Decision.of(request_id=ctxt.request_id, partition=PARTITION, document=document)
        for name in filter(None, [spec.requested_destination.get("host")]):
            if not any(name in (node, names.host_of(node)) for node in self.ledger.nodes):
                raise errors.UnknownHost(name=name)
        capacity = sum(self.ledger.free(node) for node in set(self._allowed_nodes(spec)) - self.full)
        is_refused = capacity < count * spec.resources["VCPU"]
        why = f"No valid host: 1 {self.full_reason}"
        refusal = {"outcome": "refused", "reasons": {self.full_reason: 1}, "why": why}
        document = refusal if is_refused else {"outcome": "selected"}
        return objects.Decision.of(request_id=ctxt.request_id, partition=PARTITION, document=document)


class FakeClaims:
    """Fake of the claims service. ``down`` is raised by every call while set; ``calls`` has the executed calls."""

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
        intent_list = decode.intents(intents)
        epoch = self.store.snapshot().epoch  # intents of an older epoch are evaluated again
        return encode.prepare_answers(
            PreparedBatch(
                intent_list, self.ledger.prepare(ctxt, intents.spec, intent_list, epoch, 2, fresh=intents.fresh)
            )
        )

    def abort_claims(
        self,
        ctxt: RequestContext,
        refs: objects.ClaimRefs,
        host: str | None = None,
        destinations: list[str | None] | None = None,
    ) -> objects.ClaimAnswers:
        self._begin("abort", ctxt)
        return encode.claim_answers(self.store.abort(decode.refs(refs), host, destinations), Answer.ABORTED)

    def begin_moves(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: Sequence[str]
    ) -> objects.ClaimAnswers:
        self._begin("begin_moves", ctxt)
        return encode.claim_answers(self.store.begin_moves(decode.refs(refs), migrations), Answer.CONFIRMED)

    def end_moves(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: Sequence[str]
    ) -> objects.ClaimAnswers:
        self._begin("end_moves", ctxt)
        return encode.claim_answers(self.store.end_moves(decode.refs(refs), migrations), Answer.CONFIRMED)

    def find_claims(self, ctxt: RequestContext, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        self._begin("find", ctxt)
        return encode.claim_answers(self.store.find(decode.refs(refs)), Answer.CONFIRMED)

    def vouch_for_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        self._begin("vouch", ctxt)
        return encode.claim_answers(self.store.vouch(host, decode.refs(refs)), Answer.CONFIRMED)

    def list_claims(self, ctxt: RequestContext, **criteria: Any) -> objects.ClaimPage:
        self._begin("list", ctxt)
        claims, marker = self.store.claims(**criteria)
        return objects.ClaimPage.of(claims=[encode.claim(claim, 0) for claim in claims], marker=marker)
