# SPDX-License-Identifier: Apache-2.0
"""Rules of reports: which are applied, what they change, and the stored form of capacities."""

from typing import Any

import pytest

from rpcapi import errors
from scheduler_svc.store import reports
from scheduler_svc.store.records import HostReport
from scheduler_svc.store.registrations import MAX_INCARNATION, AppliedReport
from scheduler_svc.store.reports import ReportHandling, ReportPlan
from tests.support.store.store_partition import child_stats, node_stats


def report(incarnation: int, sequence: int, base: int | None = None, **registration: Any) -> HostReport:
    """Return an empty report: a delta to report ``base``, or a full one."""
    return HostReport(incarnation, sequence, {}, base or 0, full=base is None, **registration)


def registration(agent: str, sequence: int, incarnation: int = 0) -> HostReport:
    """Return an empty report that registers an agent."""
    return report(incarnation, sequence, register=True, agent=agent)


def stored(plan: ReportPlan) -> dict[str, Any]:
    """Return the documents of a plan by name."""
    return {change.document["id"]: change.document for change in plan.changes}


@pytest.mark.parametrize(
    ("last", "next_report", "handling"),
    [
        (None, registration("a", 1), ReportHandling.REGISTER),
        (None, report(1, 1), ReportHandling.SUPERSEDED),
        (None, report(1, 2, base=1), ReportHandling.SUPERSEDED),
        ((1, 4), report(1, 5), ReportHandling.APPLY),
        ((1, 4), report(1, 5, base=4), ReportHandling.APPLY),
        ((1, 4), report(1, 6, base=5), ReportHandling.NEED_FULL),
        ((1, 4), report(1, 4), ReportHandling.IGNORE),
        ((1, 4), report(1, 3, base=2), ReportHandling.IGNORE),
        ((2, 1), report(1, 9), ReportHandling.SUPERSEDED),
        ((1, 9), report(2, 10), ReportHandling.SUPERSEDED),
        ((1, 4), report(2, 5, base=4), ReportHandling.SUPERSEDED),
        ((1, 4), registration("b", 1), ReportHandling.REGISTER),
        ((1, 4), registration("a", 5, incarnation=1), ReportHandling.REGISTER),
        ((1, 4), registration("a", 4), ReportHandling.IGNORE),
        ((1, 4), registration("a", 1), ReportHandling.IGNORE),
    ],
)
def test_report_conflicts_on_change_by_the_last_applied_one(
    last: tuple[int, int] | None, next_report: HostReport, handling: ReportHandling
) -> None:
    assert reports.report_handling(None if last is None else AppliedReport(*last, (), "a"), next_report) is handling


@pytest.mark.parametrize("field", ["incarnation", "sequence", "base"])
@pytest.mark.parametrize("value", [-1, 1.0, True, "1", MAX_INCARNATION + 1])
def test_invalid_counter_is_rejected(field: str, value: object) -> None:
    counters: dict[str, Any] = {"incarnation": 1, "sequence": 1, "base": 0, field: value}
    with pytest.raises(errors.InvalidRequest, match=field):
        reports.check("h1", HostReport(**counters, nodes={}))


def test_node_of_another_service_host_is_rejected() -> None:
    with pytest.raises(errors.InvalidRequest, match="'h10/n1', a node of another host"):
        reports.check("h1", HostReport(1, 1, {"h1/n1": {}, "h10/n1": {}}))


def test_unchanged_full_report_changes_nothing() -> None:
    nodes = {"h1": node_stats({"VCPU": 4}, traits=["HW_B", "HW_A"]), "h1/gpu": child_stats("h1", {"CUSTOM_GPU": 1})}
    first = reports.plan("h1", None, HostReport(1, 1, nodes), {})
    assert (set(stored(first)), first.nodes, first.stale_roots) == ({"h1", "h1/gpu"}, ("h1", "h1/gpu"), ["h1"])
    last = AppliedReport(1, 1, first.nodes)
    reordered = {**nodes, "h1": node_stats({"VCPU": 4}, traits=["HW_A", "HW_B"])}
    assert reports.plan("h1", last, HostReport(1, 2, reordered), stored(first)) == ReportPlan([], [], first.nodes, [])


