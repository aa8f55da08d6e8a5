# SPDX-License-Identifier: Apache-2.0
"""Copies between another Placement and gantt: single, repeated, or rehearsed; or a comparison only."""

import threading
import time
from collections.abc import Callable

from rpcapi.daemon.garbage import collection_suspended
from scheduler_svc.placement.migration.copying import CopyOutcome, CopyPass
from scheduler_svc.placement.migration.differences import differences, excess
from scheduler_svc.placement.migration.dump import PlacementDump
from scheduler_svc.placement.migration.failures import CopyRefused
from scheduler_svc.placement.migration.report import Report
from scheduler_svc.placement.migration.writer import Writer

Read = Callable[[], PlacementDump]  # returns the records of one side


class Switchover:
    """Copier from a source to a target through ``writer``; methods return whether nothing was refused or differs.

    Copies raise CopyRefused if the source has no providers, since it is then the wrong one or was emptied; and if
    clients wrote to the target, unless ``beside_clients``, since an import revives the consumers that they ended.
    """

    def __init__(
        self, read_source: Read, read_target: Read, writer: Writer, report: Report, *, beside_clients: bool = False
    ) -> None:
        self._read_source = read_source
        self._read_target = read_target
        self._writer = writer
        self._report = report
        self._beside_clients = beside_clients

    def copy(self) -> bool:
        once = threading.Event()
        once.set()
        return self.follow(once, 0)

    def follow(self, stopping: threading.Event, interval_s: float, *, until_equal: bool = False) -> bool:
        """Copy at intervals until ``stopping``, then a last time; ``until_equal`` stops after a pass without writes."""
        # Here and below: garbage collections would repeatedly scan millions of records, which form no cycles.
        with collection_suspended():
            target, number = self._read_unchanged_target(), 0
        while True:
            number += 1
            is_last = stopping.is_set()
            with collection_suspended():
                source = self._read_source()
                outcome = self._pass(number, source, target, is_last=is_last)
            if is_last or (until_equal and not outcome.counts and not source.unread):
                return self._conclude(source.with_least_generation(target.generation_base), outcome)
            stopping.wait(interval_s)

    def verify(self) -> bool:
        with collection_suspended():
            source, target = self._read_source(), self._read_target()
        self._report.listing("Notes", source.with_least_generation(target.generation_base).notes)
        unread = self._report.listing("Not compared", _unread_lines(source))
        number = self._report.listing("Differences", differences(source, target))
        records = len(source.providers), len(source.consumers)
        self._report.line(
            f"Compared {records[0]} providers and {records[1]} consumers: "
            + (f"{number} differences" if number else "no differences")
        )
        return number + unread == 0

    def _read_unchanged_target(self) -> PlacementDump:
        target = self._read_target()
        if target.protected and not self._beside_clients:
            raise CopyRefused(
                f"clients of gantt wrote {len(target.protected)} providers and consumers since the last import, such "
                f"as {min(target.protected)}. An import brings back consumers that they ended. --beside-clients "
                "imports all other records, --overwrite also replaces these"
            )
        return target

    def _pass(self, number: int, source: PlacementDump, target: PlacementDump, *, is_last: bool) -> CopyOutcome:
        if target.providers and not source.providers and not source.unread:
            raise CopyRefused(f"the source has no providers, and {len(target.providers)} would be deleted")
        start = time.monotonic()
        outcome = CopyPass(source, target, self._writer, self._report.progress).run()
        summary = ", ".join(f"{count} {what}" for what, count in outcome.counts.items()) or "nothing"
        self._report.line(f"Pass {number}: wrote {summary} in {time.monotonic() - start:.1f} s")
        if not is_last:
            self._report.listing("To read again in the next pass", _unread_lines(source))
        return outcome

    def _conclude(self, source: PlacementDump, outcome: CopyOutcome) -> bool:
        self._report.listing("Notes", source.notes)
        self._report.listing("Copied although it exceeds a capacity", excess(source))
        refusals = (f"{kind} {uuid}: {why}" for (kind, uuid), why in outcome.refusals.items())
        return self._report.listing("Not carried", refusals) == 0


def _unread_lines(contents: PlacementDump) -> list[str]:
    return [f"provider {uuid}: {why}" for uuid, why in contents.unread.items()]
