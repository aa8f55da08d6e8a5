# SPDX-License-Identifier: Apache-2.0
"""What a service host has promised: every attempt and how far it has come, on disk before it is acted on."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from compute_agent.attempt import Attempt, Ref, Stage
from compute_agent.journal_file import JournalDamaged, JournalFile, Record

# The file is compacted when it has this many lines and also this many times as many as attempts are remembered.
COMPACT_LINES = 2000
COMPACT_FACTOR = 2

Clock = Callable[[], int]


def wall_ms() -> int:
    """Return Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


class Journal:
    """The attempts of one service host, in memory as they are on disk. One thread at a time writes.

    A record is either {"attempt": the whole of it} or {"stage" | "reported": ..., "ref": [uuid, attempt]}.
    """

    def __init__(self, file: JournalFile, retention_ms: int, clock: Clock = wall_ms) -> None:
        self._file = file
        self._retention_ms = retention_ms
        self._clock = clock
        self._attempts: dict[Ref, Attempt] = {}
        self._numbers: dict[str, set[int]] = {}
        self._stages: dict[Stage, dict[Ref, None]] = {stage: {} for stage in Stage}
        self._unreported: dict[Ref, None] = {}

    def open(self) -> None:
        """Read what the agent before this one promised, and compact it; raises JournalDamaged, OSError."""
        for batch in self._file.read():
            self._apply_all(batch)
        self.compact()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @property
    def remembers_anything(self) -> bool:
        """Whether any attempt is known."""
        return bool(self._attempts)

    # -- reading -----------------------------------------------------------------------------------------------

    def get(self, ref: Ref) -> Attempt | None:
        """Return the attempt, or None when it is not remembered."""
        return self._attempts.get(ref)

    def of_instance(self, uuid: str) -> list[Attempt]:
        """Return the remembered attempts of an instance, oldest first."""
        return [self._attempts[Ref(uuid, number)] for number in sorted(self._numbers.get(uuid, ()))]

    def at(self, stage: Stage) -> list[Attempt]:
        """Return the attempts at a stage, in the order in which they came to it."""
        return [self._attempts[ref] for ref in self._stages[stage]]

    def live(self) -> list[Attempt]:
        """Return the attempts that hold resources here."""
        return [attempt for stage in Stage if stage is not Stage.GONE for attempt in self.at(stage)]

    def unreported(self) -> list[Attempt]:
        """Return the attempts whose outcome, where they have one yet, the conductor has not acknowledged."""
        return [self._attempts[ref] for ref in self._unreported]

    # -- writing -----------------------------------------------------------------------------------------------

    def put(self, attempts: Sequence[Attempt]) -> None:
        """Record attempts as they are given: new intents, and ends. One batch, durable."""
        self._write([{"attempt": attempt.as_dict()} for attempt in attempts])

    def advance(self, refs: Iterable[Ref], stage: Stage, durable: bool = True) -> None:
        """Record that attempts have come to ``stage``. One batch."""
        now = self._clock()
        self._write([{"stage": stage, "ref": list(ref), "at_ms": now} for ref in refs], durable)

    def reported(self, refs: Iterable[Ref]) -> None:
        """Record that the conductor has acknowledged outcomes; when this is lost it is told again."""
        self._write([{"reported": True, "ref": list(ref)} for ref in refs], durable=False)

    def report_again(self, ref: Ref) -> None:
        """Owe the conductor the outcome of an attempt once more, since it asked again."""
        self._keep(replace(self._attempts[ref], reported=False))

    def compact(self) -> None:
        """Rewrite the file to what is worth remembering."""
        oldest = self._clock() - self._retention_ms
        for attempt in self.at(Stage.GONE):
            if attempt.reported and attempt.at_ms < oldest:
                self._forget(attempt.ref)
        self._file.rewrite([{"attempt": attempt.as_dict()} for attempt in self._attempts.values()])

    def compact_if_long(self) -> None:
        """Compact when most lines of the file are history."""
        if self._file.lines > max(COMPACT_LINES, COMPACT_FACTOR * len(self._attempts)):
            self.compact()

    def _write(self, records: Sequence[Record], durable: bool = True) -> None:
        if not records:
            return
        if self._file.doubtful:
            self.compact()
        self._file.append(records, durable)
        self._apply_all(records)

    def _apply_all(self, records: Iterable[Record]) -> None:
        try:
            for record in records:
                self._apply(record)
        except (KeyError, ValueError, TypeError) as error:
            raise JournalDamaged(f"the journal holds a record that makes no sense: {error!r}") from error

    def _apply(self, record: Record) -> None:
        if "attempt" in record:
            self._keep(Attempt.from_dict(record["attempt"]))
            return
        attempt = self._attempts[Ref(*record["ref"])]
        if "reported" in record:
            self._keep(replace(attempt, reported=True))
        else:
            self._keep(replace(attempt, stage=Stage(record["stage"]), at_ms=record["at_ms"]))

    def _keep(self, attempt: Attempt) -> None:
        ref = attempt.ref
        before = self._attempts.get(ref)
        if before is not None and before.stage is not attempt.stage:
            del self._stages[before.stage][ref]
        self._attempts[ref] = attempt
        self._stages[attempt.stage][ref] = None
        self._numbers.setdefault(attempt.uuid, set()).add(attempt.attempt)
        if attempt.reported:
            self._unreported.pop(ref, None)
        else:
            self._unreported[ref] = None

    def _forget(self, ref: Ref) -> None:
        del self._attempts[ref]
        del self._stages[Stage.GONE][ref]
        self._numbers[ref.uuid].discard(ref.attempt)
        if not self._numbers[ref.uuid]:
            del self._numbers[ref.uuid]
