# SPDX-License-Identifier: Apache-2.0
"""Plugin forms, their order, and errors at start."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.core.filtering import pipeline
from tests.support.scheduler.hosts import node, request, table
from tests.support.scheduler.outside import make_conf

FORMS = """
    import numpy as np
    from scheduler_svc.core.matching.predicate import Filter, HostPredicate
    from scheduler_svc.core.weighers.weigher import Weigher

    def predicates(view, request):
        yield HostPredicate("too little memory", view.hosts.free("MEMORY_MB") >= 8192)

    READY = Filter("some name of its own", predicates, {"rack": frozenset({"watts"})})

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

    HEAVY = Weigher("x", lambda view, request: -view.hosts.free("VCPU"), lambda request: 2.0)

    class Weighs:
        def weigh(self, host_state, spec):
            return -host_state.vcpus_total

    class Novas:
        def _weigh_object(self, host_state, weight_properties):
            return -host_state.vcpus_total
"""
NODES = {f"h{number}": node({"VCPU": 8 + number, "MEMORY_MB": 4096 * number}) for number in range(4)}


def conf_with_filters(names, **more):
    return make_conf(enabled_filters=["ComputeFilter", *names], **more)


@pytest.mark.parametrize("what", ["READY", "from_conf"])
def test_columnar_filter_may_be_a_filter_or_a_callable(plugin_installer, what):
    plugin_installer.install(FORMS, {"WattsFilter": what})
    (plugin,) = drivers.external_filters(conf_with_filters(["WattsFilter"]))
    assert (plugin.name, plugin.reads) == ("WattsFilter", {"rack": frozenset({"watts"})})
    with table(NODES).reading() as view:
        survivors = pipeline.run([plugin], view, request({"VCPU": 1}))
    assert (survivors.count, survivors.reasons) == (2, {"too little memory": 2})


@pytest.mark.parametrize("what", ["PerHost", "INSTANCE", "per_host_from_conf"])
def test_per_host_filter_may_be_a_class_an_instance_or_a_callable(plugin_installer, what):
    plugin_installer.install(FORMS, {"HostFilter": what})
    (plugin,) = drivers.external_filters(conf_with_filters(["HostFilter"]))
    with table(NODES).reading() as view:
        survivors = pipeline.run([plugin], view, request({"VCPU": 1}))
    assert (survivors.count, survivors.reasons) == (3, {"wrong host": 1})


@pytest.mark.parametrize("what", ["HEAVY", "Weighs", "Novas"])
def test_all_weigher_forms_affect_the_decision(plugin_installer, what):
    plugin_installer.install(FORMS, weighers={"HeavyWeigher": what})
    conf = make_conf(enabled_weighers=["HeavyWeigher"], plugin_weight_multipliers={"HeavyWeigher": "2.5"})
    scheduler_conf.plugins.check(conf)
    with table(NODES).reading() as view:
        ranking = drivers.filter_driver(conf).rank(view, request({"VCPU": 1}), 1, 0)
    assert ranking.candidates[0] == ["h0", "h1", "h2", "h3"]
    assert ranking.best[0]["weights"] == {"HeavyWeigher": 2.5}


def test_external_filters_run_after_built_in_ones_and_per_host_filters_last(plugin_installer):
    plugin_installer.install(FORMS, {"HostFilter": "PerHost", "WattsFilter": "READY"})
    conf = make_conf(enabled_filters=["HostFilter", "WattsFilter", "ComputeFilter", "ResourcesFilter"])
    driver = drivers.filter_driver(conf)
    names = list(dict.fromkeys(host_filter.name for host_filter in driver.filters))
    assert names == ["ComputeFilter", "MembershipFilter", "ResourcesFilter", "WattsFilter", "HostFilter"]


def test_disabled_plugin_is_not_imported(plugin_installer):
    plugin_installer.install("raise RuntimeError('imported')", {"HostFilter": "x"})
    assert drivers.external_filters(conf_with_filters([])) == []


@pytest.mark.parametrize(
    ("source", "what", "why"),
    [
        ("raise RuntimeError('no luck')", "x", "RuntimeError: no luck"),
        ("import there_is_no_such_module", "x", "there_is_no_such_module"),
        ("x = 1", "y", "AttributeError"),
        ("x = 1", "x", "must be a Filter, got int"),
        ("def x(conf): return 'a text'", "x", "must be a Filter, got str"),
        ("def x(): return None", "x", "TypeError"),
        ("class X:\n    def __init__(self): 1 / 0\n    def host_passes(self, h, s): pass", "X", "ZeroDivisionError"),
        ("class X:\n    reads = 5\n    def host_passes(self, h, s): pass", "X", "AttributeError"),
    ],
)
def test_load_error_names_plugin_and_distribution(plugin_installer, source, what, why):
    plugin_installer.install(source, {"BadFilter": what})
    with pytest.raises(errors.BadConfiguration, match=rf"gantt.filters: cannot load BadFilter of acme 1.2: .*{why}"):
        drivers.external_filters(conf_with_filters(["BadFilter"]))


def test_enabled_plugin_with_a_built_in_name_is_refused(plugin_installer):
    plugin_installer.install(FORMS, {"ComputeFilter": "PerHost"})
    with pytest.raises(errors.BadConfiguration, match=r"in acme 1.2 and in gantt itself"):
        drivers.external_filters(conf_with_filters([]))


def test_plugin_name_in_two_distributions_is_refused(plugin_installer):
    plugin_installer.install(FORMS, {"HostFilter": "PerHost"})
    plugin_installer.install(FORMS, {"HostFilter": "PerHost"}, dist="other")
    conf = conf_with_filters(["HostFilter"])
    with pytest.raises(errors.BadConfiguration, match=r"acme 1.2"):
        drivers.external_filters(conf)
    with pytest.raises(errors.BadConfiguration, match=r"other 1.2"):
        scheduler_conf.check(conf)


def test_start_checks_plugin_names_without_importing_them(plugin_installer):
    plugin_installer.install("raise RuntimeError('imported')", {"HostFilter": "x"}, {"HeavyWeigher": "x"})
    scheduler_conf.check(conf_with_filters(["HostFilter"], enabled_weighers=["HeavyWeigher", "RAMWeigher"]))
    with pytest.raises(errors.BadConfiguration, match=r"unknown filter OtherFilter; allowed: .*HostFilter"):
        scheduler_conf.check(conf_with_filters(["OtherFilter"]))
