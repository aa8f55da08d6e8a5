# SPDX-License-Identifier: Apache-2.0
"""Dry run: a decision without claims and without a decision record."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.validation.hints import named_instances
from scheduler_svc.core.records import ClaimBatch, Intent
from scheduler_svc.core.request import FilterScope, SchedulingRequest
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.decisions import refusal_document
from scheduler_svc.scheduling.intake import RequestRewriter
from scheduler_svc.scheduling.partition_router import PartitionRouter
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import CurrentPolicy
from scheduler_svc.scheduling.shadow import ShadowStore
from scheduler_svc.store.interface import Store

ANSWER = "dry run"
LIMITS = SchedulingLimits(max_tries=2)  # A table behind the store decides twice.


class DryRun:
    """Decisions on the same table as selections, without changes. Thread-safe."""

    def __init__(self, current: CurrentPolicy, partitions: OpenPartitions, rewriter: RequestRewriter) -> None:
        self._current = current
        self._partitions = partitions
        self._rewriter = rewriter

    def decide(self, ctxt: RequestContext, request: SchedulingRequest, count: int) -> tuple[str, dict[str, Any]]:
        """Decide for ``count`` instances. Return the partition and the document of the decision.

        Raises the errors of a selection except NoValidHost and claim errors. Raises CallerRefused if a hint names an
        instance of a different project, because the answer would reveal that instance's host.
        """
        self._check_hints(ctxt.sender_project, request)
        policy = self._current.policy
        policy.driver_for(request)
        consumers = [f"instance {number}" for number in range(1, count + 1)]
        call = SelectionCall(ctxt, request, consumers, explains=True, fresh=True)
        if request.scope is FilterScope.ALL:
            try:
                call = replace(call, request=self._rewriter.rewrite(policy, request))
            except errors.NoValidHost as error:
                own = self._partitions.own
                record = refusal_document(call, own.replica.log_position, policy.driver_name(request), error)
                return own.name, _document(record, [], error)
        batches: list[tuple[str, ClaimBatch]] = []

        def stand_in(partition: OpenPartition) -> OpenPartition:
            def keep(batch: ClaimBatch) -> None:
                batches.append((partition.name, batch))

            store = ShadowStore(partition.store, record=lambda request_id, document: None, on_decided=keep)
            return OpenPartition(cast("Store", store), partition.replica)

        router = PartitionRouter(
            OpenPartitions(list(map(stand_in, self._partitions)), self._partitions.own.name),
            lambda partition: PartitionScheduler(partition.store, partition.replica, LIMITS),
            claim_ttl_s=0.0,
        )
        refusal = None
        try:
            router.select(policy, call)
        except errors.NotClaimed:
            pass
        except errors.NoValidHost as error:
            refusal = error
        partition, batch = batches[-1]
        return partition, _document(batch.record or {}, batch.intents, refusal)

    def _check_hints(self, project: str | None, request: SchedulingRequest) -> None:
        if project is None or not request.hints:
            return
        for consumer in sorted(named_instances(request.hints)):
            for partition in self._partitions:
                for claim in partition.store.claims(consumer=consumer)[0]:
                    if claim.project != project:
                        raise errors.CallerRefused(
                            caller=f"a client of project {project!r}",
                            service="scheduler",
                            method="dry_run",
                            why=f"a hint names instance {consumer} of another project",
                        )


def _document(
    record: Mapping[str, Any], intents: Sequence[Intent], refusal: errors.NoValidHost | None
) -> dict[str, Any]:
    candidates = [] if refusal else [[candidate.host for candidate in intent.candidates] for intent in intents]
    return {
        **record,
        "at_ms": round(1000 * time.time()),
        "dry_run": True,
        "outcome": "refused" if refusal else "selected",
        "candidates": candidates,
        "verdicts": [
            {"consumer": intent.consumer, "answer": ANSWER, "host": names[0], "tried": []}
            for intent, names in zip(intents, candidates, strict=False)
        ],
        **({"why": refusal.sentence} if refusal else {}),
    }
