# SPDX-License-Identifier: Apache-2.0
"""Build saga: runs each due step of a request and records the result before the next step."""

import functools
import threading
from collections.abc import Sequence
from dataclasses import replace

from oslo_log import log

from conductor import metrics, milestones
from conductor.collaborators import ServiceClients
from conductor.saga import group_moves
from conductor.saga.step_context import SagaLimits, StepContext
from conductor.saga.steps import STEPS, Step
from conductor.stamps import PartitionStamps
from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceRecord, RequestLease, SagaStep, WriteResult
from rpcapi import tracing

LOG = log.getLogger(__name__)


class BuildSaga:
    """Stateless executor of due steps: a first run, a retry and a takeover are the same."""

    def __init__(
        self, store: ConductorStore, clients: ServiceClients, limits: SagaLimits, stopping: threading.Event
    ) -> None:
        self._store = store
        self._clients = clients
        self.limits = limits  # replaced when the configuration is reloaded
        self._stopping = stopping
        self._stamps = PartitionStamps(store, clients.scheduler)

    def advance(self, lease: RequestLease) -> None:
        """Run all due steps, then release the lease; after a stop, finish only the current pass.

        Raises LeaseLost or StoreUnavailable; another conductor then continues.
        """
        new = lease.is_takeover
        while True:
            work = self._store.load(lease)
            if not work.instances or self._stopping.is_set():
                self._store.release(lease, work.now_ms if work.instances else work.next_ms)
                return
            context = StepContext(
                self._clients,
                self.limits,
                work.request,
                work.now_ms,
                epoch=work.epoch,
                may_repeat=work.may_repeat,
                is_partial=work.next_ms is not None
                or any(instance.step != SagaStep.ALTERNATE for instance in work.instances),
                exchange_stamps=self._stamps.exchange,
                read_group=functools.partial(group_moves.read_group, self._store),
            )
            context.new_ctxt().update_store()
            if new:
                LOG.info("Took over this request: the lease of its conductor expired")
                new = False
            for step in STEPS:
                due = [instance for instance in work.instances if instance.step == step.name]
                for start in range(0, len(due), step.max_instances):
                    self._run_step(lease, context, due[start : start + step.max_instances], step)

    def _run_step(self, lease: RequestLease, context: StepContext, group: Sequence[InstanceRecord], step: Step) -> None:
        metrics.STEPS.labels(step.name.value).inc()
        metrics.STEP_AGE.labels(step.name.value).observe(max(0, context.now_ms - group[0].updated_ms) / 1000)
        # The write skips records that have changed since the pass began; the next pass runs their new steps.
        with (
            metrics.STEP_SECONDS.labels(step.name.value).time(),
            tracing.span(f"conductor.{step.name}", context.request.request_id),
        ):
            changed = step.run(context, group)
        changed = self._postpone_undeclared(context, group, step, changed)
        milestones.report_changes(group, changed, self._write(lease, changed).stale)

    def _postpone_undeclared(
        self, context: StepContext, group: Sequence[InstanceRecord], step: Step, changed: Sequence[InstanceRecord]
    ) -> list[InstanceRecord]:
        """Retry ``step`` for instances in which it set an undeclared step, so that they hold up no others."""
        former = {instance.uuid: instance for instance in group}
        declared = []
        for record in changed:
            if step.may_set(record.step):
                declared.append(record)
                continue
            reason = f"internal error: step {record.step} must not follow {step.name}"
            LOG.error("Instance %s: %s; retrying", record.uuid, reason)
            if record.uuid in former:
                declared.append(replace(context.retry_later(former[record.uuid], reason), reason=reason))
        return declared

    def _write(self, lease: RequestLease, changed: Sequence[InstanceRecord]) -> WriteResult:
        """Write changed group members in other requests first, then the leased request's records."""
        others = [record for record in changed if record.request != lease.request]
        if others:
            self._store.write_without_lease(others, wake=True)
        return self._store.write(lease, [record for record in changed if record.request == lease.request])
