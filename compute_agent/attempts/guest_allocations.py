# SPDX-License-Identifier: Apache-2.0
"""Guest manager: keeps journal, resource tracker and guests of a service host consistent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt, AttemptRef, ClaimEnd, Stage
from compute_agent.attempts.activity import NodeActivity
from compute_agent.attempts.isolation import AuditDue, AuditDuty
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalDamaged
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.simulator.hypervisor import Hypervisor, SpawnFailed
from rpcapi.objects.copy import FAILED
from rpcapi.resources.statuses import AttemptResult

LOG = log.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GuestManager:
    """Journal, tracker, guests and activity of a service host; only the host's serial queue writes.

    Only ``spawn`` starts guests, and never while ``audit_duty`` is due. A host with a ``refusal`` takes no new guests.
    """

    host: str
    journal: Journal
    tracker: ResourceTracker
    hypervisor: Hypervisor
    audit_duty: AuditDuty
    refusal: str = ""
    activity: NodeActivity = field(default_factory=NodeActivity)

    def open(self) -> None:
        """Take over from the previous agent and reconcile guests with the journal.

        No guest may run without a confirmed claim, and every spawn is journalled. So:

        - A guest without a live attempt is left from an interrupted stop: it is stopped.
        - A missing or damaged guest of a live attempt was lost with its machine: it is spawned again under its claim,
          powered off if it was stopped.
        - A missing incoming guest has lost its copied data: its attempt fails.

        Raises JournalDamaged, NewerState, ValueError and OSError.
        """
        damaged = self.hypervisor.open()
        self.journal.open()
        guests = self.hypervisor.list()
        guest_count = len(guests) + len(damaged)
        if guest_count and not self.journal.all():
            raise JournalDamaged(
                f"host {self.host} has {guest_count} guests but an empty journal: restore the journal, or remove the "
                "guests folder to delete the guests"
            )
        for attempt in self.journal.live():
            self.tracker.hold(attempt)
        self.activity.begin(attempt for attempt in self.journal.unreported() if attempt.live)
        for guest in guests:
            guest_attempt = self.journal.get(guest.ref)
            if guest_attempt is None or not guest_attempt.live:
                LOG.warning("Stopping guest %s (attempt %d): it has no live claim", *guest.ref)
                self.hypervisor.stop(guest.ref)
        for attempt in self.journal.at(Stage.STOPPED):
            if attempt.copy is None or attempt.copy.phase == FAILED:  # other copies need the guest's memory
                self.hypervisor.power_off(attempt.ref)
        self._report_damaged(damaged)
        lost_refs = [
            attempt.ref for attempt in self.journal.at(Stage.SPAWNED) if not self.hypervisor.is_on(attempt.ref)
        ]
        for ref in lost_refs:
            LOG.warning("Guest %s (attempt %d) was lost with its host or is off; starting it again", *ref)
        self.journal.advance(lost_refs, Stage.CONFIRMED)
        stopped = self._without_guests(Stage.STOPPED)
        self.journal.put([replace(attempt, stage=Stage.CONFIRMED, starts_off=True) for attempt in stopped])
        reason = "the guest was lost before it was received"
        now_ms = self.journal.clock()
        self.end_attempts(
            [
                attempt.to_ended(AttemptResult.FAILED, reason, ClaimEnd.RELEASE, now_ms)
                for attempt in self._without_guests(Stage.INCOMING)
            ]
        )
        for provider, excess in self.tracker.excess().items():
            LOG.warning("Provider %s is over capacity by %s", provider, excess)

    def _without_guests(self, stage: Stage) -> list[Attempt]:
        return [attempt for attempt in self.journal.at(stage) if self.hypervisor.get(attempt.ref) is None]

    def _report_damaged(self, uuids: Iterable[str]) -> None:
        for uuid in uuids:
            metrics.DAMAGED_GUESTS.inc()
            live = [attempt for attempt in self.journal.of_instance(uuid) if attempt.live]
            for attempt in live:
                LOG.error("Guest %s lost its state; the journal has attempt %d as %s", *attempt.ref, attempt.stage)
            if not live:
                LOG.warning("Ignored the damaged file of guest %s: it has no live claim", uuid)

    def hold(self, attempt: Attempt) -> None:
        """Count the attempt's resources as used, and its build as in progress. Idempotent."""
        with self.activity.lock:
            self.activity.begin([attempt])
            self.tracker.hold(attempt)

    def drop(self, attempt: Attempt) -> None:
        """Free the resources of an attempt, and end its build with the attempt's outcome."""
        with self.activity.lock:
            self.tracker.drop(attempt.ref)
            self.activity.end([attempt])

    def spawn(self, attempts: Iterable[Attempt]) -> list[tuple[Attempt, str]]:
        """Spawn the guests of confirmed attempts, powered off or paused if requested.

        Returns (failed attempt, reason) pairs. Stops when an audit becomes due.
        """
        refs: dict[Stage, list[AttemptRef]] = {Stage.SPAWNED: [], Stage.STOPPED: []}
        failed = []
        for attempt in attempts:
            is_incoming = attempt.stage is Stage.INCOMING
            try:
                if is_incoming:
                    self.hypervisor.receive(attempt.ref, attempt.name, before_start=self.audit_duty.check)
                    continue
                self.hypervisor.spawn(
                    attempt.ref, attempt.name, is_off=attempt.starts_off, before_start=self.audit_duty.check
                )
            except AuditDue:
                break
            except (SpawnFailed, OSError) as error:
                failed.append((attempt, f"{'preparation' if is_incoming else 'spawn'} failed: {error}"))
            else:
                refs[Stage.STOPPED if attempt.starts_off else Stage.SPAWNED].append(attempt.ref)
                metrics.BUILDS.labels(AttemptResult.ACTIVE).inc()
                LOG.info("Spawned instance %s (attempt %d) on %s", *attempt.ref, attempt.name)
        for stage, spawned in refs.items():
            # Not durable: after a lost record, the guest is found by its file or spawned again.
            self.journal.advance(spawned, stage, durable=False)
        return failed

    def power_off(self, attempt: Attempt) -> None:
        """Power off the guest of a live attempt, then journal the stop; resources stay allocated."""
        self.hypervisor.power_off(attempt.ref)
        self.journal.put([replace(attempt, stage=Stage.STOPPED, at_ms=self.journal.clock(), reported=False)])
        self.activity.end([attempt])

    def power_on(self, attempt: Attempt) -> None:
        """Journal that the guest should run; the saga starts it."""
        started = replace(attempt, stage=Stage.CONFIRMED, at_ms=self.journal.clock(), starts_off=False, stopped_for="")
        self.journal.put([replace(started, reported=False)])

    def reboot(self, attempt: Attempt, number: int) -> None:
        """Power off the guest of a live attempt, then journal the operation; the saga starts it again."""
        self.hypervisor.power_off(attempt.ref)
        self._put_operation(attempt, Stage.CONFIRMED, number)

    def rebuild(self, attempt: Attempt, number: int, image: str) -> None:
        """Replace the guest's disk, then journal the operation; the saga restarts a running guest.

        ``image`` "" keeps the current image.
        """
        self.hypervisor.rebuild(attempt.ref, number, image)
        stage = Stage.STOPPED if attempt.stage is Stage.STOPPED else Stage.CONFIRMED
        self._put_operation(attempt, stage, number)

    def _put_operation(self, attempt: Attempt, stage: Stage, number: int) -> None:
        starts_off = attempt.starts_off and stage is Stage.STOPPED
        changed = replace(attempt, stage=stage, operation=number, starts_off=starts_off, reported=False)
        self.journal.put([replace(changed, at_ms=self.journal.clock())])
        LOG.info("Instance %s (attempt %d): executed operation %d", *attempt.ref, number)

    def end_unknown(self, ref: AttemptRef, request_id: str, owner: Mapping[str, str]) -> None:
        """End an attempt that is not in the journal, to release its claim: it has no guest."""
        at_ms = self.journal.clock()
        unknown = Attempt(*ref, stage=Stage.INTENT, at_ms=at_ms, owner=owner)
        reason = "its guest is not on this host"
        self.end_attempts([unknown.to_ended(AttemptResult.GONE, reason, ClaimEnd.RELEASE, at_ms, request_id)])

    def end_attempts(self, ended: Sequence[Attempt]) -> None:
        """Stop the guests of ended attempts, journal the ends, and free the resources.

        The journal record precedes any report and release, so that not even a crash lets the attempt spawn again.
        """
        for attempt in ended:
            self.hypervisor.copies.pop(attempt.ref, None)
            self.hypervisor.stop(attempt.ref)
        self.journal.put(ended)
        for attempt in ended:
            self.drop(attempt)
            if attempt.outcome is not AttemptResult.GONE:
                metrics.BUILDS.labels(attempt.outcome).inc()
            LOG.info("Ended instance %s (attempt %d), %s: %s", *attempt.ref, attempt.outcome, attempt.reason)
