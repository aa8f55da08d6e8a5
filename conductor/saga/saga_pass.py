# SPDX-License-Identifier: Apache-2.0
"""One pass of the saga over a request: the context that step functions get."""

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from oslo_log import log

from conductor import metrics
from conductor.saga.destinations import destination_spec, unshelve_spec
from conductor.service_clients import ServiceClients, summarize_error
from conductor.store.migrations import MigrationRecord
from conductor.store.records import BuildRequestRecord, InstanceRecord
from rpcapi import context, objects
from rpcapi.context import RequestContext
from rpcapi.objects.base import GanttObject

LOG = log.getLogger(__name__)

FIRST_RETRY_MS = 500
MAX_RETRY_MS = 30_000


def load_spec(primitive: Mapping[str, Any]) -> objects.RequestSpec:
    """Return the request spec of a stored primitive, with all fields."""
    return GanttObject.obj_from_primitive(dict(primitive)).complete()


def instance_spec(instance: InstanceRecord, request: BuildRequestRecord) -> objects.RequestSpec:
    """Return the request spec of an instance: that of its request, or what a resize or a rebuild made of it."""
    return load_spec(request.spec if instance.spec is None else instance.spec)


@dataclass(frozen=True)
class SagaLimits:
    """Limits of attempts and waits, in milliseconds; ``call_s`` in seconds.

    ``call_s`` is the time-out of a call to another service and must be well below the lease. A shelved instance keeps
    its host for ``shelved_offload_ms``; None: until it is offloaded by request. A move is confirmed after
    ``resize_confirm_ms``; None: by request only. A live migration is tried ``migrate_max_retries`` times more on other
    hosts; ``permits_post_copy``: one that is forced to complete does so by post-copy.
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
    """An instance that moves with others of its affinity group, and its request."""

    instance: InstanceRecord
    request: BuildRequestRecord


@dataclass(frozen=True)
class SagaPass:
    """Service clients, limits and the request; ``now_ms`` is the store's time at the start of the pass.

    ``epoch`` is the store's, ``may_repeat`` as in DueWork. ``is_partial``: other instances of the request than those in
    step ALTERNATE have a step too, so that their hosts may still refuse them. ``exchange_stamps`` is that of
    PartitionStamps. ``read_group`` returns the members that move together with a migration, as they are recorded now.

    ``jitter`` spreads the retries of different requests. It is the same for all instances of a pass, so that they
    stay together in one call.
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
        """The request spec."""
        return load_spec(self.request.spec)

    def spec_of(self, instance: InstanceRecord) -> objects.RequestSpec:
        """Return what is built as the instance: the request, or what a resize or a rebuild made of it."""
        migration = instance.open_migration
        primitive = instance.spec if migration is None or migration.spec is None else migration.spec
        return self.spec if primitive is None else load_spec(primitive)

    def destination_spec(self, instance: InstanceRecord) -> objects.RequestSpec:
        """Return the request for a host of the instance: for one that moves or is unshelved, where it may go."""
        spec, migration = self.spec_of(instance), instance.open_migration or instance.evacuation
        if migration is None:
            return unshelve_spec(spec, instance.target, instance.allocations) if instance.is_shelved else spec
        return destination_spec(spec, migration, self.clients.partition)

    def context(self) -> RequestContext:
        """Return a context of this request with the deadline of one call."""
        request_context = context.new(self.request.project, self.request.user, request_id=self.request.request_id)
        return request_context.with_timeout(self.limits.call_s)

    def is_certain(self, instance: InstanceRecord) -> bool:
        """Return whether the record is certain to name every attempt that may run on a host."""
        return not self.may_repeat and instance.certain_epoch == self.epoch

    def check_stores(self, instances: Sequence[InstanceRecord]) -> None:
        """Let stores that were restored from a backup begin an epoch, unless all records are certain.

        What such a store forgot may run. Raises one of NO_ANSWER_ERRORS where a partition cannot be checked.
        """
        if not all(self.is_certain(instance) for instance in instances):
            self.exchange_stamps(self.context())

    def recast_pause(self, waited_ms: int) -> int:
        """Return the milliseconds until the next build message to a host that was silent for ``waited_ms``."""
        return int(max(self.limits.recast_ms, waited_ms) * self.jitter)

    def retry_later(self, instance: InstanceRecord, reason: Exception | str, *, slower: int = 1) -> InstanceRecord:
        """Return ``instance`` with the same step postponed; the pause doubles with each retry.

        The record counts the retries, so they need no thread and continue if a conductor dies. ``slower`` multiplies
        the pause.
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
