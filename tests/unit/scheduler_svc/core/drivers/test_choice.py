# SPDX-License-Identifier: Apache-2.0
"""The dispatch of requests to drivers."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.core.drivers.chance import ChanceDriver
from scheduler_svc.core.drivers.choice import DriverDispatcher
from scheduler_svc.core.drivers.driver import BatchRanking, Driver, Ranking, RankRequest
from tests.unit.scheduler_svc.core.drivers.rankings import filter_driver
from tests.unit.scheduler_svc.fakes import hosts
from tests.unit.scheduler_svc.fakes.hosts import node


class NamedDriver(Driver):
    """A driver whose rankings name it."""

    def __init__(self, name, reads=None, unbatched=None):
        self.name = name
        self.reads = reads or {}
        self.filters = [name]
        self.unbatched = unbatched or {}

    def rank(self, view, request, count, seed):
        return Ranking([[self.name]] * count, 1, {})

    def survey(self, view, request):
        return self.name

    def rank_batch(self, view, requests):
        rankings = [Ranking([[f"{self.name} {rank_request.seed}"]], 1, {}) for rank_request in requests]
        return lambda: BatchRanking(rankings, self.unbatched)


def rank_requests(*names):
    return [RankRequest(hosts.request(driver=name), 1, seed) for seed, name in enumerate(names)]


def test_configured_driver_is_the_first_and_reads_are_those_of_all():
    first = NamedDriver("first", {"compute": frozenset({"traits"})})
    second = NamedDriver("second", {"compute": frozenset({"facts"}), "volume": frozenset({"location"})})
    dispatcher = DriverDispatcher({"a": first, "b": second})
    assert dispatcher.reads == {"compute": {"traits", "facts"}, "volume": {"location"}}
    assert dispatcher.filters == ["first"]
    with hosts.table({"h": node()}).reading() as view:
        for name, expected in ((None, "first"), ("a", "first"), ("b", "second")):
            scheduling_request = hosts.request(driver=name)
            assert dispatcher.rank(view, scheduling_request, 2, 0).candidates == [[expected]] * 2
            assert dispatcher.survey(view, scheduling_request) == expected


def test_rankings_of_a_batch_are_returned_in_the_order_of_its_calls():
    dispatcher = DriverDispatcher(
        {"a": NamedDriver("a", unbatched={"late": 1, "large": 2}), "b": NamedDriver("b", unbatched={"late": 3})}
    )
    with hosts.table({"h": node()}).reading() as view:
        batch = dispatcher.rank_batch(view, rank_requests("b", None, "a", "b"))()
    assert [ranking.candidates for ranking in batch.rankings] == [[["b 0"]], [["a 1"]], [["a 2"]], [["b 3"]]]
    assert batch.unbatched == {"late": 4, "large": 2}


def both(conf):
    scheduler_conf.register_opts(conf)
    conf.set_override("drivers", ["chance", "solver"], group="scheduler")
    return drivers.load(conf)


def test_request_is_ranked_by_the_driver_that_it_names(conf):
    driver = both(conf)
    assert [driver.name_for(hosts.request(driver=name)) for name in (None, "chance", "solver")] == [
        "filter",
        "chance",
        "solver",
    ]
    assert isinstance(driver["chance"], ChanceDriver)
    assert [driver.batches(hosts.request(driver=name)) for name in (None, "solver")] == [False, True]


def test_driver_that_is_not_configured_is_refused(conf):
    driver = both(conf)
    for name in (None, "filter", "solver"):
        driver.check(hosts.request(driver=name))
    with pytest.raises(errors.UnknownDriver, match="allowed: filter, chance, solver"):
        driver.check(hosts.request(driver="astrology"))
    with pytest.raises(errors.UnknownDriver, match="allowed: none"):
        filter_driver().check(hosts.request(driver="filter"))


def test_each_call_of_a_batch_is_ranked_by_its_own_driver(conf):
    driver = both(conf)
    table = hosts.table({"h0": node({"VCPU": 4}), "h1": node({"VCPU": 3})}, reads=driver.reads)
    names = ("solver", "chance", "solver")
    requests = [
        RankRequest(hosts.request({"VCPU": size}, driver=name), 1, size)
        for size, name in zip((3, 1, 4), names, strict=True)
    ]
    with table.reading() as view:
        pending = driver.rank_batch(view, requests)
    first, by_chance, last = pending().rankings
    assert by_chance is None
    assert (first.candidates[0][0], last.candidates[0][0]) == ("h1", "h0")
