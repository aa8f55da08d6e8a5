# SPDX-License-Identifier: Apache-2.0
"""Adapters for filters and weighers that examine one host per call."""

import numpy as np
import pytest

from scheduler_svc.core.plugins.host_state import READS
from scheduler_svc.core.plugins.per_host import adapt_filter, adapt_weigher, find_weigh_method
from scheduler_svc.core.reads import union
from tests.support.scheduler.hosts import node, request, table

NODES = {f"h{number}": node({"VCPU": number}) for number in range(4)}


@pytest.fixture
def view():
    with table(NODES).reading() as view:
        yield view


class EvenHosts:
    """A filter that passes hosts with an even number of processors, and records its calls."""

    def __init__(self):
        self.reads = {"rack": ["watts"]}
        self.calls = []

    def host_passes(self, host_state, spec):
        self.calls.append((host_state.name, spec.request_id))
        return host_state.vcpus_total % 2 == 0


class Weight:
    """A weigher by the number of processors."""

    def weigh(self, host_state, spec):
        return 10 * host_state.vcpus_total


def test_filter_is_called_for_hosts_that_passed_so_far(view):
    plugin = EvenHosts()
    adapted = adapt_filter("EvenFilter", plugin)
    (predicate,) = adapted.per_host(view, request(), np.array([True, True, True, False]))
    assert predicate.passes.tolist() == [True, False, True, False]
    assert plugin.calls == [(f"h{number}", "req-1") for number in range(3)]
    (predicate,) = adapted.predicates(view, request())
    assert predicate.passes.tolist() == [True, False, True, False]


def test_reason_of_a_filter_is_its_own_or_its_name(view):
    plugin = EvenHosts()
    (predicate,) = adapt_filter("EvenFilter", plugin).predicates(view, request())
    assert predicate.reason == "EvenFilter"
    plugin.reason = "odd number of processors"
    (predicate,) = adapt_filter("EvenFilter", plugin).predicates(view, request())
    assert predicate.reason == "odd number of processors"


def test_plugin_may_read_what_all_may_and_its_own_reads():
    assert adapt_filter("F", EvenHosts()).reads == {**union([READS]), "rack": {"watts"}}
    assert adapt_weigher("W", Weight()).reads == union([READS])


def test_weigher_is_called_for_the_given_rows(view):
    adapted = adapt_weigher("Weigher", Weight())
    assert adapted.per_host(view, request(), np.array([3, 1])).tolist() == [30, 10]
    assert adapted.raw(view, request()).tolist() == [0, 10, 20, 30]
    assert adapted.step(request()) == 0, "the effect of an instance is unknown"


@pytest.mark.parametrize(("methods", "found_name"), [(["weigh"], "weigh"), (["_weigh_object"], "_weigh_object")])
def test_weigh_method_has_gantts_or_novas_name(methods, found_name):
    plugin = type("Plugin", (), dict.fromkeys(methods, lambda self, host, spec: 1.0))()
    assert find_weigh_method(plugin) == found_name


def test_gantts_name_has_precedence_and_must_be_callable():
    both = type("Plugin", (), {"weigh": lambda *args: 1.0, "_weigh_object": lambda *args: 2.0})()
    assert find_weigh_method(both) == "weigh"
    assert find_weigh_method(type("Plugin", (), {"weigh": 5})()) is None


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_filter_that_answers_neither_true_nor_false_fails_with_the_host(view, answer):
    plugin = type("Plugin", (), {"host_passes": lambda self, host, spec: answer})()
    with pytest.raises(TypeError, match=r"true or false, got .* \(at host h0\)"):
        list(adapt_filter("F", plugin).predicates(view, request()))


@pytest.mark.parametrize(
    ("answer", "is_valid"), [(np.float64(2), True), (np.int64(2), True), ("2", False), (None, False)]
)
def test_weigher_must_answer_a_number(view, answer, is_valid):
    adapted = adapt_weigher("W", type("Plugin", (), {"weigh": lambda self, host, spec: answer})())
    if is_valid:
        assert adapted.raw(view, request()).tolist() == [2, 2, 2, 2]
    else:
        with pytest.raises(TypeError, match=r"a number, got .* \(at host h0\)"):
            adapted.raw(view, request())


def test_error_of_a_plugin_has_the_host_as_a_note(view):
    def host_passes(self, host, spec):
        return {"h0": True}[host.name]

    with pytest.raises(KeyError) as caught:
        list(adapt_filter("F", type("Plugin", (), {"host_passes": host_passes})()).predicates(view, request()))
    assert caught.value.__notes__ == ["at host h1"]
