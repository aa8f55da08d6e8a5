# SPDX-License-Identifier: Apache-2.0
"""Validation of stats reports."""

import pytest

from rpcapi import errors
from scheduler_svc.host_state.reports import MAX_NODES, check_nodes

VCPU = {"VCPU": {"total": 8, "allocation_ratio": 1.15}}


def check(node, full=True, name="h/n"):
    return check_nodes("h", {name: node}, full)["h/n"]


def test_report_gets_defaults_and_computed_capacity():
    reported = {"inventories": VCPU, "traits": ["HW_CPU_X86_AVX2"], "availability_zone": "az", "metrics": {"load": 0.5}}
    checked = check(reported)
    assert checked["inventories"]["VCPU"] == {
        "total": 8,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 2**31 - 1,
        "step_size": 1,
        "allocation_ratio": 1.15,
        "capacity": 9,
    }
    assert {key: checked[key] for key in ("traits", "availability_zone", "metrics")} == {
        key: reported[key] for key in ("traits", "availability_zone", "metrics")
    }


def test_reported_capacity_is_ignored():
    assert check({"inventories": {"VCPU": {"total": 8, "capacity": 800}}})["inventories"]["VCPU"]["capacity"] == 8


def test_delta_has_changes_and_heartbeat_is_empty():
    assert check({"traits": []}, full=False) == {"traits": []}
    assert check_nodes("h", {}, False) == {}


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ({}, "needs its inventories"),
        ([], "must be a mapping"),
        ({"inventories": VCPU, "colour": "red"}, "unknown keys"),
        ({"inventories": {"VCPU": {"total": -1}}}, "from 0"),
        ({"inventories": {"VCPU": {"total": 2**40}}}, "from 0"),
        ({"inventories": {"VCPU": {"total": 4, "reserved": 5}}}, "exceeds the total"),
        ({"inventories": {"VCPU": {"total": 1.5}}}, "integer"),
        ({"inventories": {"VCPU": {"total": 4, "allocation_ratio": float("nan")}}}, "a number"),
        ({"inventories": {"VCPU": {"total": 4, "step_size": 0}}}, "from 1"),
        ({"inventories": {"VCPU": 4}}, "must be a mapping"),
        ({"inventories": VCPU, "traits": "HW_CPU_X86_AVX2"}, "must be a list"),
        ({"inventories": VCPU, "availability_zone": 7}, "printable"),
        ({"inventories": VCPU, "metrics": {"load": float("inf")}}, "finite"),
        ({"inventories": VCPU, "metrics": {"load": True}}, "finite"),
        ({"inventories": VCPU, "metrics": {"load": 10**400}}, "finite"),
        ({"inventories": VCPU, "metrics": {"load": 1e300}}, "finite, a number from"),
        ({"inventories": VCPU, "parent": "other/n"}, "belongs to another service host"),
        ({"inventories": VCPU, "parent": "h/m"}, "not a provider of the same service host"),
        ({"inventories": VCPU, "parent": "h/n"}, "form a cycle"),
        ({"inventories": VCPU, "kind": "bare metal"}, "one of compute, volume, network"),
        ({"inventories": VCPU, "facts": ["QEMU"]}, "a JSON object"),
        ({"inventories": VCPU, "facts": {"x": "y" * 16384}}, "16384 bytes of JSON"),
        ({"inventories": VCPU, "facts": {"x": float("nan")}}, "plain JSON"),
        ({"inventories": VCPU, "facts": {"x": "\ud800"}}, "Unicode"),
        ({"inventories": VCPU, "host_ip": "10.0.0"}, "'10.0.0' is not an IP address"),
        ({"inventories": VCPU, "host_ip": 7}, "not an IP address"),
        ({"inventories": VCPU, "numa": {}}, "a list of at most 64 cells"),
        ({"inventories": VCPU, "numa": [{}] * 65}, "a list of at most 64 cells"),
        ({"inventories": VCPU, "numa": [{"x": "y" * 65536}]}, "65536 bytes of JSON"),
    ],
)
def test_invalid_values_are_refused_with_reason(node, why):
    with pytest.raises(errors.InvalidStats, match=why):
        check(node)


@pytest.mark.parametrize(
    ("node", "error"),
    [
        ({"inventories": {"WARP_CORES": {"total": 1}}}, errors.UnknownResourceClass),
        ({"inventories": VCPU, "traits": ["SHINY"]}, errors.UnknownTrait),
    ],
)
def test_unknown_resource_classes_and_traits_are_refused(node, error):
    with pytest.raises(error):
        check(node)


def test_host_can_report_only_its_own_nodes():
    with pytest.raises(errors.InvalidStats, match="does not belong to service host"):
        check({"inventories": VCPU}, name="other/n")
    with pytest.raises(errors.InvalidName):
        check({"inventories": VCPU}, name="h/")


def test_report_size_is_limited():
    with pytest.raises(errors.InvalidStats, match="split"):
        check_nodes("h", {key: {} for key in map(str, range(MAX_NODES + 1))}, False)
    with pytest.raises(errors.InvalidStats, match="mapping"):
        check_nodes("h", [1], False)


def test_provider_tree_is_accepted_as_reported():
    cell = {"inventories": {"PCPU": {"total": 4}}, "traits": ["HW_NUMA_ROOT"], "parent": ["h", "n"]}
    root = {"inventories": VCPU, "kind": "compute", "facts": {"a": [1]}, "host_ip": "::01", "numa": [{"id": 0}]}
    checked = check_nodes("h", {"h/n": root, "h/n/numa0": cell}, True)
    assert checked["h/n/numa0"]["parent"] == "h/n"
    reported = {key: checked["h/n"][key] for key in ("kind", "facts", "host_ip", "numa")}
    assert reported == {"kind": "compute", "facts": {"a": [1]}, "host_ip": "::1", "numa": [{"id": 0}]}


def test_delta_may_refer_to_a_stored_parent():
    assert check({"parent": "h/m"}, full=False) == {"parent": "h/m"}