def test_changed_inventory_makes_no_decision_stale() -> None:
    first = reports.plan("h1", None, HostReport(1, 1, {"h1": node_stats({"VCPU": 4})}), {})
    delta = HostReport(1, 2, {"h1": {"inventories": node_stats({"VCPU": 5})["inventories"]}}, base=1, full=False)
    plan = reports.plan("h1", AppliedReport(1, 1, first.nodes), delta, stored(first))
    (change,) = plan.changes
    assert (change.inventory, change.document["version"], plan.stale_roots) == (True, 2, [])
    assert change.document["inventories"]["VCPU"]["total"] == 5


def test_changed_traits_of_a_child_make_its_root_stale() -> None:
    nodes = {"h1": node_stats({"VCPU": 4}), "h1/gpu": child_stats("h1", {"CUSTOM_GPU": 1})}
    first = reports.plan("h1", None, HostReport(1, 1, nodes), {})
    delta = HostReport(1, 2, {"h1/gpu": {"traits": ["CUSTOM_FAST"]}}, base=1, full=False)
    plan = reports.plan("h1", AppliedReport(1, 1, first.nodes), delta, stored(first))
    assert [(change.document["id"], change.inventory) for change in plan.changes] == [("h1/gpu", False)]
    assert (plan.stale_roots, plan.nodes) == (["h1"], first.nodes)


def test_node_missing_in_a_full_report_is_removed() -> None:
    nodes = {"h1/n1": node_stats({"VCPU": 4}), "h1/n2": node_stats({"VCPU": 4})}
    first = reports.plan("h1", None, HostReport(1, 1, nodes), {})
    shorter = HostReport(1, 2, {"h1/n1": nodes["h1/n1"]})
    plan = reports.plan("h1", AppliedReport(1, 1, first.nodes), shorter, stored(first))
    assert (plan.changes, plan.removed_nodes, plan.nodes) == ([], ["h1/n2"], ("h1/n1",))


def test_delta_of_a_node_that_was_not_in_the_last_full_report_is_rejected() -> None:
    first = reports.plan("h1", None, HostReport(1, 1, {"h1": node_stats({"VCPU": 4})}), {})
    delta = HostReport(1, 2, {"h1": {"traits": []}}, base=1, full=False)
    with pytest.raises(errors.UnknownHost):
        reports.plan("h1", AppliedReport(1, 1, ()), delta, stored(first))


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ({"min_unit": 1, "max_unit": 8, "step_size": 1}, 8),
        ({"min_unit": 1, "max_unit": 99, "step_size": 1}, 8),
        ({"min_unit": 2, "max_unit": 8, "step_size": 1}, [8, 2, 8, 1]),
        ({"min_unit": 1, "max_unit": 4, "step_size": 1}, [8, 1, 4, 1]),
        ({"min_unit": 1, "max_unit": 8, "step_size": 2}, [8, 1, 8, 2]),
    ],
)
def test_limits_are_stored_only_where_they_restrict(units: dict[str, int], expected: Any) -> None:
    capacity = reports.capacity_of({"inventories": {"VCPU": {"capacity": 8, **units}}})
    assert capacity == {"VCPU": expected}
    assert reports.capacity_in(capacity["VCPU"]) == 8


def test_unknown_class_has_no_capacity() -> None:
    assert reports.capacity_in(None) == 0


def test_service_without_nodes_is_named_by_its_binary() -> None:
    assert reports.service_name("h1", reports.COMPUTE) == "h1"
    assert reports.service_name("h1", "gantt-conductor") == "gantt-conductor@h1"
