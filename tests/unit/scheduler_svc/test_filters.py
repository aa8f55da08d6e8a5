# SPDX-License-Identifier: Apache-2.0
"""What each filter lets pass, and how the pipeline counts what fell."""

import pytest

from rpcapi import errors
from rpcapi.model.inventory import Inventory
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import filters
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.filters import (
    audited,
    availability_zone,
    compute,
    force_hosts,
    ignore_hosts,
    pipeline,
    resources,
    server_group,
    traits,
)
from scheduler_svc.store.records import LogEntry
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import EPOCH, node, request

AVX = "HW_CPU_X86_AVX2"
NODES = {
    "a/1": node(traits=[AVX], zone="az1"),
    "a/2": node({"VCPU": 1, "MEMORY_MB": 16384, "DISK_GB": 200}, zone="az1"),
    "b/1": node(traits=[AVX, "CUSTOM_SLOW"], zone="az2"),
    "c/1": node(),
}


def passing(sieves, asked, nodes=NODES, entries=()):
    """Return the names that pass every sieve, and the reasons in order."""
    table = hosts.table(nodes)
    for each in entries:
        table.apply(each)
    with table.reading() as view:
        left, reasons = view.present.copy(), []
        for reason, column in sieves(view, asked):
            left &= column
            reasons.append(reason)
        return [view.name(row) for row in range(view.size) if left[row]], reasons


@pytest.mark.parametrize(
    ("entry", "left"),
    [
        (LogEntry(101, "alive", {"a": False}), ["b/1", "c/1"]),
        (LogEntry(101, "service", {"b": {"enabled": False}}), ["a/1", "a/2", "c/1"]),
    ],
)
def test_compute_wants_services_alive_and_enabled(entry, left):
    assert passing(compute.sieves, request(), entries=[entry])[0] == left


def test_compute_wants_services_audited_too():
    entries = [LogEntry(101, "opened", {"c": EPOCH - 1})]
    assert passing(audited.sieves, request(), entries=entries)[0] == ["a/1", "a/2", "b/1"]


def test_resources_name_the_class_that_is_short():
    left, reasons = passing(resources.sieves, request())
    assert left == ["a/1", "b/1", "c/1"]
    assert reasons == ["not enough VCPU", "not enough MEMORY_MB", "not enough DISK_GB"]


def test_resources_count_what_is_claimed():
    used = LogEntry(101, "used", {"a/1": {"MEMORY_MB": 12289}, "b/1": {"MEMORY_MB": 12288}})
    assert passing(resources.sieves, request(), entries=[used])[0] == ["b/1", "c/1"]


def test_a_host_without_the_class_takes_nothing_of_it():
    assert passing(resources.sieves, request({"CUSTOM_GPU": 1}))[0] == []


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
def test_resources_follow_unit_rules_and_capacity(inventory, amount, passes):
    left, _ = passing(resources.sieves, request({"VCPU": amount}), {"x": node({"VCPU": inventory}), "y": node()})
    assert ("x" in left) is passes


def test_a_zone_is_asked_for_or_not():
    assert passing(availability_zone.sieves, request(availability_zone="az1"))[0] == ["a/1", "a/2"]
    assert passing(availability_zone.sieves, request(availability_zone="az9"))[0] == []
    assert passing(availability_zone.sieves, request()) == (list(NODES), [])


def test_traits_are_required_and_forbidden():
    assert passing(traits.sieves, request(required_traits=(AVX,)))[0] == ["a/1", "b/1"]
    assert passing(traits.sieves, request(forbidden_traits=("CUSTOM_SLOW",)))[0] == ["a/1", "a/2", "c/1"]
    both = request(required_traits=(AVX,), forbidden_traits=("CUSTOM_SLOW",))
    assert passing(traits.sieves, both)[0] == ["a/1"]
    assert passing(traits.sieves, request(required_traits=("CUSTOM_UNSEEN",)))[0] == []
    assert passing(traits.sieves, request(forbidden_traits=("CUSTOM_UNSEEN",)))[0] == list(NODES)


