# SPDX-License-Identifier: Apache-2.0
"""Context of the step functions during a pass of the saga over a request."""

import functools
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from oslo_log import log

from conductor import metrics
from conductor.collaborators import ServiceClients, summarize_error
from conductor.saga.destinations import destination_spec, unshelve_spec
from conductor.store.migrations import MigrationRecord
from conductor.store.records import BuildRequestRecord, InstanceRecord
from rpcapi import context, objects
from rpcapi.context import RequestContext
from rpcapi.objects.base import GanttObject

LOG = log.getLogger(__name__)

FIRST_RETRY_MS = 500
MAX_RETRY_MS = 30_000


def load_spec(primitive: Mapping[str, Any]) -> objects.RequestSpec:
    spec: objects.RequestSpec = GanttObject.obj_from_primitive(dict(primitive))
    return spec.complete()


def instance_spec(instance: InstanceRecord, request: BuildRequestRecord) -> objects.RequestSpec:
    """Return the request spec of an instance: the request's, unless a resize or rebuild replaced it."""
    return load_spec(request.spec if instance.spec is None else instance.spec)


@dataclass(frozen=True)
class SagaLimits:
    """Limits of attempts and waits in milliseconds; ``call_s`` is in seconds.

    Attributes:
        call_s: Time-out of a call to another service; must be well below the lease.
        shelved_offload_ms: Time until a shelved instance leaves its host; None means only by request.
        resize_confirm_ms: Time until a move is confirmed; None means only by request.
        migrate_max_retries: Further destinations that a live migration tries.
        permits_post_copy: Whether a live migration that is forced to complete may use post-copy.
    """

    max_attempts: int = 3
    build_timeout_ms: int = 300_000
    recast_ms: int = 20_000
    select_timeout_ms: int = 180_000
    call_s: float = 20.0
    shelved_offload_ms: int | None = 0
    resize_confirm_ms: int | None = None
    migrate_max_retries: int = 3
    permits_post_copy: bool = False


class GroupMember(NamedTuple):
    instance: InstanceRecord
    request: BuildRequestRecord


@dataclass(frozen=True)
class StepContext:
    """Clients, limits and request of one pass.

    Attributes:
        now_ms: Store time at the start of the pass.
        jitter: Factor that spreads retries of requests; equal for all instances of a pass, so that they stay in one
            call.
        epoch, may_repeat: Epoch and flag of DueWork.
        is_partial: Whether instances in steps other than ALTERNATE are unfinished, so that hosts may still refuse them.
        exchange_stamps: PartitionStamps.exchange.
        read_group: Returns the recorded members of a group move.
    """

    clients: ServiceClients
    limits: SagaLimits
    request: BuildRequestRecord
    now_ms: int
    jitter: float = field(default_factory=lambda: random.uniform(0.8, 1.2))
    epoch: int = 0
    may_repeat: bool = True
    is_partial: bool = False
    exchange_stamps: Callable[[RequestContext], None] = lambda _ctxt: None
    read_group: Callable[[MigrationRecord], Sequence[GroupMember]] = lambda _migration: ()

    @functools.cached_property
    def spec(self) -> objects.RequestSpec:
        return load_spec(self.request.spec)

    def spec_of(self, instance: InstanceRecord) -> objects.RequestSpec:
        """Return the spec to build: the request's, unless a move, resize or rebuild replaced it."""
        migration = instance.open_migration
        primitive = instance.spec if migration is None or migration.spec is None else migration.spec
        return self.spec if primitive is None else load_spec(primitive)

    def destination_spec(self, instance: InstanceRecord) -> objects.RequestSpec:
        """Return the spec for a selection, restricted to the allowed hosts for a move or an unshelve."""
        spec, migration = self.spec_of(instance), instance.open_migration or instance.evacuation
        if migration is None:
            return unshelve_spec(spec, instance.target, instance.allocations) if instance.is_shelved else spec
        return destination_spec(spec, migration, self.clients.partition)

    def new_ctxt(self) -> RequestContext:
        deadline, request = time.time() + self.limits.call_s, self.request
        return context.new(request.project, request.user, request_id=request.request_id, deadline=deadline)

    def is_certain(self, instance: InstanceRecord) -> bool:
        """Return whether the record names every attempt that a host may run."""
        return not self.may_repeat and instance.certain_epoch == self.epoch

    def check_stores(self, instances: Sequence[InstanceRecord]) -> None:
        """Make restored stores begin an epoch, unless all records are certain.

        Raises one of NO_ANSWER_ERRORS.
        """
        if not all(self.is_certain(instance) for instance in instances):
            self.exchange_stamps(self.new_ctxt())

    def recast_pause(self, waited_ms: int) -> int:
        """Return the pause in milliseconds before the next build message to a silent host."""
        return int(max(self.limits.recast_ms, waited_ms) * self.jitter)

    def retry_later(self, instance: InstanceRecord, reason: Exception | str, *, slower: int = 1) -> InstanceRecord:
        """Postpone the current step; the pause, times ``slower``, doubles with each retry.

        The record counts the retries, so they need no thread and survive the conductor.
        """
        metrics.RETRIES.labels(instance.step.value).inc()
        LOG.debug(
            "Instance %s: step %s postponed: %s",
            instance.uuid,
            instance.step,
            summarize_error(reason) if isinstance(reason, Exception) else reason,
        )
        pause = min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** min(instance.tries, 10)) * slower
        wake_ms = self.now_ms + int(pause * self.jitter)
        return replace(instance, tries=instance.tries + 1, wake_ms=wake_ms)
