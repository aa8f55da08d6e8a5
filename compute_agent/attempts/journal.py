# SPDX-License-Identifier: Apache-2.0
"""Journal of a service host: every attempt with its stage, on disk before the agent acts on it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.attempts.journal_file import JournalDamaged, JournalFile, JournalRecord
from compute_agent.clock import Clock, wall_ms
from compute_agent.newer_state import check_fields, read_word
from rpcapi.objects.copy import POST_COPY, RUNNING

# Compact the file above both COMPACT_LINES lines and COMPACT_FACTOR lines per attempt.
COMPACT_LINES = 2000
COMPACT_FACTOR = 2
RECORD_FIELDS = frozenset({"attempt", "stage", "at_ms", "ref", "reported"})


class Journal:
    """Attempts of a service host, in memory and on disk; one thread writes.

    Records are {"attempt": the whole attempt}, {"stage": ..., "at_ms": ..., "ref": [uuid, attempt]} and {"reported":
    true, "ref": [uuid, attempt]}.
    """

    def __init__(self, file: JournalFile, retention_ms: int, clock: Clock = wall_ms) -> None:
        self._file = file
        self._retention_ms = retention_ms
        self.clock = clock  # source of times in records
        self._attempts: dict[AttemptRef, Attempt] = {}
        self._numbers: dict[str, set[int]] = {}
        self._stages: dict[Stage, dict[AttemptRef, None]] = {stage: {} for stage in Stage}
        self._unreported: dict[AttemptRef, None] = {}
        self._copying: dict[AttemptRef, None] = {}

    def open(self) -> None:
        """Read and compact the previous agent's journal; raises JournalDamaged, NewerState, OSError."""
        for batch in self._file.read():
            self._apply_all(batch)
        self.compact()

    def close(self) -> None:
        self._file.close()

    # -- reading -----------------------------------------------------------------------------------------------

    def get(self, ref: AttemptRef) -> Attempt | None:
        return self._attempts.get(ref)

    def all(self) -> list[Attempt]:
        """Return all attempts; callable from any thread."""
        return list(self._attempts.values())

    def of_instance(self, uuid: str) -> list[Attempt]:
        """Return the attempts of an instance, oldest first."""
        return [self._attempts[AttemptRef(uuid, number)] for number in sorted(self._numbers.get(uuid, ()))]

    def at(self, stage: Stage) -> list[Attempt]:
        """Return the attempts at a stage, in the order in which they reached it."""
        return [self._attempts[ref] for ref in self._stages[stage]]

    def live(self) -> list[Attempt]:
        return [attempt for stage in Stage if stage is not Stage.GONE for attempt in self.at(stage)]

    def unreported(self) -> list[Attempt]:
        """Return the attempts without an acknowledged outcome, including attempts that have no outcome yet."""
        return [self._attempts[ref] for ref in self._unreported]

    def copying(self) -> list[Attempt]:
        return [self._attempts[ref] for ref in self._copying]

    # -- writing -----------------------------------------------------------------------------------------------

    def put(self, attempts: Sequence[Attempt]) -> None:
        """Record whole attempts, such as intents and ends, in one durable batch."""
        self._write([{"attempt": attempt.as_dict()} for attempt in attempts])

    def advance(self, refs: Iterable[AttemptRef], stage: Stage, durable: bool = True) -> None:
        now = self.clock()
        self._write([{"stage": stage, "ref": list(ref), "at_ms": now} for ref in refs], durable)

    def mark_reported(self, refs: Iterable[AttemptRef]) -> None:
        """Record that the conductor acknowledged outcomes. A lost record only repeats the report."""
        self._write([{"reported": True, "ref": list(ref)} for ref in refs], durable=False)

    def report_again(self, ref: AttemptRef) -> None:
        """Mark an outcome as unreported, because the conductor repeated its request."""
        self._store(replace(self._attempts[ref], reported=False))

    def compact(self) -> None:
        """Rewrite the file without reported ended attempts that are older than the retention."""
        oldest = self.clock() - self._retention_ms
        for attempt in self.at(Stage.GONE):
            if attempt.reported and attempt.at_ms < oldest:
                self._forget(attempt.ref)
        self._file.rewrite([{"attempt": attempt.as_dict()} for attempt in self._attempts.values()])

    def compact_if_long(self) -> None:
        if self._file.lines > max(COMPACT_LINES, COMPACT_FACTOR * len(self._attempts)):
            self.compact()

    def _write(self, records: Sequence[JournalRecord], durable: bool = True) -> None:
        if not records:
            return
        if self._file.needs_rewrite:
            self.compact()
        self._file.append(records, durable)
        self._apply_all(records)

    def _apply_all(self, records: Iterable[JournalRecord]) -> None:
        try:
            for record in records:
                self._apply(record)
        except (KeyError, ValueError, TypeError) as error:
            raise JournalDamaged(f"the journal has an invalid record: {error!r}") from error

    def _apply(self, record: JournalRecord) -> None:
        check_fields("the journal's record", record, RECORD_FIELDS)
        if "attempt" in record:
            self._store(Attempt.from_dict(record["attempt"]))
            return
        attempt = self._attempts[AttemptRef(*record["ref"])]
        if "reported" in record:
            self._store(replace(attempt, reported=True))
        else:
            stage = read_word(f"the journal's stage of {attempt.uuid}", "stage", Stage, record["stage"])
            self._store(replace(attempt, stage=stage, at_ms=record["at_ms"]))

    def _store(self, attempt: Attempt) -> None:
        ref = attempt.ref
        previous = self._attempts.get(ref)
        if previous is not None and previous.stage is not attempt.stage:
            del self._stages[previous.stage][ref]
        self._attempts[ref] = attempt
        self._stages[attempt.stage][ref] = None
        self._numbers.setdefault(attempt.uuid, set()).add(attempt.attempt)
        if attempt.live and attempt.copy is not None and attempt.copy.phase in (RUNNING, POST_COPY):
            self._copying[ref] = None
        else:
            self._copying.pop(ref, None)
        if attempt.reported:
            self._unreported.pop(ref, None)
        else:
            self._unreported[ref] = None

    def _forget(self, ref: AttemptRef) -> None:
        del self._attempts[ref]
        del self._stages[Stage.GONE][ref]
        self._numbers[ref.uuid].discard(ref.attempt)
        if not self._numbers[ref.uuid]:
            del self._numbers[ref.uuid]
