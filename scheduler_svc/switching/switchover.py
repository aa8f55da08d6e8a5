# SPDX-License-Identifier: Apache-2.0
"""Copies between another Placement and gantt: once, repeatedly, rehearsed, or compared only."""

import threading
import time
from typing import Protocol

from scheduler_svc.switching.contents import Contents
from scheduler_svc.switching.copying import CopyOutcome, CopyPass
from scheduler_svc.switching.differences import differences, excess
from scheduler_svc.switching.failures import NothingToCopy
from scheduler_svc.switching.report import Report
from scheduler_svc.switching.writer import Writer


class Reader(Protocol):
    """One of the two ends."""

    def read(self) -> Contents:
        """Return all that it has."""


class Switchover:
    """Copies from ``source`` to ``target``, which ``writer`` writes. Each method returns whether nothing is amiss.

    A source without any provider is the wrong one, or was emptied: copies raise NothingToCopy, and write nothing.
    """

    def __init__(self, source: Reader, target: Reader, writer: Writer, report: Report) -> None:
        self._source = source
        self._target = target
        self._writer = writer
        self._report = report

    def copy(self) -> bool:
        """Copy once."""
        source, target = self._source.read(), self._target.read()
        outcome = self._pass(1, source, target)
        return self._conclude(source.with_least_generation(target.generation_base), outcome)

    def follow(self, stopping: threading.Event, interval_s: float, *, until_equal: bool = False) -> bool:
        """Copy again and again until ``stopping`` is set, and once more after that.

        With ``until_equal`` it ends too after a pass that had nothing to write.
        """
        target, number = self._target.read(), 0
        while True:
            number += 1
            is_last = stopping.is_set()
            source = self._source.read()
            outcome = self._pass(number, source, target)
            if is_last or (until_equal and not outcome.counts):
                return self._conclude(source.with_least_generation(target.generation_base), outcome)
            stopping.wait(interval_s)

    def verify(self) -> bool:
        """Compare both ends, and write nothing."""
        source, target = self._source.read(), self._target.read()
        self._report.listing("Notes", source.with_least_generation(target.generation_base).notes)
        number = self._report.listing("Differences", differences(source, target))
        records = len(source.providers), len(source.consumers)
        self._report.line(
            f"Compared {records[0]} providers and {records[1]} consumers: "
            + (f"{number} differences" if number else "both have the same")
        )
        return number == 0

    def _pass(self, number: int, source: Contents, target: Contents) -> CopyOutcome:
        if target.providers and not source.providers:
            raise NothingToCopy(f"the source has no provider, and {len(target.providers)} would be deleted")
        start = time.monotonic()
        outcome = CopyPass(source, target, self._writer, self._report.progress).run()
        summary = ", ".join(f"{count} {what}" for what, count in outcome.counts.items()) or "nothing"
        self._report.line(f"Pass {number}: wrote {summary} in {time.monotonic() - start:.1f} s")
        return outcome

    def _conclude(self, source: Contents, outcome: CopyOutcome) -> bool:
        self._report.listing("Notes", source.notes)
        self._report.listing("Carried though it exceeds a capacity", excess(source))
        refusals = (f"{kind} {uuid}: {why}" for (kind, uuid), why in outcome.refusals.items())
        return self._report.listing("Not carried", refusals) == 0
