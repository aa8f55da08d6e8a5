# SPDX-License-Identifier: Apache-2.0
"""Periodic comparison of ACTIVE records with their claims: a record shows what is true of its host.

A fence, a lost journal or a forgotten write of a record changes no record by itself: the conductor may be down then.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from oslo_log import log

from conductor import metrics, milestones
from conductor.saga.transitions import end_attempt, finish, set_step
from conductor.service_clients import NO_ANSWER_ERRORS, ServiceClients, summarize_error
from conductor.store.interface import PAGE, ConductorStore
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi import context, errors, objects
from rpcapi.background import BackgroundLoop
from rpcapi.resources import names
from rpcapi.resources.claims import Answer

LOG = log.getLogger(__name__)

ENDS = frozenset({Answer.RELEASED, Answer.ABORTED, Answer.EXPIRED, Answer.FENCED})
CALL_SECONDS = 20.0
PAGE_PAUSE = 0.5  # seconds between two pages: the comparison must not slow other calls down
JITTER = 0.2  # fraction of the interval, plus or minus, so that conductors do not compare at once


class RecordReconciler(BackgroundLoop):
    """Compares all ACTIVE records with their claims, one page at a time, once in ``interval`` seconds.

    A record whose claim was fenced goes to ERROR. One whose claim ended otherwise does so when the next comparison
    finds the same, because the report of its host may be on its way. One whose claim is on another host, or of a later
    attempt, continues with that claim. ``wake`` is called when there is work for the saga.
    """

    def __init__(
        self, store: ConductorStore, clients: ServiceClients, wake: Callable[[], None], interval: float
    ) -> None:
        super().__init__("reconciler")
        self._store = store
        self._clients = clients
        self._wake_saga = wake
        self._interval = interval
        self._marker: str | None = None
        self._ended: set[tuple[str, int]] = set()  # attempts whose claim has ended, as of this comparison
        self._ended_before: set[tuple[str, int]] = set()  # and as of the one before

    def run_once(self) -> float:
        """Compare one page; return the seconds to the next one."""
        page = self._store.page(self._marker, PAGE, deleted=False)
        self._compare([instance for instance in page.instances if _is_settled(instance)])
        self._marker = page.marker
        if page.marker is not None:
            return PAGE_PAUSE
        self._ended_before, self._ended = self._ended, set()
        return self._interval * random.uniform(1 - JITTER, 1 + JITTER)

    def handle_failure(self, error: Exception) -> float:
        """Log an outage in one line, and any other error with its traceback."""
        if isinstance(error, errors.Unavailable):
            LOG.warning("Comparison of records with claims failed; retrying: %s", summarize_error(error))
        else:
            LOG.exception("Comparison of records with claims failed; retrying")
        return self._interval

    def _compare(self, instances: Sequence[InstanceRecord]) -> None:
        updates = [update for partition in _by_partition(instances) for update in self._updates(*partition)]
        if not updates:
            return
        final_records = [record for record in updates if record.step == SagaStep.DONE]
        unfinished = [record for record in updates if record.step != SagaStep.DONE]
        stale = set(self._store.write_without_lease(final_records, wake=False).stale) if final_records else set()
        if unfinished:
            stale |= self._store.write_without_lease(unfinished, wake=True).stale
            self._wake_saga()
        metrics.RECONCILED.inc(len(updates) - len(stale))
        milestones.log_changes(instances, updates, stale)

    def _updates(self, partition: str | None, instances: Sequence[InstanceRecord]) -> Iterator[InstanceRecord]:
        refs = objects.ClaimRefs.of(
            consumers=[instance.uuid for instance in instances], attempts=[instance.attempt for instance in instances]
        )
        try:
            claims = self._clients.claims_of(partition)
            answers = claims.find_claims(context.new().with_timeout(CALL_SECONDS), refs)
        except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
            LOG.warning(
                "Comparison of %d records with claims of partition %s failed; the next one repeats it: %s",
                len(instances),
                partition or self._clients.partition,
                summarize_error(error),
            )
            return
        for instance, answer, host in zip(instances, answers.answers, answers.hosts, strict=True):
            update = self._update(instance, answer, host)
            if update is not None:
                yield update

    def _update(self, instance: InstanceRecord, answer: str, host: str | None) -> InstanceRecord | None:
        """Return the record as its claim changes it, or None."""
        if answer == Answer.CONFLICT or (answer == Answer.CONFIRMED and host != instance.host):
            return set_step(instance, SagaStep.SETTLE, status=InstanceStatus.BUILDING)
        if answer not in ENDS:
            return None
        attempt = (instance.uuid, instance.attempt)
        if answer != Answer.FENCED and attempt not in self._ended_before:
            self._ended.add(attempt)
            return None
        fate = "was fenced" if answer == Answer.FENCED else f"no longer runs it: its claim was {answer}"
        reason = f"host {names.host_of(instance.host or '')} {fate}"
        return finish(end_attempt(instance, "lost", reason), InstanceStatus.ERROR, reason=reason)


def _is_settled(instance: InstanceRecord) -> bool:
    return instance.status == InstanceStatus.ACTIVE and instance.step == SagaStep.DONE


def _by_partition(instances: Iterable[InstanceRecord]) -> list[tuple[str | None, list[InstanceRecord]]]:
    groups: dict[str | None, list[InstanceRecord]] = {}
    for instance in instances:
        groups.setdefault(instance.partition, []).append(instance)
    return list(groups.items())
