# SPDX-License-Identifier: Apache-2.0
"""Preparation of requests before ranking: resolves hints and applies prefilters."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from rpcapi import errors
from rpcapi.validation.hints import named_instances
from scheduler_svc.core.prefilters import pipeline
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.table.view import View
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.calls import CallOrError, SelectionCall, SelectionOutcome, ServedCall
from scheduler_svc.scheduling.decisions import record_refusal
from scheduler_svc.scheduling.partition_router import PartitionRouter
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler
from scheduler_svc.scheduling.ranking import CurrentPolicy, SchedulingPolicy

Outcome = TypeVar("Outcome", bound=SelectionOutcome)


class HostStateAge(Protocol):
    """Age of host state that an external system reports."""

    def now_ms(self) -> float:
        """Return the store's clock. Raises StoreUnavailable. May read the store: do not call inside a view's block."""

    def check(self, view: View, request: SchedulingRequest, now_ms: float) -> SchedulingRequest:
        """Note the age of old state in the request's decision context. Raises NoValidHost if it is far too old."""


class RequestRewriter:
    """Resolves hints and applies prefilters. Thread-safe."""

    def __init__(self, partitions: OpenPartitions, state_age: HostStateAge | None = None) -> None:
        self._partitions = partitions
        self._state_age = state_age

    def rewrite(self, policy: SchedulingPolicy, request: SchedulingRequest) -> SchedulingRequest:
        """Resolve hints and host names, and apply prefilters. Raises NoValidHost, InvalidSpec and StoreUnavailable."""
        if request.hints:
            request = request.with_decision(instance_hosts=self._find_instance_hosts(request))
        clock_ms = 0.0 if self._state_age is None else self._state_age.now_ms()
        table = self._partitions.own.replica.unchecked_table
        with table.reading() as view:
            if self._state_age is not None:
                request = self._state_age.check(view, request, clock_ms)
            request = _spell_hosts(table, request)
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


def _spell_hosts(table: HostTable, request: SchedulingRequest) -> SchedulingRequest:
    """Replace the names of forced and ignored hosts by their spellings in the table."""
    if not request.force_hosts and not request.ignore_hosts:
        return request
    force_hosts, ignore_hosts = (
        tuple(spelling for name in names for spelling in table.spellings(name))
        for names in (request.force_hosts, request.ignore_hosts)
    )
    return replace(request, force_hosts=force_hosts, ignore_hosts=ignore_hosts)


class RequestIntake:
    """Entry point of selection calls: rewrites each request and selects hosts, under the current policy."""

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

    def select(self, call: SelectionCall) -> ServedCall:
        """Select and claim a host for every consumer, or for none. Raises like PartitionScheduler.select."""
        policy = self._current.policy
        rewritten = self._rewrite(policy, call)
        try:
            return self._scheduler.select(policy, rewritten)
        except (errors.NoValidHost, errors.PluginFailed) as error:
            raise self._note(policy, rewritten, error) from error.__cause__

    def select_batch(self, calls: Sequence[CallOrError]) -> list[SelectionOutcome]:
        policy = self._current.policy
        rewritten = [self._try_rewrite(policy, call) for call in calls]
        ready = [call for call in rewritten if isinstance(call, SelectionCall)]
        outcomes = iter(self._scheduler.select_batch(policy, ready))
        return [
            self._note(policy, call, next(outcomes)) if isinstance(call, SelectionCall) else call for call in rewritten
        ]

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
        try:
            return self._rewrite(policy, call)
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
