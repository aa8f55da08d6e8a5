# SPDX-License-Identifier: Apache-2.0
"""Many calls decided together: ranked as one, then claimed each by itself, all of its instances or none."""

from collections.abc import Sequence

from oslo_log import log

from rpcapi import errors, green
from rpcapi.context import RequestContext
from scheduler_svc import metrics
from scheduler_svc.candidates.ranking import fitted
from scheduler_svc.deciding.asked import Asked, Decided, Outcome, Refused
from scheduler_svc.deciding.claimer import CHUNK
from scheduler_svc.deciding.decision import Look
from scheduler_svc.deciding.select import Selector
from scheduler_svc.deciding.window import Window
from scheduler_svc.drivers.driver import Batch, Driver, Wanted
from scheduler_svc.request import Request

LOG = log.getLogger(__name__)


class BatchSelector:
    """Decides in one partition, and ranks together what comes together; safe to call from many threads."""

    def __init__(self, selector: Selector, window_s: float = 0.0, most: int = 1) -> None:
        """``window_s`` is how long a call waits for others to be ranked with, ``most`` how many are ranked at once."""
        self._selector = selector
        self._window = Window(self.looks, window_s, most) if window_s > 0 else None

    @property
    def driver(self) -> Driver:
        """The driver that decides."""
        return self._selector.driver

    @driver.setter
    def driver(self, driver: Driver) -> None:
        self._selector.driver = driver

    def select(self, ctxt: RequestContext, asked: Asked) -> Decided:
        """Do what Selector.select does, together with calls that come in the same window."""
        look = None
        if self._window is not None and self._joins(asked):
            look = self._window.look(asked)
        outcome = self._selector.place(ctxt, asked, look)
        if isinstance(outcome, Refused):
            raise outcome.error
        return outcome

    def select_batch(self, ctxt: RequestContext, asked: Sequence[Asked]) -> list[Outcome]:
        """Return for each call what it was given, or the error that ``select`` would raise.

        What others claimed meanwhile is decided anew, and so, after the others, is what had no room beside them.
        """
        looks = self.looks(asked)
        found: dict[int, Outcome] = {}
        for number in sorted(range(len(asked)), key=lambda number: looks[number] is None):
            try:
                outcome = self._selector.place(ctxt, asked[number], looks[number])
                found[number] = outcome.error if isinstance(outcome, Refused) else outcome
            except errors.GanttError as error:
                found[number] = error
        return [found[number] for number in range(len(asked))]

    def looks(self, asked: Sequence[Asked]) -> list[Look | None]:
        """Rank calls together; None for each that is to be decided by itself."""
        found: list[Look | None] = [None] * len(asked)
        joining = [number for number, one in enumerate(asked) if self._joins(one)]
        if len(joining) < 2:
            return found
        requests = [self._selector.informed(asked[number].request) for number in joining]
        counts = [len(asked[number].consumers) for number in joining]
        for number, look in zip(joining, self._rank(requests, counts), strict=True):
            found[number] = look
        return found

    def _joins(self, asked: Asked) -> bool:
        return len(asked.consumers) <= CHUNK and self.driver.batches(asked.request)

    def _rank(self, requests: Sequence[Request], counts: Sequence[int]) -> list[Look | None]:
        wanted = [Wanted(request, count, request.seed) for request, count in zip(requests, counts, strict=True)]
        with metrics.BATCH_SECONDS.time():
            with self._selector.table.reading() as view:
                pending = self.driver.rank_batch(view, wanted)
                standings = view.standings
            # Solving takes long: neither the table nor other green threads wait for it.
            batch = green.aside(pending)
        _tell(batch)
        with self._selector.table.reading() as view:
            rankings = [
                one and fitted(view, each.request, one) for each, one in zip(wanted, batch.rankings, strict=True)
            ]
            names = {name for one in rankings if one for names in one.candidates for name in names}
            homes = view.homes(names)
        # What this worker claimed itself since it looked is in no log entry that it had read: so nothing is "seen".
        return [
            None
            if ranking is None
            else Look(ranking, each.seed, standings, homes, {}, informed=each.request.group is not None)
            for each, ranking in zip(wanted, rankings, strict=True)
        ]


def _tell(batch: Batch) -> None:
    metrics.BATCHED.inc(sum(ranking is not None for ranking in batch.rankings))
    for reason, count in batch.one_by_one.items():
        metrics.ONE_BY_ONE.labels(reason=reason).inc(count)
        LOG.info("%d of %d requests of a batch are placed one by one: %s", count, len(batch.rankings), reason)
