# SPDX-License-Identifier: Apache-2.0
"""The application of filters: order, counts of rejections, enabled filters."""

import pytest

from rpcapi import errors
from rpcapi.resources import transient
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import enabled as enabled_conf
from scheduler_svc.core.built_in import DEFAULT_FILTERS
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.filters import compute, resources
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.records import LogEntry
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request

NODES = {
    "a/1": node(zone="az1"),
    "a/2": node({"VCPU": 1, "MEMORY_MB": 16384, "DISK_GB": 200}, zone="az1"),
    "b/1": node(zone="az2"),
    "c/1": node(),
}


def test_default_filters_cover_all_request_conditions(conf):
    scheduler_conf.register_opts(conf)
    names = enabled_conf.filters(conf)
    assert [host_filter.name for host_filter in pipeline.build(names)] == [*names, compute.NAME]
    expected = {"ForceHostsFilter", "IgnoreHostsFilter", "AvailabilityZoneFilter", "TraitsFilter", "ResourcesFilter"}
    assert set(names) >= expected | {"ComputeFilter", "ServerGroupAffinityFilter", "ServerGroupAntiAffinityFilter"}


def run(scheduling_request, enabled=DEFAULT_FILTERS, entries=()):
    table = hosts.table(NODES)
    for entry in entries:
        table.apply(entry)
    with table.reading() as view:
        return pipeline.run(pipeline.build(enabled), view, scheduling_request)


def test_host_is_counted_for_its_first_rejection_only():
    down = LogEntry(101, "alive", {"a": False})
    disabled = LogEntry(102, "service", {"c": {"enabled": False}})
    survivors = run(request({"VCPU": 100}, availability_zone="az2"), entries=[down, disabled])
    assert (survivors.count, survivors.hosts) == (0, 4)
    reasons = [("service disabled", 1), ("availability zone", 2), ("not enough VCPU", 1)]
    assert list(survivors.reasons.items()) == reasons


def test_host_is_just_down_only_if_it_meets_all_other_conditions():
    down = [LogEntry(101, "alive", {"a": False, "b": False})]
    assert run(request(availability_zone="az1"), entries=down).reasons == {
        "availability zone": 2,
        "not enough VCPU": 1,
        transient.JUST_DOWN: 1,
    }
    assert run(request({"VCPU": 100}), entries=down).reasons == {"not enough VCPU": 4}


def test_host_is_just_down_only_if_plugins_accept_it():
    """Given a plugin that accepts only host b."""
    plugin = Filter("Plugin", lambda view, _request: [HostPredicate("not b", view.match_names(["b/1"]))])
    table = hosts.table(NODES)
    table.apply(LogEntry(101, "alive", {"a": False, "b": False}))
    with table.reading() as view:
        filters = pipeline.build([*DEFAULT_FILTERS, plugin.name], plugins=[plugin])
        survivors = pipeline.run(filters, view, request())
    assert survivors.reasons == {"not enough VCPU": 1, "not b": 2, transient.JUST_DOWN: 1}


def test_survivors_mask_and_count():
    survivors = run(request())
    assert survivors.count == 3
    assert survivors.passes.tolist() == [True, False, True, True]
    assert survivors.reasons == {"not enough VCPU": 1}


def test_deleted_hosts_are_not_counted():
    survivors = run(request(), entries=[LogEntry(101, "gone", ["a/1", "a/2"])])
    assert (survivors.count, survivors.hosts, survivors.reasons) == (2, 2, {})


def test_filters_can_be_disabled_and_their_order_is_fixed():
    assert run(request({"VCPU": 100}), enabled=["AvailabilityZoneFilter"]).count == 4
    assert [host_filter.name for host_filter in pipeline.build(reversed(DEFAULT_FILTERS))] == [
        *DEFAULT_FILTERS,
        compute.NAME,
    ]
    all_filters = pipeline.build(DEFAULT_FILTERS)
    eligibility = pipeline.without_capacity(all_filters)
    assert {host_filter.predicates for host_filter in all_filters} - {
        host_filter.predicates for host_filter in eligibility
    } >= {resources.predicates}
    assert resources.NAME not in {host_filter.name for host_filter in eligibility}


def test_requested_aggregates_and_tree_apply_with_any_enabled_filters():
    for scheduling_request in (request(member_of=(("nobodys",),)), request(in_tree="elsewhere/1")):
        assert run(scheduling_request, enabled=["AllHostsFilter"]).count == 0
        with hosts.table(NODES).reading() as view:
            assert pipeline.run(pipeline.without_capacity(pipeline.build([])), view, scheduling_request).count == 0
    assert pipeline.build([])[0].reads == {"aggregate": {"hosts"}}


def test_unknown_filter_raises_bad_configuration():
    with pytest.raises(errors.BadConfiguration, match="unknown filter RamFilter"):
        pipeline.build(["RamFilter"])
