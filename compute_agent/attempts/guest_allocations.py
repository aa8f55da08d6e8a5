# SPDX-License-Identifier: Apache-2.0
"""Guest manager: keeps journal, resource tracker and guests of one service host consistent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt, AttemptRef, AttemptResult, ClaimEnd, Stage
from compute_agent.attempts.activity import NodeActivity
from compute_agent.attempts.isolation import AuditDue, AuditDuty
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalDamaged
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.simulator.hypervisor import Hypervisor, SpawnFailed
from rpcapi.objects.copy import FAILED

LOG = log.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GuestManager:
    """Journal, resource tracker, guests and activity of one service host. Only the host's serial queue writes.

    ``spawn`` is the only method that starts guests. While ``audit_duty`` is due it starts none.
    ``refusal`` is the reason why the host takes no new guests; "" if it takes some.
    """

    host: str
    journal: Journal
    tracker: ResourceTracker
    hypervisor: Hypervisor
    audit_duty: AuditDuty
    refusal: str = ""
    activity: NodeActivity = field(default_factory=NodeActivity)

    def open(self) -> None:
        """Take over from the previous agent, and reconcile the guests with its journal.

        Nothing may run without a confirmed claim, and every spawn is journalled: a guest without a live attempt is
        left from an interrupted stop, and is stopped. A guest that was spawned according to the journal but does not
        exist, or has a damaged file, was lost with its machine; it is spawned again under its existing claim. One that
        this host receives and that does not exist has lost what was copied: its attempt fails.
        Raises JournalDamaged, NewerState, ValueError and OSError.
        """
        damaged = self.hypervisor.open()
        self.journal.open()
        guests = self.hypervisor.list()
        guest_count = len(guests) + len(damaged)
        if guest_count and not self.journal.all():
            raise JournalDamaged(
                f"host {self.host} has {guest_count} guests but an empty journal: restore the journal, or remove the "
                "guests folder if these guests may be deleted"
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
            if attempt.copy is None or attempt.copy.phase == FAILED:  # else its memory is kept until the migration ends
                self.hypervisor.power_off(attempt.ref)
        self._report_damaged(damaged)
        lost_refs = [
            attempt.ref for attempt in self.journal.at(Stage.SPAWNED) if not self.hypervisor.is_on(attempt.ref)
        ]
        for ref in lost_refs:
            LOG.warning("Guest %s (attempt %d) was lost with its host or is off; starting it again", *ref)
        self.journal.advance(lost_refs, Stage.CONFIRMED)
        reason = "the guest was lost before it was received"
        now_ms = self.journal.clock()
        self.end_attempts(
            [
                attempt.to_ended(AttemptResult.FAILED, reason, ClaimEnd.RELEASE, now_ms)
                for attempt in self.journal.at(Stage.INCOMING)
                if self.hypervisor.get(attempt.ref) is None
            ]
        )
        for provider, excess in self.tracker.excess().items():
            LOG.warning("Provider %s is over capacity by %s", provider, excess)

    def _report_damaged(self, uuids: Iterable[str]) -> None:
        """Count the guests whose files are damaged, and log what the journal intended for each."""
        for uuid in uuids:
            metrics.DAMAGED_GUESTS.inc()
            live = [attempt for attempt in self.journal.of_instance(uuid) if attempt.live]
            for attempt in live:
                LOG.error("Guest %s lost its state; by the journal, attempt %d is %s", *attempt.ref, attempt.stage)
            if not live:
                LOG.warning("The damaged file of guest %s is ignored: it has no live claim", uuid)

    def add_intents(self, intents: Sequence[Attempt]) -> None:
        """Journal admitted attempts and count their resources."""
        self.journal.put(intents)
        for attempt in intents:
            self.tracker.hold(attempt)
        self.activity.begin(intents)

    def spawn(self, attempts: Iterable[Attempt]) -> list[tuple[Attempt, str]]:
        """Start the guests of confirmed attempts; return the failed attempts, each with the reason.

        A guest of an attempt that starts off is created and stays off, one of an incoming attempt is created paused. If
        an audit becomes due, no further guest starts and the remaining attempts stay as they are.
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
            # Need not be durable: if the record is lost, the guest is found by its file or spawned again.
            self.journal.advance(spawned, stage, durable=False)
        return failed

    def power_off(self, attempt: Attempt) -> None:
        """Power the guest of a live attempt off, and journal that; its resources stay allocated."""
        self.hypervisor.power_off(attempt.ref)
        self.journal.put([replace(attempt, stage=Stage.STOPPED, at_ms=self.journal.clock(), reported=False)])
        self.activity.end([attempt])

    def power_on(self, attempt: Attempt) -> None:
        """Journal that the guest of a live attempt is to run; the saga starts it."""
        started = replace(attempt, stage=Stage.CONFIRMED, at_ms=self.journal.clock(), starts_off=False, stopped_for="")
        self.journal.put([replace(started, reported=False)])

    def reboot(self, attempt: Attempt, number: int) -> None:
        """Power the guest of a live attempt off, then journal the operation; the saga starts the guest."""
        self.hypervisor.power_off(attempt.ref)
        self._put_operation(attempt, Stage.CONFIRMED, number)

    def rebuild(self, attempt: Attempt, number: int, image: str) -> None:
        """Give the guest of a live attempt a new disk, then journal that; the saga starts it unless it was stopped.

        ``image`` is the id or name of another image than before; "" is the same one.
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
        """End an attempt that the journal does not have: nothing runs under its claim, which must not stay."""
        at_ms = self.journal.clock()
        unknown = Attempt(*ref, stage=Stage.INTENT, at_ms=at_ms, owner=owner)
        reason = "its guest is not on this host"
        self.end_attempts([unknown.to_ended(AttemptResult.GONE, reason, ClaimEnd.RELEASE, at_ms, request_id)])

    def end_attempts(self, ended: Sequence[Attempt]) -> None:
        """Stop the guests of ended attempts, journal the ends, and free the resources.

        The record precedes every report and release: an attempt journalled as ended is never spawned again, so its
        claim may be released even if the agent crashes in between.
        """
        for attempt in ended:
            self.hypervisor.copies.pop(attempt.ref, None)
            self.hypervisor.stop(attempt.ref)
        self.journal.put(ended)
        self.activity.end(ended)
        for attempt in ended:
            self.tracker.drop(attempt.ref)
            if attempt.outcome is not AttemptResult.GONE:
                metrics.BUILDS.labels(attempt.outcome).inc()
            LOG.info("Ended instance %s (attempt %d), %s: %s", *attempt.ref, attempt.outcome, attempt.reason)
