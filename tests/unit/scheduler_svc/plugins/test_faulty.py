# SPDX-License-Identifier: Apache-2.0
"""Plugins that raise, answer nonsense, or write where they may only read: named, counted, skipped or fatal."""

import pytest
from prometheus_client import REGISTRY

from rpcapi import errors
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.plugins import figures
from tests.unit.scheduler_svc.hosts import node, request, table
from tests.unit.scheduler_svc.plugins.outside import configured

HEAD = """
    import numpy as np
    from scheduler_svc.filters.sieve import Filter, Sieve
    from scheduler_svc.weighers.weigher import Weigher
    def columnar(sieves):
        return Filter("x", sieves)
    def weigher(raw):
        return Weigher("x", raw, lambda request: 0.0)
    class Host:
        def __init__(self, answer): self.answer = answer
        def host_passes(self, host_state, spec): return self.answer(host_state, spec)
    class Weighs:
        def __init__(self, answer): self.answer = answer
        def weigh(self, host_state, spec): return self.answer(host_state, spec)
"""
# What a plugin is, and what is said of its failure.
FILTERS = {
    "columnar(lambda view, request: 1 / 0)": "ZeroDivisionError: division by zero",
    "columnar(lambda view, request: [Sieve('a', np.zeros(view.size, bool)), None])": "not NoneType",
    "columnar(lambda view, request: [Sieve('a', np.ones(view.size + 1, bool))])": r"3 booleans.*bool of shape \(4,\)",
    "columnar(lambda view, request: [Sieve('a', np.ones(view.size))])": r"3 booleans.*float64 of shape \(3,\)",
    "columnar(lambda view, request: [Sieve('a', True)])": "3 booleans, not a bool",
    "columnar(lambda view, request: [Sieve(5, np.ones(view.size, bool))])": "must give Sieve",
    "columnar(lambda view, request: (Sieve('a', np.ones(view.size, bool)) for _ in iter(int, 1)))": "more than 100",
    "columnar(lambda view, request: None)": "not iterable",
    "columnar(lambda view, request: view.free('VCPU').fill(0))": "read-only",
    "columnar(lambda view, request: view.alive.fill(False))": "read-only",
    "Filter('x', None, among=lambda view, request, left: left.fill(False))": "read-only",
    "columnar(lambda view, request: [view.state('rack', 'watts')])": "LookupError: .*rack",
    "Host(lambda host, spec: 1 / 0)": r"ZeroDivisionError: division by zero \(at host h0\)",
    "Host(lambda host, spec: None)": r"true or false, not .None. \(at host h0\)",
    "Host(lambda host, spec: host.pci_stats)": "AttributeError.*pci_stats",
    "Host(lambda host, spec: host.traits.add('X') or host.name != 'h1' or {}['y'])": r"KeyError: 'y' \(at host h1\)",
}
WEIGHERS = {
    "weigher(lambda view, request: 1 / 0)": "ZeroDivisionError",
    "weigher(lambda view, request: np.zeros(view.size + 1))": "3 numbers",
    "weigher(lambda view, request: np.zeros(view.size, bool))": "3 numbers, not an array of bool",
    "weigher(lambda view, request: [1.0] * view.size)": "3 numbers, not a list",
    "weigher(lambda view, request: np.full(view.size, np.nan))": "3 of its 3 figures are not finite",
    "weigher(lambda view, request: view.free('VCPU').__isub__(5))": "read-only",
    "Weigher('x', lambda view, request: np.arange(view.size), lambda request: 1 / 0)": "ZeroDivisionError",
    "Weighs(lambda host, spec: 'heavy')": "a number, not .heavy.",
    "Weighs(lambda host, spec: float('inf'))": "3 of its 3 figures",
    "Weighs(lambda host, spec: {}[host.name])": r"KeyError: 'h0' \(at host h0\)",
}
NODES = {f"h{number}": node() for number in range(3)}
READS = {"compute": frozenset({"metrics.failed_builds"})}  # what the default weighers do
ASKED = {"VCPU": 1}


def decide(conf, **more):
    with table(NODES, reads=READS).reading() as view:
        return FilterDriver.from_conf(conf).rank(view, request(ASKED, **more), 1, 0)


def counted(kind):
    return REGISTRY.get_sample_value("gantt_plugin_errors_total", {"kind": kind, "name": "Bad"}) or 0


