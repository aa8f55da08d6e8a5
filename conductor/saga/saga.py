# SPDX-License-Identifier: Apache-2.0
"""Build saga: runs each due step of a request and records the result before the next step."""

import functools
import threading
from collections.abc import Callable, Sequence

from oslo_log import log

from conductor import metrics, milestones
from conductor.claim_answers import MAX_REFS
from conductor.parts import ServiceClients
from conductor.saga import (
    abort,
    alternate,
    cast,
    copy_guests,
    group_moves,
    move_claims,
    move_guests,
    power,
    reconcile,
    resting,
    select,
    wait,
)
from conductor.saga.saga_pass import SagaLimits, SagaPass
from conductor.stamps import PartitionStamps
from conductor.store.interface import ConductorStore
from conductor.store.records import DueWork, InstanceRecord, RequestLease, SagaStep, WriteResult
from rpcapi import tracing
from rpcapi.resources.claims import MAX_INSTANCES

LOG = log.getLogger(__name__)

StepFunction = Callable[[SagaPass, Sequence[InstanceRecord]], list[InstanceRecord]]

# Instances per call of a step function; its result is recorded before the next call.
WHOLE_REQUEST = 1_000_000
MESSAGES = 1000  # Messages of one call; bounded, so that a call stays short.
MOVES = 100  # Claims of a call, changed by a single script.

STEPS: tuple[tuple[SagaStep, StepFunction, int], ...] = (
    # Steps that free capacity come first.
    (SagaStep.ABORT, abort.abort, MAX_REFS // 2),  # two claims per instance
    (SagaStep.TERMINATE, move_guests.terminate, MESSAGES),
    (SagaStep.END_SOURCE, move_guests.end_source, MESSAGES),
    (SagaStep.POWER, power.change_power, MESSAGES),
    (SagaStep.STOP_DESTINATION, move_guests.stop_destination, MESSAGES),
    (SagaStep.END_MOVE, move_claims.end_move, MOVES),
    (SagaStep.RESUME, move_guests.resume, MESSAGES),
    (SagaStep.BEGIN_MOVE, move_claims.begin_move, MOVES),
    (SagaStep.SELECT, select.select, WHOLE_REQUEST),  # A single decision places all instances of a request or none.
    (SagaStep.OFFLOAD, resting.offload, MESSAGES),
    (SagaStep.VERIFY, resting.verify, MESSAGES),
    (SagaStep.UNSHELVE, select.select_each, 10),  # a scheduler call per instance, as in DESTINATION and EVACUATE
    (SagaStep.DESTINATION, select.select_each, 10),
    (SagaStep.STOP_SOURCE, move_guests.stop_source, MESSAGES),
    (SagaStep.EVACUATE, select.select_each, 10),
    (SagaStep.PREPARE_COPY, copy_guests.prepare_copy, 2),  # two agent calls per instance
    (SagaStep.COPY, copy_guests.copy, 100),
    (SagaStep.SWITCH, copy_guests.switch, 100),
    (SagaStep.SETTLE, reconcile.settle, 2),  # two agent calls per instance
    (SagaStep.WAIT, wait.wait, MESSAGES),
    (SagaStep.ALTERNATE, alternate.alternate, MAX_INSTANCES),  # a single script claims for a whole affinity group
    (SagaStep.CAST, cast.build, MESSAGES),
)


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
            saga_pass = SagaPass(
                self._clients,
                self.limits,
                work.request,
                work.now_ms,
                epoch=work.epoch,
                may_repeat=work.may_repeat,
                is_partial=_is_partial(work),
                exchange_stamps=self._stamps.exchange,
                read_group=functools.partial(group_moves.read_group, self._store),
            )
            saga_pass.context().update_store()
            if new:
                LOG.info("Took over this request: the lease of its conductor expired")
                new = False
            for step, run_step, max_instances in STEPS:
                due = [instance for instance in work.instances if instance.step == step]
                for start in range(0, len(due), max_instances):
                    self._run_step(lease, saga_pass, due[start : start + max_instances], run_step)

    def _run_step(
        self, lease: RequestLease, saga_pass: SagaPass, group: Sequence[InstanceRecord], run_step: StepFunction
    ) -> None:
        step = group[0].step.value
        metrics.STEPS.labels(step).inc()
        metrics.STEP_AGE.labels(step).observe(max(0, saga_pass.now_ms - group[0].updated_ms) / 1000)
        # The write skips records that have changed since the pass began; the next pass runs their new steps.
        with (
            metrics.STEP_SECONDS.labels(step).time(),
            tracing.span(f"conductor.{step}", saga_pass.request.request_id),
        ):
            changed = run_step(saga_pass, group)
        milestones.report_changes(group, changed, self._write(lease, changed).stale)

    def _write(self, lease: RequestLease, changed: Sequence[InstanceRecord]) -> WriteResult:
        """Write changed group members in other requests first, then the leased request's records."""
        others = [record for record in changed if record.request != lease.request]
        if others:
            self._store.write_without_lease(others, wake=True)
        return self._store.write(lease, [record for record in changed if record.request == lease.request])


def _is_partial(work: DueWork) -> bool:
    """Return whether the request has unfinished instances in steps other than ALTERNATE."""
    return work.next_ms is not None or any(instance.step != SagaStep.ALTERNATE for instance in work.instances)
