# SPDX-License-Identifier: Apache-2.0
"""Intake of calls: resolves hints, applies prefilters, then selects, or decides without claims."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.validation.hints import named_instances, single_value
from scheduler_svc.core.prefilters import pipeline
from scheduler_svc.core.records import BatchAnswer, ClaimBatch, Intent
from scheduler_svc.core.request import FilterScope, SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.ranking import rank
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.scheduling import failing_hosts, refusals
from scheduler_svc.scheduling.calls import CallOrError, SelectionCall, SelectionOutcome, ServedCall
from scheduler_svc.scheduling.decisions import record_refusal, refusal_document
from scheduler_svc.scheduling.partition_router import PartitionRouter
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, RetryLimits
from scheduler_svc.scheduling.ranking import CurrentPolicy, SchedulingPolicy
from scheduler_svc.scheduling.server_groups import add_group_members
from scheduler_svc.scheduling.shadow import ShadowStore
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import GroupHome, GroupMembership

Outcome = TypeVar("Outcome", bound=SelectionOutcome)

SOURCE_PARTITION_HINT = "source_partition"  # hint of a move: partition of the instance


class HostStateAge(Protocol):
    """Age of the state of hosts that another system reports."""

    def now_ms(self) -> float:
        """Return the store's clock; raises StoreUnavailable. Do not call inside a view's block."""

    def check(self, view: View, request: SchedulingRequest, now_ms: float) -> SchedulingRequest:
        """Note in the request's decision context if the state is too old; raises NoValidHost if it is far too old."""


class RequestRewriter:
    """Resolves hints and applies prefilters. Thread-safe."""

    def __init__(self, partitions: OpenPartitions, state_age: HostStateAge | None = None) -> None:
        self._partitions = partitions
        self._state_age = state_age

    def rewrite(self, policy: SchedulingPolicy, request: SchedulingRequest) -> SchedulingRequest:
        """Resolve the request's hints and apply prefilters.

        Raises NoValidHost or InvalidSpec if a prefilter rejects the request, NoValidHost if the state of hosts is too
        old, and StoreUnavailable if no partition answers about hinted instances.
        """
        if request.hints:
            source = single_value(request.hints.get(SOURCE_PARTITION_HINT))
            request = replace(
                request.with_decision(instance_hosts=self._find_instance_hosts(request)),
                source_partition=source if isinstance(source, str) else request.source_partition,
            )
        clock_ms = 0.0 if self._state_age is None else self._state_age.now_ms()
        with self._partitions.own.replica.unchecked_table.reading() as view:
            if self._state_age is not None:
                request = self._state_age.check(view, request, clock_ms)
            return pipeline.run(policy.prefilters, request, view.aggregates)

    def _find_instance_hosts(self, request: SchedulingRequest) -> Mapping[str, str]:
        instances = named_instances(request.hints)
        if not instances:
            return {}
        instance_hosts: dict[str, str] = {}
        failures: list[errors.StoreUnavailable] = []
        partitions = [partition for partition in self._partitions if not partition.presence.away] or [
            self._partitions.own
        ]
        for partition in partitions:
            try:
                instance_hosts |= partition.store.hosts_of(sorted(instances))
            except errors.StoreUnavailable as error:
                partition.presence.record_failure()
                failures.append(error)
        # Nothing can be claimed in an unavailable partition, so its instances do not matter.
        if len(failures) == len(partitions):
            raise failures[0]
        return instance_hosts


class RequestIntake:
    """Entry point of calls: reads the current policy, rewrites the request and selects hosts."""

    def __init__(
        self,
        current: CurrentPolicy,
        scheduler: PartitionScheduler | PartitionRouter,
        rewriter: RequestRewriter,
        partitions: OpenPartitions,
    ) -> None:
        self._current = current
        self._scheduler = scheduler
        self._rewriter = rewriter
        self._partitions = partitions

    def select(self, ctxt: RequestContext, call: SelectionCall) -> ServedCall:
        """Select and claim a host for every consumer, or for none. Raises like PartitionScheduler.select."""
        policy = self._current.policy
        rewritten = self._rewrite(policy, call)
        try:
            return self._scheduler.select(policy, ctxt, rewritten)
        except (errors.NoValidHost, errors.PluginFailed) as error:
            raise self._note(policy, rewritten, error) from error.__cause__

    def select_batch(self, calls: Sequence[CallOrError]) -> list[SelectionOutcome]:
        policy = self._current.policy
        rewritten = [self._try_rewrite(policy, call) for call in calls]
        ready = [call for call in rewritten if isinstance(call, tuple)]
        outcomes = iter(self._scheduler.select_batch(policy, [ctxt for ctxt, _ in ready], [call for _, call in ready]))
        return [self._note(policy, call[1], next(outcomes)) if isinstance(call, tuple) else call for call in rewritten]

    def _note(self, policy: SchedulingPolicy, call: SelectionCall, outcome: Outcome) -> Outcome | errors.GanttError:
        if isinstance(outcome, errors.NoValidHost):
            refusals.count(outcome)
            return refusals.with_state_age(outcome, call.request)
        if isinstance(outcome, errors.PluginFailed):
            self._record(policy, call, outcome)
        return outcome

    def _try_rewrite(self, policy: SchedulingPolicy, call: CallOrError) -> CallOrError:
        if isinstance(call, errors.GanttError):
            return call
        ctxt, own = call
        try:
            return ctxt, self._rewrite(policy, own)
        except errors.GanttError as error:
            return error

    def _rewrite(self, policy: SchedulingPolicy, call: SelectionCall) -> SelectionCall:
        policy.driver_for(call.request)
        try:
            return replace(call, request=self._rewriter.rewrite(policy, call.request))
        except (errors.NoValidHost, errors.InvalidSpec) as error:
            self._record(policy, call, error)
            raise

    def _record(self, policy: SchedulingPolicy, call: SelectionCall, cause: errors.GanttError) -> None:
        own = self._partitions.own
        record_refusal(own.store, call, own.replica.log_position, policy.driver_name(call.request), cause)


