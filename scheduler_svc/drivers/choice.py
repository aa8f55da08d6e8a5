# SPDX-License-Identifier: Apache-2.0
"""Which driver decides a request: the configured one, or another that the request names and may have."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg
from stevedore import driver as stevedore_driver
from stevedore import exception as stevedore_exception

from rpcapi import errors
from scheduler_svc.conf import scheduler
from scheduler_svc.drivers.driver import Batch, Driver, Pending, Ranking, Wanted
from scheduler_svc.reads import union
from scheduler_svc.request import Request
from scheduler_svc.table.view import View


class Choice(Driver):
    """Has each request decided by the driver it names, of those there are; by the first where it names none."""

    def __init__(self, drivers: Mapping[str, Driver]) -> None:
        """``drivers`` by name, the configured one first."""
        self._drivers = drivers
        self._configured = next(iter(drivers))
        self.reads = union(each.reads for each in drivers.values())
        self.filters = drivers[self._configured].filters
        self.weighers = drivers[self._configured].weighers

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> "Choice":
        """Build all drivers that [scheduler] names; raises BadConfiguration."""
        return cls({name: _build(conf, name) for name in scheduler.drivers(conf)})

    def rank(self, view: View, request: Request, count: int, seed: int) -> Ranking:
        """Have the request's driver rank."""
        return self[self.name_for(request)].rank(view, request, count, seed)

    def fallen(self, view: View, request: Request) -> Mapping[str, Sequence[str]]:
        """Return some of the hosts that fall to each reason with the request's driver."""
        return self[self.name_for(request)].fallen(view, request)

    def rank_batch(self, view: View, wanted: Sequence[Wanted]) -> Pending:
        """Have each driver look at its own requests, and then rank them."""
        numbers: dict[str, list[int]] = {}
        for number, each in enumerate(wanted):
            numbers.setdefault(self.name_for(each.request), []).append(number)
        looked = [
            (its, self._drivers[name].rank_batch(view, [wanted[number] for number in its]))
            for name, its in numbers.items()
        ]
        return lambda: _merged(len(wanted), [(its, pending()) for its, pending in looked])

    def batches(self, request: Request) -> bool:
        """Tell whether the request's driver ranks such requests together."""
        return self[self.name_for(request)].batches(request)

    def check(self, request: Request) -> None:
        """Raise UnknownDriver for one that is not named in the configuration."""
        if request.driver is not None and request.driver not in self._drivers:
            raise errors.UnknownDriver(name=request.driver, known=", ".join(self._drivers))

    def name_for(self, request: Request) -> str:
        """Return the name under which the configuration knows it."""
        return request.driver or self._configured

    def __getitem__(self, name: str) -> Driver:
        """Return the driver of that name."""
        return self._drivers[name]


def load(conf: cfg.ConfigOpts) -> Choice:
    """Build what [scheduler] driver and drivers name; raises BadConfiguration."""
    return Choice.from_conf(conf)


def _build(conf: cfg.ConfigOpts, name: str) -> Driver:
    try:
        kind: Any = stevedore_driver.DriverManager(scheduler.DRIVERS, name, warn_on_missing_entrypoint=False).driver
    except stevedore_exception.NoMatches as error:
        raise errors.BadConfiguration(
            why=f"[scheduler] driver: no entry point {name!r} is installed in {scheduler.DRIVERS!r}"
        ) from error
    return kind.from_conf(conf)


def _merged(size: int, found: Sequence[tuple[Sequence[int], Batch]]) -> Batch:
    rankings: list[Ranking | None] = [None] * size
    one_by_one: Counter[str] = Counter()
    for numbers, batch in found:
        for number, ranking in zip(numbers, batch.rankings, strict=True):
            rankings[number] = ranking
        one_by_one.update(batch.one_by_one)
    return Batch(rankings, one_by_one)
