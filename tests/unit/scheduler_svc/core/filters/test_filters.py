# SPDX-License-Identifier: Apache-2.0
"""Filters, and how the pipeline counts rejections."""

import pytest

from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import filters
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.filters import (
    audited,
    availability_zone,
    compute,
    force_hosts,
    ignore_hosts,
    resources,
    server_group,
    traits,
)
from scheduler_svc.core.records import LogEntry
from tests.unit.scheduler_svc.fakes import hosts
from tests.unit.scheduler_svc.fakes.hosts import EPOCH, node, request

AVX = "HW_CPU_X86_AVX2"
NODES = {
    "a/1": node(traits=[AVX], zone="az1"),
    "a/2": node({"VCPU": 1, "MEMORY_MB": 16384, "DISK_GB": 200}, zone="az1"),
    "b/1": node(traits=[AVX, "CUSTOM_SLOW"], zone="az2"),
    "c/1": node(),
}


def passing(predicates, scheduling_request, nodes=NODES, entries=()):
    """Return the names of the hosts that pass all predicates, and the reasons in order."""
    table = hosts.table(nodes)
    for entry in entries:
        table.apply(entry)
    with table.reading() as view:
        survivors, reasons = view.present.copy(), []
        for reason, column in predicates(view, scheduling_request):
            survivors &= column
            reasons.append(reason)
        return [view.name(row) for row in range(view.size) if survivors[row]], reasons


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (LogEntry(101, "alive", {"a": False}), ["b/1", "c/1"]),
        (LogEntry(101, "service", {"b": {"enabled": False}}), ["a/1", "a/2", "c/1"]),
    ],
)
def test_compute_filter_requires_alive_and_enabled_services(entry, expected):
    assert passing(compute.predicates, request(), entries=[entry])[0] == expected


def test_compute_filter_requires_audited_services():
    entries = [LogEntry(101, "opened", {"c": EPOCH - 1})]
    assert passing(audited.predicates, request(), entries=entries)[0] == ["a/1", "a/2", "b/1"]


def test_resources_filter_has_a_reason_per_class():
    survivors, reasons = passing(resources.predicates, request())
    assert survivors == ["a/1", "b/1", "c/1"]
    assert reasons == ["not enough VCPU", "not enough MEMORY_MB", "not enough DISK_GB"]


def test_resources_filter_subtracts_claims():
    used = LogEntry(101, "used", {"a/1": {"MEMORY_MB": 12289}, "b/1": {"MEMORY_MB": 12288}})
    assert passing(resources.predicates, request(), entries=[used])[0] == ["b/1", "c/1"]


def test_host_without_the_resource_class_is_rejected():
    assert passing(resources.predicates, request({"CUSTOM_GPU": 1}))[0] == []


@pytest.mark.parametrize(
    ("inventory", "amount", "passes"),
    [
        (Inventory(64, min_unit=4), 3, False),
        (Inventory(64, min_unit=4), 4, True),
        (Inventory(64, max_unit=8), 9, False),
        (Inventory(64, max_unit=8), 8, True),
        (Inventory(64, step_size=4), 6, False),
        (Inventory(64, step_size=4), 8, True),
        (Inventory(10, reserved=2, allocation_ratio=1.15), 9, True),
        (Inventory(10, reserved=2, allocation_ratio=1.15), 10, False),
    ],
)
def test_resources_filter_applies_unit_rules_and_capacity(inventory, amount, passes):
    survivors, _ = passing(
        resources.predicates, request({"VCPU": amount}), {"x": node({"VCPU": inventory}), "y": node()}
    )
    assert ("x" in survivors) is passes


def test_zone_filter_applies_only_to_requests_with_a_zone():
    assert passing(availability_zone.predicates, request(availability_zone="az1"))[0] == ["a/1", "a/2"]
    assert passing(availability_zone.predicates, request(availability_zone="az9"))[0] == []
    assert passing(availability_zone.predicates, request()) == (list(NODES), [])


