# SPDX-License-Identifier: Apache-2.0
"""Recorded decisions as the dashboard reads and counts them."""

from types import SimpleNamespace
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.dashboard import decision_log
from rpcapi.dashboard.decision_log import Decision, DecisionLog

MINUTE_MS = 60_000


class Store:
    """A session whose store has recorded decisions; the marker of a page is the number of those before it."""

    def __init__(self) -> None:
        self.decisions: list[Any] = []
        self.markers: list[str | None] = []
        self.fails = False
        self.scheduler = SimpleNamespace(list_decisions=self._list)

    def record(self, *request_ids: str) -> None:
        for request_id in request_ids:
            document = {"at_ms": 1, "outcome": "selected", "instances": 1, "verdicts": [{"host": "h1"}, {}]}
            self.decisions.append(SimpleNamespace(request_id=request_id, partition="p", document=document))

    def call(self, method: Any, *arguments: Any) -> Any:
        if self.fails:
            raise errors.StoreUnavailable(partition="p", why="away")
        return method(*arguments)

    def _list(self, partition: str, marker: str | None, limit: int) -> Any:
        self.markers.append(marker)
        start = int(marker or 0)
        more = len(self.decisions) > start + limit
        return SimpleNamespace(
            decisions=self.decisions[start : start + limit], marker=str(start + limit) if more else None
        )


def ids(log: DecisionLog) -> list[str]:
    return [item.request_id for item in log.decisions()]


def test_what_was_read_is_not_read_again_but_for_the_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "PAGE", 2)
    store = Store()
    store.record("a", "b", "c")
    first = DecisionLog().read_on(store, "p")
    store.markers.clear()
    store.record("d", "e")

    second = first.read_on(store, "p")

    assert ids(first) == ["a", "b", "c"]
    assert ids(second) == ["a", "b", "c", "d", "e"]
    assert store.markers == ["2", "4"]


def test_only_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "PAGE", 2)
    monkeypatch.setattr(decision_log, "MOST", 4)
    store = Store()
    store.record(*"abcdefg")

    assert ids(DecisionLog().read_on(store, "p")) == list("cdefg")


def test_decisions_of_a_store_that_is_away_stay() -> None:
    store = Store()
    store.record("a")
    logs = decision_log.read(store, ["p"], None)
    store.fails = True

    assert ids(decision_log.read(store, ["p"], logs)["p"]) == ["a"]
    assert ids(decision_log.read(store, ["q"], None)["q"]) == []


def decision(at_ms: int, *, outcome: str = "refused", host: str = "", why: str = "", **reasons: int) -> Decision:
    return Decision(f"req-{at_ms}", "p", at_ms, outcome, why, 1, reasons, frozenset({host} if host else ()))


def logs(*items: Decision) -> dict[str, DecisionLog]:
    return {"p": DecisionLog(last_page=items)}


def test_newest_are_selected_by_host_and_outcome() -> None:
    recorded = logs(decision(1, host="h1"), decision(3, outcome="selected", host="h1"), decision(2, host="h10"))

    assert [item.at_ms for item in decision_log.newest(recorded, 9)] == [3, 2, 1]
    assert [item.at_ms for item in decision_log.newest(recorded, 1)] == [3]
    assert [item.at_ms for item in decision_log.newest(recorded, 9, host="h1")] == [3, 1]
    assert [item.at_ms for item in decision_log.newest(recorded, 9, host="h1", outcome="refused")] == [1]


def test_refusals_are_counted_in_bars_by_their_main_reason() -> None:
    recorded = logs(
        decision(0, zone=5, traits=3),
        decision(MINUTE_MS - 1, traits=9, zone=2),
        decision(MINUTE_MS, zone=1),
        decision(MINUTE_MS, outcome="selected", zone=1),
        decision(2 * MINUTE_MS, zone=7),
        decision(-1, zone=7),
    )

    chart = decision_log.refusals(recorded, 2 * MINUTE_MS, minutes=2, bars=2)

    assert chart.reasons == ["zone", "traits"]
    assert chart.bars == [(0, [1, 1]), (MINUTE_MS, [1, 0])]
    assert (chart.highest, chart.totals()) == (2, [("zone", 2), ("traits", 1)])


def test_small_reasons_share_one_series() -> None:
    items = [decision(1, **{f"reason{number}": 1}) for number in range(9)] + [decision(1, reason0=1)]

    chart = decision_log.refusals(logs(*items), MINUTE_MS, minutes=1, bars=1)

    assert len(chart.reasons) == 7
    assert dict(chart.totals())["reason0"] == 2
    assert dict(chart.totals())[decision_log.OTHERS] == 3
    assert sum(number for _, number in chart.totals()) == 10


@pytest.mark.parametrize(("why", "reason"), [("the quota is used", "the quota is used"), ("", "no reason recorded")])
def test_refusal_without_rejected_hosts_has_its_text_as_reason(why: str, reason: str) -> None:
    assert decision_log.main_reason(decision(1, why=why)) == reason


def test_chart_without_refusals_is_empty() -> None:
    chart = decision_log.refusals({}, MINUTE_MS, minutes=1)

    assert (chart.highest, chart.totals(), len(chart.bars)) == (0, [], 60)