ANSWER = "dry run"
LIMITS = RetryLimits(max_tries=1)


class DryRunStore(ShadowStore):
    """Store that only appends (partition, batch) to ``batches``. Groups go to the partition with their members."""

    def __init__(self, store: Store, batches: list[tuple[str, ClaimBatch]]) -> None:
        super().__init__(store, record=lambda request_id, document: None)
        self.partition, self.accepts_claims = store.partition, store.accepts_claims
        self._batches = batches

    def record_answer(self, batch: ClaimBatch, answer: BatchAnswer) -> None:
        self._batches.append((self.partition, batch))

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        return partition

    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        return GroupHome(partition, "")

    def leave_group(
        self, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool = False
    ) -> GroupMembership:
        return GroupMembership(sum(self.group_hosts(group_id).values()), may_have_forgotten=False)


class DryRun:
    """Decides on the same table as selections, without changes. Thread-safe."""

    def __init__(self, current: CurrentPolicy, partitions: OpenPartitions, rewriter: RequestRewriter) -> None:
        self._current = current
        self._partitions = partitions
        self._rewriter = rewriter

    def decide(self, ctxt: RequestContext, request: SchedulingRequest, count: int) -> tuple[str, dict[str, Any]]:
        """Decide for ``count`` instances; return (partition, document of the decision).

        Raises the errors of a selection except NoValidHost and claim errors, and CallerRefused for hints that name
        another project's instance, because the answer would reveal its host.
        """
        self._check_hints(ctxt.sender_project, request)
        policy = self._current.policy
        policy.driver_for(request)
        consumers = [f"instance {number}" for number in range(1, count + 1)]
        call = SelectionCall(request, consumers, explains=True, fresh=True)
        if request.scope is FilterScope.ALL:
            try:
                call = replace(call, request=self._rewriter.rewrite(policy, request))
            except errors.NoValidHost as error:
                own = self._partitions.own
                record = refusal_document(call, own.replica.log_position, policy.driver_name(request), error)
                return own.name, _document(record, [], error)
        batches: list[tuple[str, ClaimBatch]] = []
        partitions = OpenPartitions(
            [
                OpenPartition(cast("Store", DryRunStore(partition.store, batches)), partition.replica)
                for partition in self._partitions
            ],
            self._partitions.own.name,
        )
        router = PartitionRouter(partitions, _make_scheduler, claim_ttl_s=0.0)
        refusal = None
        try:
            router.select(policy, ctxt, call)
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


def _make_scheduler(partition: OpenPartition) -> PartitionScheduler:
    return PartitionScheduler(partition.store, partition.replica, LIMITS)


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


class UnclaimedRanker:
    """Ranks on this worker's table alone. Thread-safe."""

    def __init__(self, current: CurrentPolicy, partitions: OpenPartitions, rewriter: RequestRewriter) -> None:
        self._current = current
        self._partitions = partitions
        self._rewriter = rewriter

    def with_group_members(self, call: SelectionCall) -> SchedulingRequest:
        """Add the server group's members to the call's request. Raises StoreUnavailable."""
        return add_group_members(self._partitions.own.store, call)

    def rank(
        self, ctxt: RequestContext, request: SchedulingRequest, count: int, *, rewrites: bool
    ) -> Sequence[Sequence[str]]:
        """Return the candidates of each of ``count`` instances, best first. Raises NoValidHost.

        ``rewrites`` applies prefilters and provider trees, as for all Nova requests except rebuilds.
        """
        ctxt.check_deadline()
        policy = self._current.policy
        driver = policy.driver_for(request)
        table = self._partitions.own.replica.table
        if rewrites:
            request = self._rewriter.rewrite(policy, request)
        with table.reading() as view:
            rank_hosts = partial(rank, driver) if rewrites else driver.rank
            ranking = failing_hosts.decide(view, lambda view: rank_hosts(view, request, count, request.seed))
        if not ranking.candidates:
            raise refusals.no_valid_host(ranking.reasons)
        return ranking.candidates