def test_names_are_forced_and_ignored_by_node_and_by_service_host():
    assert passing(force_hosts.sieves, request(force_hosts=("a", "c/1")))[0] == ["a/1", "a/2", "c/1"]
    assert passing(ignore_hosts.sieves, request(ignore_hosts=("a/1", "b")))[0] == ["a/2", "c/1"]
    assert passing(force_hosts.sieves, request()) == (list(NODES), [])
    assert passing(ignore_hosts.sieves, request()) == (list(NODES), [])


def test_hosts_that_the_store_ruled_out_for_the_group_are_not_offered_again():
    assert passing(server_group.anti_affine, request(excluded_hosts=("a/1", "b/1")))[0] == ["a/2", "c/1"]
    assert passing(server_group.affine, request(group_hosts=("a/2",)))[0] == ["a/2"]
    assert passing(server_group.anti_affine, request()) == passing(server_group.affine, request()) == (list(NODES), [])


def test_the_default_configuration_enables_what_every_request_may_ask(conf):
    scheduler_conf.register_opts(conf)
    names = filters.enabled(conf)
    assert [each.name for each in pipeline.build(names)] == [*names, compute.NAME]
    own = {"ForceHostsFilter", "IgnoreHostsFilter", "AvailabilityZoneFilter", "TraitsFilter", "ResourcesFilter"}
    assert set(names) >= own | {"ComputeFilter", "ServerGroupAffinityFilter", "ServerGroupAntiAffinityFilter"}


def test_a_former_name_stands_for_what_does_the_same_now(conf, caplog):
    scheduler_conf.register_opts(conf)
    conf.set_override("enabled_filters", ["ComputeFilter", "ServerGroupFilter"], group="filter_scheduler")
    scheduler_conf.filter_scheduler.check(conf)
    filters.check(conf)
    assert "ServerGroupFilter is a former name" in caplog.text
    assert filters.enabled(conf) == [
        "ComputeFilter",
        "ServerGroupAntiAffinityFilter",
        "ServerGroupAffinityFilter",
    ]


def run(asked, enabled=DEFAULT_FILTERS, entries=()):
    table = hosts.table(NODES)
    for each in entries:
        table.apply(each)
    with table.reading() as view:
        return pipeline.run(pipeline.build(enabled), view, asked)


def test_a_host_is_counted_for_the_first_reason_it_falls_to():
    down = LogEntry(101, "alive", {"a": False})
    left = run(request({"VCPU": 100}, availability_zone="az2"), entries=[down])
    assert (left.count, left.hosts) == (0, 4)
    assert list(left.reasons.items()) == [("service down", 2), ("availability zone", 1), ("not enough VCPU", 1)]


def test_survivors_are_marked():
    left = run(request())
    assert left.count == 3
    assert left.passes.tolist() == [True, False, True, True]
    assert left.reasons == {"not enough VCPU": 1}


def test_hosts_that_are_gone_are_neither_looked_at_nor_counted():
    left = run(request(), entries=[LogEntry(101, "gone", ["a/1", "a/2"])])
    assert (left.count, left.hosts, left.reasons) == (2, 2, {})


def test_a_filter_can_be_left_out_and_order_is_not_the_operators_affair():
    assert run(request({"VCPU": 100}), enabled=["AvailabilityZoneFilter"]).count == 4
    assert [each.name for each in pipeline.build(reversed(DEFAULT_FILTERS))] == [*DEFAULT_FILTERS, compute.NAME]
    every, eligibility = pipeline.build(DEFAULT_FILTERS), pipeline.build_eligibility(DEFAULT_FILTERS)
    assert {each.sieves for each in every} - {each.sieves for each in eligibility} >= {resources.sieves}
    assert resources.NAME not in {each.name for each in eligibility}


def test_the_aggregates_and_the_tree_of_a_request_hold_whatever_is_enabled():
    for asked in (request(member_of=(("nobodys",),)), request(in_tree="elsewhere/1")):
        assert run(asked, enabled=["AllHostsFilter"]).count == 0
        with hosts.table(NODES).reading() as view:
            assert pipeline.run(pipeline.build_eligibility([]), view, asked).count == 0
    assert pipeline.build([])[0].reads == {"aggregate": {"hosts"}}


def test_an_unknown_filter_is_a_bad_configuration():
    with pytest.raises(errors.BadConfiguration, match="no filter RamFilter"):
        pipeline.build(["RamFilter"])
