# SPDX-License-Identifier: Apache-2.0
"""Recorded decisions as the dashboard reads and counts them."""

from types import SimpleNamespace
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.dashboard import decision_log
from rpcapi.dashboard.decision_log import DecisionLog, DecisionSummary

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
        if marker is not None and not marker.isdigit():
            raise errors.InvalidRequest(why="an unknown marker")
        start = int(marker or 0)
        more = len(self.decisions) > start + limit
        return SimpleNamespace(
            decisions=self.decisions[start : start + limit], marker=str(start + limit) if more else None
        )


def partitions(*partition_names: str, epoch: int = 5) -> SimpleNamespace:
    return SimpleNamespace(names=partition_names, epochs=[epoch] * len(partition_names))


def ids(log: DecisionLog) -> list[str]:
    return [item.request_id for item in log.decisions()]


def test_what_was_read_is_not_read_again_but_for_the_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "PAGE", 2)
    store = Store()
    store.record("a", "b", "c")
    first = DecisionLog(5).read_new(store, "p")
    store.markers.clear()
    store.record("d", "e")

    second = first.read_new(store, "p")

    assert ids(first) == ["a", "b", "c"]
    assert ids(second) == ["a", "b", "c", "d", "e"]
    assert store.markers == ["2", "4"]


def test_only_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "PAGE", 2)
    monkeypatch.setattr(decision_log, "MOST", 4)
    store = Store()
    store.record(*"abcdefg")

    assert ids(DecisionLog(5).read_new(store, "p")) == list("cdefg")


def test_decisions_of_a_store_that_is_away_stay() -> None:
    store = Store()
    store.record("a")
    logs = decision_log.read(store, partitions("p"), None)
    store.fails = True

    assert ids(decision_log.read(store, partitions("p"), logs)["p"]) == ["a"]
    assert ids(decision_log.read(store, partitions("q"), None)["q"]) == []


def decision(at_ms: int, *, outcome: str = "refused", host: str = "", why: str = "", **reasons: int) -> DecisionSummary:
    return DecisionSummary(f"req-{at_ms}", "p", at_ms, outcome, why, 1, reasons, frozenset({host} if host else ()))


def logs(*items: DecisionSummary) -> dict[str, DecisionLog]:
    return {"p": DecisionLog(5, last_page=items)}


def test_newest_are_selected_by_host() -> None:
    recorded = logs(decision(1, host="h1"), decision(3, outcome="selected", host="h1"), decision(2, host="h10"))

    assert [item.at_ms for item in decision_log.newest(recorded, 9)] == [3, 2, 1]
    assert [item.at_ms for item in decision_log.newest(recorded, 1)] == [3]
    assert [item.at_ms for item in decision_log.newest(recorded, 9, host="h1")] == [3, 1]


def of(request_id: str, at_ms: int, outcome: str = "refused") -> DecisionSummary:
    return decision(at_ms, outcome=outcome)._replace(request_id=request_id)


def test_request_that_several_partitions_refuse_is_one_refusal() -> None:
    recorded = {
        "p": DecisionLog(5, last_page=[of("a", 1), of("b", 2), of("c", 3)]),
        "q": DecisionLog(5, last_page=[of("a", 4), of("b", 5, "selected")]),
    }

    assert [(item.request_id, item.at_ms) for item in decision_log.refusals(recorded)] == [("a", 4), ("c", 3)]


def test_decisions_are_known_since_the_partition_that_recorded_last_began() -> None:
    recorded = {"p": DecisionLog(5, None, [of("a", 1)], [of("b", 9)]), "q": DecisionLog(5, last_page=[of("c", 4)])}

    assert decision_log.known_since(recorded) == 4
    assert decision_log.known_since({"p": DecisionLog(5)}) is None


def test_new_epoch_is_read_from_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "PAGE", 1)
    store = Store()
    store.record("a", "b", "c")
    before = decision_log.read(store, partitions("p"), None)
    store.decisions.clear()
    store.record("d")

    assert ids(decision_log.read(store, partitions("p", epoch=6), before)["p"]) == ["d"]


def test_store_that_refuses_the_marker_is_read_from_its_beginning() -> None:
    store = Store()
    store.record("a")
    broken = {"p": DecisionLog(5, "unknown")}

    logs_after = decision_log.read(store, partitions("p"), broken)

    assert ids(decision_log.read(store, partitions("p"), logs_after)["p"]) == ["a"]


def test_much_is_read_in_several_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_log, "PAGE", 1)
    monkeypatch.setattr(decision_log, "MOST_PAGES", 2)
    store = Store()
    store.record(*"abcde")
    first = DecisionLog(5).read_new(store, "p")
    second = first.read_new(store, "p")

    assert (ids(first), ids(second)) == (["a", "b"], ["a", "b", "c", "d"])
    assert ids(second.read_new(store, "p")) == list("abcde")


def test_refusals_are_counted_in_bars_by_their_main_reason() -> None:
    refused = [
        decision(0, zone=5, traits=3),
        decision(MINUTE_MS - 1, traits=9, zone=2),
        decision(MINUTE_MS, zone=1),
        decision(2 * MINUTE_MS, zone=7),
        decision(-1, zone=7),
    ]

    chart = decision_log.chart(refused, 2 * MINUTE_MS, minutes=2, bars=2)

    assert chart.reasons == ["zone", "traits"]
    assert chart.bars == [(0, [1, 1]), (MINUTE_MS, [1, 0])]
    assert (chart.highest, chart.totals()) == (2, [("zone", 2), ("traits", 1)])


def test_small_reasons_share_one_series() -> None:
    items = [decision(1, **{f"reason{number}": 1}) for number in range(9)] + [decision(1, reason0=1)]

    chart = decision_log.chart(items, MINUTE_MS, minutes=1, bars=1)

    assert len(chart.reasons) == 7
    assert dict(chart.totals())["reason0"] == 2
    assert dict(chart.totals())[decision_log.OTHERS] == 3
    assert sum(number for _, number in chart.totals()) == 10


@pytest.mark.parametrize(("why", "reason"), [("the quota is used", "the quota is used"), ("", "no reason recorded")])
def test_refusal_without_rejected_hosts_has_its_text_as_reason(why: str, reason: str) -> None:
    assert decision_log.main_reason(decision(1, why=why)) == reason


def test_chart_without_refusals_is_empty() -> None:
    chart = decision_log.chart([], MINUTE_MS, minutes=1)

    assert (chart.highest, chart.totals(), len(chart.bars)) == (0, [], 60)
