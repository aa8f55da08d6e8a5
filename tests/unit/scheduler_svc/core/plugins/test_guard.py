# SPDX-License-Identifier: Apache-2.0
"""Protection of decisions from a plugin; test_faulty.py has the plugins that fail in a whole decision."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.plugins import guard
from scheduler_svc.core.plugins.guard import (
    MAX_PREDICATES,
    MAX_REASON_LENGTH,
    FailurePolicy,
    PluginGuard,
    copy_request,
    describe_error,
    guard_filter,
    guard_weigher,
)
from scheduler_svc.core.request import DecisionContext
from scheduler_svc.core.timings import COLUMNAR, PER_HOST
from scheduler_svc.core.weighers.weigher import Weigher
from tests.support.scheduler.hosts import node, request, table

NODES = {f"h{number}": node() for number in range(3)}


@pytest.fixture
def view():
    with table(NODES).reading() as view:
        yield view


@pytest.fixture
def counted():
    return []


def make_guard(counted, fatal=False, kind="filter"):
    policy = FailurePolicy(fatal, lambda *failure: counted.append(failure))
    return PluginGuard(kind, "Acme", "acme 1.2", policy)


def test_result_of_a_plugin_is_returned_and_timed(counted):
    plugin_guard = make_guard(counted)
    assert plugin_guard.call(lambda: 5, 0, hosts=7) == 5
    timings = plugin_guard.timings
    assert (timings.calls, timings.hosts, timings.errors, counted) == (1, 7, 0, [])


def test_failure_is_counted_and_replaced_by_the_default(counted):
    plugin_guard = make_guard(counted)
    assert plugin_guard.call(lambda: 1 / 0, "default", hosts=7) == "default"
    timings = plugin_guard.timings
    assert (timings.calls, timings.errors, timings.last_error) == (1, 1, "ZeroDivisionError: division by zero")
    assert counted == [("filter", "Acme")]


def test_fatal_failure_names_plugin_and_distribution(counted):
    plugin_guard = make_guard(counted, fatal=True)
    with pytest.raises(errors.PluginFailed, match=r"filter 'Acme' of acme 1.2 failed: ZeroDivisionError"):
        plugin_guard.call(lambda: 1 / 0, None, hosts=7)
    assert counted == [("filter", "Acme")]
    assert plugin_guard.timings.calls == 1


def test_failures_are_logged_again_after_a_minute(counted, caplog, monkeypatch):
    seconds = [1000.0]
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: seconds[0], perf_counter=lambda: 0.0))
    plugin_guard = make_guard(counted)
    for now, logged in ((1000.0, 1), (1059.0, 1), (1060.0, 2), (1061.0, 2)):
        seconds[0] = now
        plugin_guard.call(lambda: 1 / 0, None, hosts=1)
        assert caplog.text.count("Plugin failed:") == logged
    assert "4 failures" not in caplog.text and "3 failures so far" in caplog.text


def test_interruption_of_the_process_is_no_failure(counted):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_guard(counted).call(interrupt, None, hosts=1)
    assert counted == []


def passing(reason="a", size=3):
    return HostPredicate(reason, np.ones(size, bool))


def test_long_reason_is_cut(view, counted):
    guarded = guard_filter(Filter("x", lambda view, request: [passing("r" * 500)]), make_guard(counted))
    (predicate,) = guarded.predicates(view, request())
    assert predicate.reason == "r" * MAX_REASON_LENGTH


@pytest.mark.parametrize(("count", "is_valid"), [(MAX_PREDICATES, True), (MAX_PREDICATES + 1, False)])
def test_number_of_predicates_is_limited(view, counted, count, is_valid):
    guarded = guard_filter(Filter("x", lambda view, request: [passing()] * count), make_guard(counted))
    assert len(guarded.predicates(view, request())) == (count if is_valid else 0)
    assert len(counted) == (not is_valid)


def test_filter_that_fails_after_its_first_predicate_has_no_effect_at_all(view, counted):
    def predicates(view, request):
        yield HostPredicate("a", np.zeros(view.size, bool))
        raise RuntimeError("late")

    assert guard_filter(Filter("x", predicates), make_guard(counted)).predicates(view, request()) == []
    assert len(counted) == 1


def test_form_of_a_plugin_is_recorded(counted):
    columnar, per_host = make_guard(counted), make_guard(counted, kind="weigher")
    guard_filter(Filter("x", lambda view, request: []), columnar)
    guard_weigher(Weigher("x", None, None, per_host=lambda view, request, rows: None), per_host)
    assert (columnar.timings.form, per_host.timings.form) == (COLUMNAR, PER_HOST)


def weigher(raw, step=lambda request: 0.0):
    return Weigher("x", raw, step)


def test_weights_are_those_of_the_given_rows(view, counted):
    guarded = guard_weigher(weigher(lambda view, request: np.array([1, 2, 3])), make_guard(counted))
    assert guarded.per_host(view, request(), np.array([2, 0])).tolist() == [3, 1]
    assert guarded.raw(view, request()).tolist() == [1, 2, 3]
    assert counted == []


def test_weigher_without_numbers_makes_all_hosts_equal(view, counted):
    guarded = guard_weigher(weigher(lambda view, request: None), make_guard(counted))
    assert guarded.per_host(view, request(), np.array([2, 0])).tolist() == [0, 0]
    assert counted == []


@pytest.mark.parametrize(("rows", "expected", "failures"), [([0, 2], [1, 3], 0), ([0, 1], [0, 0], 1)])
def test_numbers_of_rejected_hosts_need_not_be_finite(view, counted, rows, expected, failures):
    guarded = guard_weigher(weigher(lambda view, request: np.array([1, np.nan, 3])), make_guard(counted))
    assert guarded.per_host(view, request(), np.array(rows)).tolist() == expected
    assert len(counted) == failures


@pytest.mark.parametrize(
    ("step", "expected", "failures"),
    [
        (lambda request: -2, -2.0, 0),
        (lambda request: float("inf"), 0.0, 0),
        (lambda request: "much", 0.0, 1),
        (lambda request: 1 / 0, 0.0, 1),
    ],
)
def test_step_is_a_finite_number(counted, step, expected, failures):
    assert guard_weigher(weigher(None, step), make_guard(counted)).step(request()) == expected
    assert len(counted) == failures


def test_plugin_that_modifies_its_copy_leaves_the_request_unchanged():
    changed = request().with_decision(members={"h1": 2}, instance_hosts={"u": "h1"})
    copied = copy_request(changed)
    copied.decision.members.clear()
    copied.decision.instance_hosts.clear()
    assert changed.decision == DecisionContext(members={"h1": 2}, instance_hosts={"u": "h1"})


def test_copied_request_shares_no_mapping_with_the_original():
    original = request(
        {"VCPU": 1},
        hints={"a": ["b"]},
        numa={"cells": [{"id": 0}]},
        image={"properties": {"x": "y"}},
        extra_specs={"k": "v"},
        groups=(RequestGroup("_g", {"VGPU": 1}),),
    )
    before = dataclasses.replace(original)
    copied = copy_request(original)
    assert copied == original
    copied.resources.clear()
    copied.hints["a"].append("c")
    copied.numa["cells"][0]["id"] = 7
    copied.image["properties"].clear()
    copied.extra_specs["k"] = "w"
    copied.groups[0].resources.clear()
    assert original.resources == {"VCPU": 1}
    assert (original.hints, original.numa) == ({"a": ["b"]}, {"cells": [{"id": 0}]})
    assert (original.image, original.extra_specs) == ({"properties": {"x": "y"}}, {"k": "v"})
    assert before.groups[0].resources == {"VGPU": 1}


def test_description_of_an_error_is_short_and_has_its_notes():
    error = ValueError("x" * 1000)
    error.add_note("at host h1")
    assert describe_error(error) == f"ValueError: {'x' * 300} (at host h1)"
