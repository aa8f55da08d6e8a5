# SPDX-License-Identifier: Apache-2.0
"""What the conductor's messages mean for what the host holds; every message may come twice, late or never."""

from collections.abc import Sequence

from compute_agent.attempt import Attempt, ClaimEnd, Outcome, Ref, Stage
from compute_agent.holdings import Holdings
from compute_agent.journal import Clock, wall_ms
from compute_agent.wish import Wish


class Builder:
    """Takes builds and terminations in; the saga then does what they ask."""

    def __init__(self, holdings: Holdings, clock: Clock = wall_ms) -> None:
        self._holdings = holdings
        self._clock = clock

    def build(self, intents: Sequence[Attempt], wish: Wish) -> None:
        """Admit or refuse each intent by the host's own view, and journal all of it in one batch or two.

        Admission comes before the record, which it needs no help of: so an intent in the journal is an admitted one,
        and an agent that takes over has nothing to ask twice. An attempt that is known is not begun again: its
        outcome is told again. One older than what is known is over.
        """
        admitted: list[Attempt] = []
        refused: list[Attempt] = []
        try:
            for intent in intents:
                if self._holdings.journal.get(intent.ref) is not None:
                    self._holdings.journal.report_again(intent.ref)
                    continue
                judged = self._judge(intent, wish)
                if isinstance(judged, str):
                    refused.append(intent.gone(Outcome.REFUSED, judged, ClaimEnd.ABORT, self._clock()))
                else:
                    # Held at once, so that the next of this message is judged beside it.
                    self._holdings.tracker.hold(judged)
                    admitted.append(judged)
            self._holdings.take(admitted)
        except BaseException:
            for intent in admitted:
                self._holdings.tracker.drop(intent.ref)
            raise
        self._holdings.end(refused)

    def terminate(self, refs: Sequence[Ref], request_id: str, owner: dict[str, str]) -> None:
        """End attempts, known or not, and have their claims released.

        An older attempt of the same instance that still lives here ends too: the store let the next one begin
        only once that was over. The record also stops a build of the same attempt that is still on its way.
        """
        ended = []
        for ref in refs:
            for known in self._holdings.journal.of_instance(ref.uuid):
                if known.live and known.attempt < ref.attempt:
                    ended.append(self._gone(known, Outcome.GONE, "a later attempt was terminated"))
            attempt = self._holdings.journal.get(ref) or Attempt(
                *ref, stage=Stage.INTENT, at_ms=self._clock(), owner=owner
            )
            ended.append(
                attempt.gone(
                    Outcome.GONE, "stopped and released, as asked", ClaimEnd.RELEASE, self._clock(), request_id
                )
            )
        self._holdings.end(ended)

    def _judge(self, intent: Attempt, wish: Wish) -> Attempt | str:
        """Return the attempt with what it is given, or a sentence why it is refused."""
        others = self._holdings.journal.of_instance(intent.uuid)
        latest = max((other.attempt for other in others), default=0)
        if latest > intent.attempt:
            return f"attempt {latest} of the instance is known here, this one is over"
        if self._holdings.hypervisor.refuses(intent.ref):
            return "the simulated hypervisor refuses it"
        older = [other for other in others if other.live]
        reason = f"attempt {intent.attempt} took its place"
        self._holdings.end([self._gone(other, other.outcome_if_ended, reason) for other in older])
        return self._holdings.tracker.admit(intent, wish)

    def _gone(self, attempt: Attempt, outcome: Outcome, reason: str) -> Attempt:
        return attempt.gone(outcome, reason, ClaimEnd.RELEASE, self._clock())
