# SPDX-License-Identifier: Apache-2.0
"""Journal, tracker and guests of one service host, kept in step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from oslo_log import log

from compute_agent import metrics
from compute_agent.activity import Activity
from compute_agent.attempt import Attempt, Outcome, Ref, Stage
from compute_agent.hypervisor import Hypervisor, SpawnFailed
from compute_agent.journal import Journal
from compute_agent.journal_file import JournalDamaged
from compute_agent.tracker import Tracker

LOG = log.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Holdings:
    """What one service host holds. All writing is done by one thread at a time: the host's lane."""

    host: str
    journal: Journal
    tracker: Tracker
    hypervisor: Hypervisor
    activity: Activity = field(default_factory=Activity)

    def open(self) -> None:
        """Take over from the agent before this one, and make the guests agree with its journal.

        Nothing may run without a confirmed claim, and every spawn has a journalled one: a guest without a live
        attempt is what an interrupted stop left, and is stopped. A guest that the journal says was spawned but that
        is not there went down with its machine: it is spawned again under the claim it still has.
        Raises JournalDamaged, ValueError and OSError.
        """
        self.hypervisor.open()
        self.journal.open()
        guests = self.hypervisor.list()
        if guests and not self.journal.remembers_anything:
            raise JournalDamaged(
                f"host {self.host} has {len(guests)} guests but an empty journal: restore the journal, or remove the "
                "guests' folder when they may be lost"
            )
        for attempt in self.journal.live():
            self.tracker.hold(attempt)
        self.activity.begin(attempt for attempt in self.journal.unreported() if attempt.live)
        for guest in guests:
            known = self.journal.get(guest.ref)
            if known is None or not known.live:
                LOG.warning("Stopping guest %s (attempt %d): no claim stands behind it", *guest.ref)
                self.hypervisor.stop(guest.ref)
        lost = [attempt.ref for attempt in self.journal.at(Stage.SPAWNED) if self.hypervisor.get(attempt.ref) is None]
        for ref in lost:
            LOG.warning("Guest %s (attempt %d) went down with its host; it is spawned again", *ref)
        self.journal.advance(lost, Stage.CONFIRMED)
        for provider, over in self.tracker.excess().items():
            LOG.warning("Provider %s holds more than its capacity: %s too much", provider, over)

    def take(self, intents: Sequence[Attempt]) -> None:
        """Promise resources to admitted attempts."""
        self.journal.put(intents)
        for attempt in intents:
            self.tracker.hold(attempt)
        self.activity.begin(intents)

    def spawn(self, attempts: Iterable[Attempt]) -> list[tuple[Attempt, str]]:
        """Start the guests of confirmed attempts; return those that failed, each with a sentence why."""
        spawned, failed = [], []
        for attempt in attempts:
            try:
                self.hypervisor.spawn(attempt.ref, attempt.name)
            except (SpawnFailed, OSError) as error:
                failed.append((attempt, f"spawn failed: {error}"))
            else:
                spawned.append(attempt.ref)
                metrics.BUILDS.labels(Outcome.ACTIVE).inc()
                LOG.info("Instance %s (attempt %d) is spawned on %s", *attempt.ref, attempt.name)
        # Not durable: were it lost, the guest would be found by its file, or spawned again.
        self.journal.advance(spawned, Stage.SPAWNED, durable=False)
        return failed

    def end(self, ended: Sequence[Attempt]) -> None:
        """Stop the guests of attempts that are given as gone, record that, and free what they held.

        The record comes before anything is told to anybody: what is journalled as gone is never spawned again,
        so its claim may be given back, however often the agent dies on the way.
        """
        for attempt in ended:
            self.hypervisor.stop(attempt.ref)
        self.journal.put(ended)
        self.activity.end(ended)
        for attempt in ended:
            self.tracker.drop(attempt.ref)
            if attempt.outcome is not Outcome.GONE:
                metrics.BUILDS.labels(attempt.outcome).inc()
            LOG.info("Instance %s (attempt %d) is %s: %s", *attempt.ref, attempt.outcome, attempt.reason)

    def running(self, ref: Ref, now_ms: int) -> bool:
        """Whether the attempt's guest has booted."""
        guest = self.hypervisor.get(ref)
        return guest is not None and guest.running_at_ms <= now_ms
