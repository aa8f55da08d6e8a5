# SPDX-License-Identifier: Apache-2.0
"""Guest manager: keeps journal, resource tracker and guests of one service host consistent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt, AttemptResult, Stage
from compute_agent.attempts.activity import NodeActivity
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalDamaged
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.simulator.hypervisor import Hypervisor, SpawnFailed

LOG = log.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GuestManager:
    """Journal, resource tracker, guests and activity of one service host. Only the host's serial queue writes."""

    host: str
    journal: Journal
    tracker: ResourceTracker
    hypervisor: Hypervisor
    activity: NodeActivity = field(default_factory=NodeActivity)

    def open(self) -> None:
        """Take over from the previous agent, and reconcile the guests with its journal.

        Nothing may run without a confirmed claim, and every spawn is journalled: a guest without a live attempt is
        left from an interrupted stop, and is stopped. A guest that was spawned according to the journal but does not
        exist, or has a damaged file, was lost with its machine; it is spawned again under its existing claim.
        Raises JournalDamaged, ValueError and OSError.
        """
        damaged = self.hypervisor.open()
        self.journal.open()
        guests = self.hypervisor.list()
        guest_count = len(guests) + len(damaged)
        if guest_count and not self.journal.has_attempts:
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
        self._report_damaged(damaged)
        lost_refs = [
            attempt.ref for attempt in self.journal.at(Stage.SPAWNED) if self.hypervisor.get(attempt.ref) is None
        ]
        for ref in lost_refs:
            LOG.warning("Guest %s (attempt %d) was lost with its host; spawning it again", *ref)
        self.journal.advance(lost_refs, Stage.CONFIRMED)
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
        """Start the guests of confirmed attempts; return the failed attempts, each with the reason."""
        spawned, failed = [], []
        for attempt in attempts:
            try:
                self.hypervisor.spawn(attempt.ref, attempt.name)
            except (SpawnFailed, OSError) as error:
                failed.append((attempt, f"spawn failed: {error}"))
            else:
                spawned.append(attempt.ref)
                metrics.BUILDS.labels(AttemptResult.ACTIVE).inc()
                LOG.info("Spawned instance %s (attempt %d) on %s", *attempt.ref, attempt.name)
        # Need not be durable: if the record is lost, the guest is found by its file or spawned again.
        self.journal.advance(spawned, Stage.SPAWNED, durable=False)
        return failed

    def end_attempts(self, ended: Sequence[Attempt]) -> None:
        """Stop the guests of ended attempts, journal the ends, and free the resources.

        The record precedes every report and release: an attempt journalled as ended is never spawned again, so its
        claim may be released even if the agent crashes in between.
        """
        for attempt in ended:
            self.hypervisor.stop(attempt.ref)
        self.journal.put(ended)
        self.activity.end(ended)
        for attempt in ended:
            self.tracker.drop(attempt.ref)
            if attempt.outcome is not AttemptResult.GONE:
                metrics.BUILDS.labels(attempt.outcome).inc()
            LOG.info("Ended instance %s (attempt %d), %s: %s", *attempt.ref, attempt.outcome, attempt.reason)