@pytest.mark.parametrize("what", FILTERS)
def test_a_filter_that_fails_is_skipped_whole_named_and_counted(outside, caplog, what):
    outside.install(HEAD + f"    BAD = {what}\n", {"Bad": "BAD"})
    before = counted("filter")
    ranking = decide(configured(enabled_filters=["ComputeFilter", "Bad"], on_plugin_error="skip"))
    assert len(ranking.candidates[0]) == 3
    assert ranking.reasons == {}
    told = figures.of("filter", "Bad")
    assert (told.calls, told.errors, counted("filter") - before) == (1, 1, 1)
    assert "The filter Bad, a plugin of acme 1.2, failed; 1 times so far" in caplog.text


@pytest.mark.parametrize("what", FILTERS)
def test_a_filter_that_fails_is_the_requests_failure_where_that_is_configured(outside, what):
    outside.install(HEAD + f"    BAD = {what}\n", {"Bad": "BAD"})
    with pytest.raises(errors.PluginFailed, match=f"'Bad', a plugin of acme 1.2, failed: .*{FILTERS[what]}"):
        decide(configured(enabled_filters=["ComputeFilter", "Bad"]))


@pytest.mark.parametrize("what", WEIGHERS)
def test_a_weigher_that_fails_adds_nothing(outside, what):
    outside.install(HEAD + f"    BAD = {what}\n", weighers={"Bad": "BAD"})
    before = counted("weigher")
    ranking = decide(configured(enabled_weighers=["Bad"], on_plugin_error="skip"))
    assert len(ranking.candidates[0]) == 3
    assert counted("weigher") - before == 1


@pytest.mark.parametrize("what", WEIGHERS)
def test_a_weigher_that_fails_is_fatal_where_that_is_configured(outside, what):
    outside.install(HEAD + f"    BAD = {what}\n", weighers={"Bad": "BAD"})
    with pytest.raises(errors.PluginFailed, match=f"weigher 'Bad', .*{WEIGHERS[what]}"):
        decide(configured(enabled_weighers=["Bad"]))


def test_a_plugin_that_fails_each_time_fills_no_log(outside, caplog):
    outside.install(HEAD + "    BAD = columnar(lambda view, request: 1 / 0)\n", {"Bad": "BAD"})
    driver = FilterDriver.from_conf(configured(enabled_filters=["Bad"], on_plugin_error="skip"))
    with table(NODES, reads=READS).reading() as view:
        for _ in range(5):
            driver.rank(view, request(ASKED), 1, 0)
    assert caplog.text.count("failed;") == 1
    assert figures.of("filter", "Bad").errors == 5


WRITES = """
    def sieves(view, request):
        request.resources["VCPU"] = 1000
        request.hints["a"].append("b")
        yield Sieve("a", np.ones(view.size, bool))
    BAD = Filter("x", sieves)
"""


def test_what_a_plugin_does_to_its_request_stays_with_it(outside):
    outside.install(HEAD + WRITES, {"Bad": "BAD"})
    hints = {"a": []}
    asked = request(dict(ASKED), hints=hints)
    driver = FilterDriver.from_conf(configured(enabled_filters=["Bad", "ResourcesFilter"]))
    with table(NODES, reads=READS).reading() as view:
        assert driver.rank(view, asked, 1, 0).candidates
    assert (asked.resources, hints) == (ASKED, {"a": []})


def test_a_per_host_plugin_sees_the_hosts_that_are_left_and_nothing_else(outside):
    source = "    SEEN = []\n    BAD = Host(lambda host, spec: SEEN.append(host.name) or True)\n"
    module = outside.install(HEAD + source, {"Bad": "BAD"})
    ranking = decide(configured(enabled_filters=["IgnoreHostsFilter", "Bad"]), ignore_hosts=("h1",))
    assert sorted(ranking.candidates[0]) == ["h0", "h2"]
    assert __import__(module).SEEN == ["h0", "h2"]
    told = figures.of("filter", "Bad")
    assert (told.calls, told.hosts) == (1, 2)
    assert told.seconds > 0


def test_every_column_of_a_view_is_read_only():
    with table(NODES, reads=READS).reading() as view:
        shared = [view.there, view.alive, view.enabled, view.opened, view.awaited, view.free("VCPU")]
        for column in [*shared, view.capacity("VCPU")]:
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 0
        ways = [
            *(lambda: view.named(["h1"]), lambda: view.in_zone("z"), lambda: view.aggregates.members(["a"])),
            *(lambda: view.celled, lambda: view.having_any(["CUSTOM_A"]), lambda: view.tree_named("h1")),
            *(lambda: view.facts.where(lambda facts: False, "none"), lambda: view.within("nowhere")),
        ]
        for made in ways:
            made().fill(True)
            assert not made()[0], "what is made for one who asks is that one's own"
        for column in (view.tree_free("VCPU"), view.trees.hosts.free("VCPU"), view.trees.hosts.capacity("VCPU")):
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 0
