# SPDX-License-Identifier: Apache-2.0
"""The search for the hosts that make a filter or weigher fail."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from scheduler_svc.core.built_in import BuiltInFailed
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.filters import set_aside
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers import scoring
from scheduler_svc.core.weighers.weigher import Weigher
from scheduler_svc.scheduling import failing_hosts
from tests.support.scheduler.hosts import node, request, table


def hosts_with(*failing: str, count: int = 40) -> dict[str, Any]:
    """Return hosts of two nodes each, every node with facts of its own; those of ``failing`` have "bad"."""
    names = [f"h{number}/n{part}" for number in range(count) for part in range(2)]
    return {name: node() | {"facts": {"name": name, **({"bad": 1} if name in failing else {})}} for name in names}


def read_facts(view: View, *_: Any) -> Any:
    """Read the facts of all hosts in a way that fails for bad ones."""
    return view.facts.where(lambda facts: 1 // (1 - facts.get("bad", 0)) == 1)


FILTER = Filter("Fragile", lambda view, request: [HostPredicate("no", read_facts(view))])
WEIGHER = Weigher("Fragile", lambda view, request: read_facts(view).astype(np.float64), lambda request: 0.0)


@pytest.mark.parametrize("failing", [("h7/n1",), ("h0/n0", "h39/n1"), ("h3/n0", "h3/n1", "h4/n0")])
def test_exactly_the_failing_rows_are_found_by_halving(failing: tuple[str, ...]) -> None:
    repeated = 0

    def repeat(view: View) -> None:
        nonlocal repeated
        repeated += 1
        read_facts(view)

    with table(hosts_with(*failing)).reading() as view:
        rows = failing_hosts.find_failing_rows(view, repeat)
        assert sorted(view.name(row) for row in rows) == sorted(failing)
        assert repeated < 2 + 2 * 7 * len(failing), "two halves of 80 rows for each"
        assert failing_hosts.find_failing_rows(view, lambda view: None) == []


def test_error_that_no_facts_cause_is_nobodys(caplog: pytest.LogCaptureFixture) -> None:
    with table(hosts_with("h1/n0")).reading() as view:
        error = TypeError("of the request")

        def fail(view: View) -> None:
            raise BuiltInFailed("filter", "Fragile", fail) from error

        with pytest.raises(TypeError) as raised:
            failing_hosts.decide(view, fail)
        assert raised.value is error
        assert not view.rows_set_aside
    assert not caplog.records


def test_host_with_many_failing_nodes_costs_a_bounded_number_of_repetitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failing_hosts, "MAX_REPETITIONS", 10)
    nodes = {
        **hosts_with(count=8),
        **{f"bad/{number}": node() | {"facts": {"bad": 1, "n": number}} for number in range(500)},
    }
    repeated = 0

    def repeat(view: View) -> None:
        nonlocal repeated
        repeated += 1
        read_facts(view)

    with table(nodes).reading() as view:
        rows = failing_hosts.find_failing_rows(view, repeat)
        assert {view.name(row) for row in rows} == {name for name in nodes if name.startswith("bad/")}
    assert repeated < 60


def test_failing_filter_rejects_its_host_and_no_other() -> None:
    with table(hosts_with("h1/n0")).reading() as view:
        for _ in range(2):
            survivors = failing_hosts.decide(view, lambda view: pipeline.run([FILTER], view, request()))
            assert (survivors.count, survivors.reasons) == (79, {set_aside.REASON: 1})
        assert view.names(np.flatnonzero(~survivors.passes)) == ["h1/n0"]


def test_failing_weigher_rejects_its_host_and_no_other() -> None:
    weighers = scoring.WeigherSet(((WEIGHER, 1.0),))

    def weigh(view: View) -> pipeline.Survivors:
        survivors = pipeline.run([], view, request())
        scoring.score(weighers, view, request(), np.flatnonzero(survivors.passes))
        return survivors

    with table(hosts_with("h1/n0", "h2/n1")).reading() as view:
        survivors = failing_hosts.decide(view, weigh)
        assert view.names(np.flatnonzero(~survivors.passes)) == ["h1/n0", "h2/n1"]


def test_facts_of_few_rows_are_read_without_the_others() -> None:
    row_names: list[str] = []
    with table(hosts_with()).reading() as view:
        rows = [3, 7]
        few = view.with_facts_of(rows)

        def is_named(facts: Mapping[str, Any]) -> bool:
            row_names.append(facts.get("name", ""))
            return bool(row_names[-1])

        assert np.flatnonzero(few.facts.where(is_named)).tolist() == rows
        assert sorted(row_names) == ["", *sorted(view.name(row) for row in rows)]
        assert few.facts.of(3) == view.facts.of(3)
        assert few.facts.of(4) == {}
        assert few.with_instance_limits({0: 1}).facts.of(4) == {}
