# SPDX-License-Identifier: Apache-2.0
"""Plugins that raise, return invalid values or modify their input are reported, counted, and skipped or fatal."""

import pytest
from prometheus_client import REGISTRY

from rpcapi import errors
from scheduler_svc.composition import drivers
from scheduler_svc.core import timings as figures
from tests.support.scheduler.hosts import node, request, table
from tests.support.scheduler.outside import make_conf

HEAD = """
    import numpy as np
    from scheduler_svc.core.matching.predicate import Filter, HostPredicate
    from scheduler_svc.core.weighers.weigher import Weigher
    def ones(view, more=0):
        return np.ones(view.size + more, bool)
    def columnar(predicates):
        return Filter("x", predicates)
    def weigher(raw):
        return Weigher("x", raw, lambda request: 0.0)
    class Host:
        def __init__(self, answer): self.answer = answer
        def host_passes(self, host_state, spec): return self.answer(host_state, spec)
    class Weighs:
        def __init__(self, answer): self.answer = answer
        def weigh(self, host_state, spec): return self.answer(host_state, spec)
"""
# Plugin source -> expected error text.
FILTERS = {
    "columnar(lambda view, request: 1 / 0)": "ZeroDivisionError: division by zero",
    "columnar(lambda view, request: [HostPredicate('a', np.zeros(view.size, bool)), None])": "got NoneType",
    "columnar(lambda view, request: [HostPredicate('a', ones(view, 1))])": r"3 booleans.*bool of shape \(4,\)",
    "columnar(lambda view, request: [HostPredicate('a', np.ones(view.size))])": r"3 booleans.*float64 of shape \(3,\)",
    "columnar(lambda view, request: [HostPredicate('a', True)])": "3 booleans, got a bool",
    "columnar(lambda view, request: [HostPredicate(5, ones(view))])": "must be HostPredicate",
    "columnar(lambda view, request: (HostPredicate('a', ones(view)) for _ in iter(int, 1)))": "at most 100",
    "columnar(lambda view, request: None)": "not iterable",
    "columnar(lambda view, request: view.hosts.free('VCPU').fill(0))": "read-only",
    "columnar(lambda view, request: view.services.alive.fill(False))": "read-only",
    "Filter('x', None, per_host=lambda view, request, passed: passed.fill(False))": "read-only",
    "columnar(lambda view, request: [view.state('rack', 'watts')])": "LookupError: .*rack",
    "Host(lambda host, spec: 1 / 0)": r"ZeroDivisionError: division by zero \(at host h0\)",
    "Host(lambda host, spec: None)": r"true or false, got .None. \(at host h0\)",
    "Host(lambda host, spec: host.pci_stats)": "AttributeError.*pci_stats",
    "Host(lambda host, spec: host.traits.add('X') or host.name != 'h1' or {}['y'])": r"KeyError: 'y' \(at host h1\)",
}
WEIGHERS = {
    "weigher(lambda view, request: 1 / 0)": "ZeroDivisionError",
    "weigher(lambda view, request: np.zeros(view.size + 1))": "3 numbers",
    "weigher(lambda view, request: np.zeros(view.size, bool))": "3 numbers, got an array of bool",
    "weigher(lambda view, request: [1.0] * view.size)": "3 numbers, got a list",
    "weigher(lambda view, request: np.full(view.size, np.nan))": "3 of 3 numbers are not finite",
    "weigher(lambda view, request: view.hosts.free('VCPU').__isub__(5))": "read-only",
    "Weigher('x', lambda view, request: np.arange(view.size), lambda request: 1 / 0)": "ZeroDivisionError",
    "Weighs(lambda host, spec: 'heavy')": "a number, got .heavy.",
    "Weighs(lambda host, spec: float('inf'))": "3 of 3 numbers",
    "Weighs(lambda host, spec: {}[host.name])": r"KeyError: 'h0' \(at host h0\)",
}
NODES = {f"h{number}": node() for number in range(3)}
READS = {"compute": frozenset({"metrics.failed_builds"})}  # read by the default weighers
RESOURCES = {"VCPU": 1}


def decide(conf, **more):
    with table(NODES, reads=READS).reading() as view:
        return drivers.filter_driver(conf).rank(view, request(RESOURCES, **more), 1, 0)


def count_errors(kind):
    return REGISTRY.get_sample_value("gantt_scheduler_plugin_errors_total", {"kind": kind, "name": "Bad"}) or 0


@pytest.mark.parametrize("what", FILTERS)
def test_failing_filter_with_skip_has_no_effect_and_is_logged_and_counted(plugin_installer, caplog, what):
    plugin_installer.install(HEAD + f"    BAD = {what}\n", {"Bad": "BAD"})
    before = count_errors("filter")
    ranking = decide(make_conf(enabled_filters=["ComputeFilter", "Bad"], on_plugin_error="skip"))
    assert len(ranking.candidates[0]) == 3
    assert ranking.reasons == {}
    timings = figures.find_timings("filter", "Bad")
    assert (timings.calls, timings.errors, count_errors("filter") - before) == (1, 1, 1)
    assert "Plugin failed: filter Bad of acme 1.2, 1 failures so far" in caplog.text