def test_required_and_forbidden_traits():
    assert passing(traits.predicates, request(required_traits=(AVX,)))[0] == ["a/1", "b/1"]
    assert passing(traits.predicates, request(forbidden_traits=("CUSTOM_SLOW",)))[0] == ["a/1", "a/2", "c/1"]
    both = request(required_traits=(AVX,), forbidden_traits=("CUSTOM_SLOW",))
    assert passing(traits.predicates, both)[0] == ["a/1"]
    assert passing(traits.predicates, request(required_traits=("CUSTOM_UNSEEN",)))[0] == []
    assert passing(traits.predicates, request(forbidden_traits=("CUSTOM_UNSEEN",)))[0] == list(NODES)


def test_forced_and_ignored_hosts_by_node_and_by_service_host():
    assert passing(force_hosts.predicates, request(force_hosts=("a", "c/1")))[0] == ["a/1", "a/2", "c/1"]
    assert passing(ignore_hosts.predicates, request(ignore_hosts=("a/1", "b")))[0] == ["a/2", "c/1"]
    assert passing(force_hosts.predicates, request()) == (list(NODES), [])
    assert passing(ignore_hosts.predicates, request()) == (list(NODES), [])


def test_hosts_excluded_by_the_server_group_are_rejected():
    assert passing(server_group.anti_affine, request().with_decision(excluded_hosts=("a/1", "b/1")))[0] == [
        "a/2",
        "c/1",
    ]
    assert passing(server_group.affine, request().with_decision(group_hosts=("a/2",)))[0] == ["a/2"]
    assert passing(server_group.anti_affine, request()) == passing(server_group.affine, request()) == (list(NODES), [])


def test_default_filters_cover_all_request_conditions(conf):
    scheduler_conf.register_opts(conf)
    names = filters.enabled(conf)
    assert [host_filter.name for host_filter in pipeline.build(names)] == [*names, compute.NAME]
    expected = {"ForceHostsFilter", "IgnoreHostsFilter", "AvailabilityZoneFilter", "TraitsFilter", "ResourcesFilter"}
    assert set(names) >= expected | {"ComputeFilter", "ServerGroupAffinityFilter", "ServerGroupAntiAffinityFilter"}


def test_former_filter_name_enables_its_replacements(conf, caplog):
    scheduler_conf.register_opts(conf)
    conf.set_override("enabled_filters", ["ComputeFilter", "ServerGroupFilter"], group="filter_scheduler")
    scheduler_conf.filter_scheduler.check(conf)
    filters.check(conf)
    assert "ServerGroupFilter is deprecated" in caplog.text
    assert filters.enabled(conf) == [
        "ComputeFilter",
        "ServerGroupAntiAffinityFilter",
        "ServerGroupAffinityFilter",
    ]


def run(scheduling_request, enabled=DEFAULT_FILTERS, entries=()):
    table = hosts.table(NODES)
    for entry in entries:
        table.apply(entry)
    with table.reading() as view:
        return pipeline.run(pipeline.build(enabled), view, scheduling_request)


def test_host_is_counted_for_its_first_rejection_only():
    down = LogEntry(101, "alive", {"a": False})
    survivors = run(request({"VCPU": 100}, availability_zone="az2"), entries=[down])
    assert (survivors.count, survivors.hosts) == (0, 4)
    assert list(survivors.reasons.items()) == [("service down", 2), ("availability zone", 1), ("not enough VCPU", 1)]


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
    all_filters, eligibility = pipeline.build(DEFAULT_FILTERS), pipeline.build_eligibility(DEFAULT_FILTERS)
    assert {host_filter.predicates for host_filter in all_filters} - {
        host_filter.predicates for host_filter in eligibility
    } >= {resources.predicates}
    assert resources.NAME not in {host_filter.name for host_filter in eligibility}


def test_requested_aggregates_and_tree_apply_with_any_enabled_filters():
    for scheduling_request in (request(member_of=(("nobodys",),)), request(in_tree="elsewhere/1")):
        assert run(scheduling_request, enabled=["AllHostsFilter"]).count == 0
        with hosts.table(NODES).reading() as view:
            assert pipeline.run(pipeline.build_eligibility([]), view, scheduling_request).count == 0
    assert pipeline.build([])[0].reads == {"aggregate": {"hosts"}}


def test_unknown_filter_raises_bad_configuration():
    with pytest.raises(errors.BadConfiguration, match="unknown filter RamFilter"):
        pipeline.build(["RamFilter"])
