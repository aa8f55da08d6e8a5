# SPDX-License-Identifier: Apache-2.0
"""Which forms of plugin are taken, in which order they run, and what is refused at start."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.drivers.filter import FilterDriver
from scheduler_svc.filters import pipeline
from scheduler_svc.plugins import loading
from tests.unit.scheduler_svc.hosts import node, request, table
from tests.unit.scheduler_svc.plugins.outside import configured

FORMS = """
    import numpy as np
    from scheduler_svc.filters.sieve import Filter, Sieve
    from scheduler_svc.weighers.weigher import Weigher

    def sieves(view, request):
        yield Sieve("too little memory", view.free("MEMORY_MB") >= 8192)

    READY = Filter("some name of its own", sieves, {"rack": frozenset({"watts"})})

    def from_conf(conf):
        assert conf.filter_scheduler.enabled_filters
        return READY

    class PerHost:
        reason = "wrong host"
        def host_passes(self, host_state, spec_obj):
            return host_state.host != "h0"

    INSTANCE = PerHost()

    def per_host_from_conf(conf):
        return PerHost()

    HEAVY = Weigher("x", lambda view, request: -view.free("VCPU"), lambda request: 2.0)

    class Weighs:
        def weigh(self, host_state, spec):
            return -host_state.vcpus_total

    class Novas:
        def _weigh_object(self, host_state, weight_properties):
            return -host_state.vcpus_total
"""
NODES = {f"h{number}": node({"VCPU": 8 + number, "MEMORY_MB": 4096 * number}) for number in range(4)}


def enabled(names, **more):
    return configured(enabled_filters=["ComputeFilter", *names], **more)


@pytest.mark.parametrize("what", ["READY", "from_conf"])
def test_a_columnar_filter_is_a_filter_or_a_callable_that_gives_one(outside, what):
    outside.install(FORMS, {"WattsFilter": what})
    (made,) = loading.filters(enabled(["WattsFilter"]))
    assert (made.name, made.reads) == ("WattsFilter", {"rack": frozenset({"watts"})})
    with table(NODES).reading() as view:
        left = pipeline.run([made], view, request({"VCPU": 1}))
    assert (left.left, left.reasons) == (2, {"too little memory": 2})


@pytest.mark.parametrize("what", ["PerHost", "INSTANCE", "per_host_from_conf"])
def test_a_per_host_filter_is_a_class_an_instance_or_what_a_callable_gives(outside, what):
    outside.install(FORMS, {"HostFilter": what})
    (made,) = loading.filters(enabled(["HostFilter"]))
    with table(NODES).reading() as view:
        left = pipeline.run([made], view, request({"VCPU": 1}))
    assert (left.left, left.reasons) == (3, {"wrong host": 1})


@pytest.mark.parametrize("what", ["HEAVY", "Weighs", "Novas"])
def test_a_weigher_of_each_form_decides(outside, what):
    outside.install(FORMS, weighers={"HeavyWeigher": what})
    conf = configured(enabled_weighers=["HeavyWeigher"], plugin_weight_multipliers={"HeavyWeigher": "2.5"})
    scheduler_conf.plugins.check(conf)
    with table(NODES).reading() as view:
        ranking = FilterDriver.from_conf(conf).rank(view, request({"VCPU": 1}), 1, 0)
    assert ranking.candidates[0] == ["h0", "h1", "h2", "h3"]
    assert ranking.best[0]["weights"] == {"HeavyWeigher": 2.5}


def test_what_comes_from_outside_runs_after_what_is_built_in_and_per_host_ones_last(outside):
    outside.install(FORMS, {"HostFilter": "PerHost", "WattsFilter": "READY"})
    conf = configured(enabled_filters=["HostFilter", "WattsFilter", "ComputeFilter", "ResourcesFilter"])
    driver = FilterDriver.from_conf(conf)
    names = list(dict.fromkeys(each.name for each in driver.filters))
    assert names == ["ComputeFilter", "MembershipFilter", "ResourcesFilter", "WattsFilter", "HostFilter"]


def test_what_is_installed_but_not_enabled_is_not_even_imported(outside):
    outside.install("raise RuntimeError('imported')", {"HostFilter": "x"})
    assert loading.filters(enabled([])) == []


@pytest.mark.parametrize(
    ("source", "what", "why"),
    [
        ("raise RuntimeError('no luck')", "x", "RuntimeError: no luck"),
        ("import there_is_no_such_module", "x", "there_is_no_such_module"),
        ("x = 1", "y", "AttributeError"),
        ("x = 1", "x", "gives a int, which is no Filter"),
        ("def x(conf): return 'a text'", "x", "gives a str, which is no Filter"),
        ("def x(): return None", "x", "TypeError"),
        ("class X:\n    def __init__(self): 1 / 0\n    def host_passes(self, h, s): pass", "X", "ZeroDivisionError"),
        ("class X:\n    reads = 5\n    def host_passes(self, h, s): pass", "X", "AttributeError"),
    ],
)
def test_one_that_cannot_be_loaded_is_named_with_its_distribution(outside, source, what, why):
    outside.install(source, {"BadFilter": what})
    with pytest.raises(errors.BadConfiguration, match=rf"gantt.filters: BadFilter, of acme 1.2, .*{why}"):
        loading.filters(enabled(["BadFilter"]))


def test_a_name_that_is_also_built_in_is_refused_where_it_is_enabled(outside):
    outside.install(FORMS, {"ComputeFilter": "PerHost"})
    with pytest.raises(errors.BadConfiguration, match=r"in acme 1.2 and in gantt itself"):
        loading.filters(enabled([]))


def test_a_name_of_two_distributions_is_refused(outside):
    outside.install(FORMS, {"HostFilter": "PerHost"})
    outside.install(FORMS, {"HostFilter": "PerHost"}, dist="other")
    conf = enabled(["HostFilter"])
    with pytest.raises(errors.BadConfiguration, match=r"acme 1.2"):
        loading.filters(conf)
    with pytest.raises(errors.BadConfiguration, match=r"other 1.2"):
        scheduler_conf.check(conf)


def test_the_start_knows_plugins_by_name_and_refuses_others_without_importing_any(outside):
    outside.install("raise RuntimeError('imported')", {"HostFilter": "x"}, {"HeavyWeigher": "x"})
    scheduler_conf.check(enabled(["HostFilter"], enabled_weighers=["HeavyWeigher", "RAMWeigher"]))
    with pytest.raises(errors.BadConfiguration, match=r"no filter OtherFilter; known: .*HostFilter"):
        scheduler_conf.check(enabled(["OtherFilter"]))


@pytest.mark.parametrize("text", ["much", "inf", "nan", ""])
def test_a_weight_that_is_no_number_is_refused(text):
    with pytest.raises(errors.BadConfiguration, match="plugin_weight_multipliers: X:"):
        scheduler_conf.plugins.check(configured(plugin_weight_multipliers={"X": text}))
