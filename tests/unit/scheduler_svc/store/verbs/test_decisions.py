# SPDX-License-Identifier: Apache-2.0
"""The decision record: what a decision stores, and its pages."""

from typing import Any

import pytest

from rpcapi import errors
from tests.unit.scheduler_svc.store.store_partition import StorePartition


def test_decisions_are_listed_oldest_first(partition: StorePartition) -> None:
    for number in range(5):
        partition.store.record_decision(f"r{number}", {"number": number})
    page, marker = partition.store.list_decisions(limit=3)
    assert [(request, document["number"]) for request, document in page] == [("r0", 0), ("r1", 1), ("r2", 2)]
    partition.store.record_decision("r1", {"number": 5})
    page, marker = partition.store.list_decisions(marker, limit=3)
    assert [(request, document["number"]) for request, document in page] == [("r3", 3), ("r4", 4), ("r1", 5)]
    assert marker is None


def test_empty_decision_record_is_an_empty_page(partition: StorePartition) -> None:
    assert partition.store.list_decisions() == ([], None)


@pytest.mark.parametrize("marker", ["", "x", "-", "1-", "1-1\n", "9" * 20 + "-0"])
def test_invalid_decision_marker_is_rejected(partition: StorePartition, marker: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="is not a decision marker"):
        partition.store.list_decisions(marker)


def test_decision_is_completed_by_the_store(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": 1, "MEMORY_MB": 1})
    partition.add_host("h2")
    record = {"driver": "filter", "seed": 7, "reasons": {"ram": 3}}
    partition.prepare("c1", "h1", "h2", request_id="req-7", record=record)
    decision = partition.store.find_decision("req-7")
    assert (decision["driver"], decision["seed"], decision["reasons"]) == ("filter", 7, {"ram": 3})
    assert decision["outcome"] == "selected" and decision["at_ms"] <= partition.time()
    assert decision["answered_position"] == partition.store.snapshot().position
    assert decision["verdicts"] == [
        {"consumer": "c1", "answer": "prepared", "host": "h2", "tried": [["h1", "FULL"], ["h2", "FITS"]]}
    ]


def test_refused_batch_is_recorded(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": 1, "MEMORY_MB": 1})
    partition.prepare("c1", "h1", request_id="req-8", record={"driver": "filter"})
    decision = partition.store.find_decision("req-8")
    assert (decision["outcome"], decision["verdicts"][0]["answer"]) == ("refused", "refused")
    assert decision["verdicts"][0]["tried"] == [["h1", "FULL"]]


def test_newest_decision_is_returned(partition: StorePartition) -> None:
    partition.store.record_decision("req-9", {"outcome": "refused", "reasons": {"az": 2}})
    partition.store.record_decision("req-9", {"outcome": "refused", "reasons": {"az": 3}})
    assert partition.store.find_decision("req-9")["reasons"] == {"az": 3}
    with pytest.raises(errors.UnknownDecision):
        partition.store.find_decision("req-0")


def test_decision_record_is_bounded(make_partition: Any) -> None:
    partition = make_partition(decisions=5)
    for n in range(200):
        partition.store.record_decision(f"req-{n}", {"seed": n})
    assert partition.store.find_decision("req-199")["seed"] == 199
    with pytest.raises(errors.UnknownDecision):
        partition.store.find_decision("req-0")
