# SPDX-License-Identifier: Apache-2.0
"""Dispatches each request to a driver: the configured one, or the one that the request names."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rpcapi import errors
from scheduler_svc.core.drivers.driver import BatchRanking, Driver, PendingRanking, Ranking, RankRequest
from scheduler_svc.core.filtering.survey import HostSurvey
from scheduler_svc.core.reads import union
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View


class DriverDispatcher(Driver):
    """Dispatches each request to the driver that it names, or to the first one."""

    def __init__(self, drivers: Mapping[str, Driver]) -> None:
        """``drivers`` by name, the configured one first."""
        self._drivers = drivers
        self._configured = next(iter(drivers))
        self.reads = union(driver.reads for driver in drivers.values())
        self.filters = drivers[self._configured].filters
        self.weighers = drivers[self._configured].weighers

    def rank(self, view: View, request: SchedulingRequest, count: int, seed: int) -> Ranking:
        """Rank with the request's driver."""
        return self[self.name_for(request)].rank(view, request, count, seed)

    def survey(self, view: View, request: SchedulingRequest) -> HostSurvey:
        """Return what the request's driver says about each host."""
        return self[self.name_for(request)].survey(view, request)

    def rank_batch(self, view: View, requests: Sequence[RankRequest]) -> PendingRanking:
        """Rank each driver's own requests together."""
        numbers: dict[str, list[int]] = {}
        for number, rank_request in enumerate(requests):
            numbers.setdefault(self.name_for(rank_request.request), []).append(number)
        pending_rankings = [
            (call_numbers, self._drivers[name].rank_batch(view, [requests[number] for number in call_numbers]))
            for name, call_numbers in numbers.items()
        ]
        return lambda: _merge_rankings(
            len(requests), [(call_numbers, pending()) for call_numbers, pending in pending_rankings]
        )

    def batches(self, request: SchedulingRequest) -> bool:
        """Return whether the request's driver ranks such requests together."""
        return self[self.name_for(request)].batches(request)

    def check(self, request: SchedulingRequest) -> None:
        """Raise UnknownDriver if the request names a driver that is not configured."""
        if request.driver is not None and request.driver not in self._drivers:
            raise errors.UnknownDriver(name=request.driver, known=", ".join(self._drivers))

    def name_for(self, request: SchedulingRequest) -> str:
        """Return the configured name of the request's driver."""
        return request.driver or self._configured

    def __getitem__(self, name: str) -> Driver:
        """Return the driver of that name."""
        return self._drivers[name]


def _merge_rankings(size: int, parts: Sequence[tuple[Sequence[int], BatchRanking]]) -> BatchRanking:
    rankings: list[Ranking | None] = [None] * size
    unbatched: Counter[str] = Counter()
    for numbers, batch in parts:
        for number, ranking in zip(numbers, batch.rankings, strict=True):
            rankings[number] = ranking
        unbatched.update(batch.unbatched)
    return BatchRanking(rankings, unbatched)