@pytest.mark.parametrize("what", FILTERS)
def test_failing_filter_with_fatal_fails_the_request(plugin_installer, what):
    plugin_installer.install(HEAD + f"    BAD = {what}\n", {"Bad": "BAD"})
    with pytest.raises(errors.PluginFailed, match=f"'Bad' of acme 1.2 failed: .*{FILTERS[what]}"):
        decide(make_conf(enabled_filters=["ComputeFilter", "Bad"]))


@pytest.mark.parametrize("what", WEIGHERS)
def test_failing_weigher_with_skip_adds_nothing(plugin_installer, what):
    plugin_installer.install(HEAD + f"    BAD = {what}\n", weighers={"Bad": "BAD"})
    before = count_errors("weigher")
    ranking = decide(make_conf(enabled_weighers=["Bad"], on_plugin_error="skip"))
    assert len(ranking.candidates[0]) == 3
    assert count_errors("weigher") - before == 1


@pytest.mark.parametrize("what", WEIGHERS)
def test_failing_weigher_with_fatal_fails_the_request(plugin_installer, what):
    plugin_installer.install(HEAD + f"    BAD = {what}\n", weighers={"Bad": "BAD"})
    with pytest.raises(errors.PluginFailed, match=f"weigher 'Bad' .*{WEIGHERS[what]}"):
        decide(make_conf(enabled_weighers=["Bad"]))


def test_repeated_plugin_failures_are_logged_once(plugin_installer, caplog):
    plugin_installer.install(HEAD + "    BAD = columnar(lambda view, request: 1 / 0)\n", {"Bad": "BAD"})
    driver = drivers.filter_driver(make_conf(enabled_filters=["Bad"], on_plugin_error="skip"))
    with table(NODES, reads=READS).reading() as view:
        for _ in range(5):
            driver.rank(view, request(RESOURCES), 1, 0)
    assert caplog.text.count("Plugin failed:") == 1
    assert figures.find_timings("filter", "Bad").errors == 5


WRITES = """
    def predicates(view, request):
        request.resources["VCPU"] = 1000
        request.hints["a"].append("b")
        yield HostPredicate("a", np.ones(view.size, bool))
    BAD = Filter("x", predicates)
"""


def test_plugin_cannot_modify_the_request(plugin_installer):
    plugin_installer.install(HEAD + WRITES, {"Bad": "BAD"})
    hints = {"a": []}
    scheduling_request = request(dict(RESOURCES), hints=hints)
    driver = drivers.filter_driver(make_conf(enabled_filters=["Bad", "ResourcesFilter"]))
    with table(NODES, reads=READS).reading() as view:
        assert driver.rank(view, scheduling_request, 1, 0).candidates
    assert (scheduling_request.resources, hints) == (RESOURCES, {"a": []})


def test_per_host_plugin_is_called_for_remaining_hosts_only(plugin_installer):
    source = "    CALLS = []\n    BAD = Host(lambda host, spec: CALLS.append(host.name) or True)\n"
    module = plugin_installer.install(HEAD + source, {"Bad": "BAD"})
    ranking = decide(make_conf(enabled_filters=["IgnoreHostsFilter", "Bad"]), ignore_hosts=("h1",))
    assert sorted(ranking.candidates[0]) == ["h0", "h2"]
    assert __import__(module).CALLS == ["h0", "h2"]
    timings = figures.find_timings("filter", "Bad")
    assert (timings.calls, timings.hosts) == (1, 2)
    assert timings.seconds > 0


def test_columns_of_a_view_are_read_only_or_copies():
    with table(NODES, reads=READS).reading() as view:
        shared = [
            view.present,
            view.services.alive,
            view.services.enabled,
            view.services.opened,
            view.services.audit_pending,
            view.hosts.free("VCPU"),
        ]
        for column in [*shared, view.hosts.capacity("VCPU")]:
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 0
        columns = [
            *(lambda: view.match_names(["h1"]), lambda: view.in_zone("z"), lambda: view.aggregates.members(["a"])),
            *(
                lambda: view.has_numa_cells,
                lambda: view.hosts.has_any(["CUSTOM_A"]),
                lambda: view.trees.containing("h1"),
            ),
            *(lambda: view.facts.where(lambda facts: False, "none"), lambda: view.in_partition("nowhere")),
        ]
        for make_column in columns:
            make_column().fill(True)
            assert not make_column()[0], "each call returns a new column"
        for column in (view.trees.free("VCPU"), view.trees.hosts.free("VCPU"), view.trees.hosts.capacity("VCPU")):
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 0
