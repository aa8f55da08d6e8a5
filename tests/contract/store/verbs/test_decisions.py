# SPDX-License-Identifier: Apache-2.0
"""The decision record: what a decision stores, and its pages."""

from typing import Any

import pytest

from rpcapi import errors
from scheduler_svc.store import documents
from scheduler_svc.store.decisions import project_of, record_bytes
from scheduler_svc.store.sql.decisions import TRIM_EVERY
from tests.support.store.store_partition import StorePartition


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


def test_decisions_of_two_projects_with_one_request_id_are_both_found(partition: StorePartition) -> None:
    store = partition.store
    store.record_decision("req-1", {"project": "one", "number": 1})
    store.record_decision("req-1", {"project": "two", "number": 2})
    store.record_decision("req-1", {"number": 3})
    numbers = [store.find_decision("req-1", project)["number"] for project in ("one", "two", "three", "", None)]
    assert numbers == [1, 2, 3, 3, 3]
    # a prepared batch is found in the same way
    partition.add_host("h1")
    partition.prepare("c1", "h1", request_id="req-1", record={"project": "two", "number": 4})
    partition.prepare("c2", "h1", request_id="req-1", record={"number": 5})
    numbers = [store.find_decision("req-1", project)["number"] for project in ("one", "two", None)]
    assert numbers == [1, 4, 5]


def test_request_id_that_resembles_a_project_is_another_request(partition: StorePartition) -> None:
    partition.store.record_decision("req-1", {"project": "one", "number": 1})
    for request_id in ("req-1one", "req-1\none", "req-1|one", "req-1 one", "('req-1', 'one')"):
        partition.store.record_decision(request_id, {"project": "two", "number": 2})
    assert partition.store.find_decision("req-1", "one")["number"] == 1
    for project in ("one\0", "\ud800", "x" * 1000):
        with pytest.raises(errors.InvalidRequest):
            partition.store.record_decision("req-1", {"project": project})


def test_decision_record_is_bounded(make_partition: Any) -> None:
    most = 20_000
    partition = make_partition(decision_bytes=most)
    for n in range(200):
        record = {"seed": n, "project": "p" * 40 * (n % 2), "reasons": "x" * (n % 7) * 100}
        partition.store.record_decision(f"req-{n}", record)
    assert partition.store.find_decision("req-199")["seed"] == 199
    for project in (None, "p" * 40):
        with pytest.raises(errors.UnknownDecision):
            partition.store.find_decision("req-1", project)
    page, _marker = partition.store.list_decisions(limit=1000)
    size = sum(record_bytes(request, project_of(document), documents.encode(document)) for request, document in page)
    assert most / 2 < size <= most + TRIM_EVERY * 900
    # one that is larger than most leaves nothing else
    partition.store.record_decision("large", {"reasons": "x" * most})
    for n in range(TRIM_EVERY):
        partition.store.record_decision(f"next-{n}", {})
    page, _marker = partition.store.list_decisions(limit=1000)
    assert {request.partition("-")[0] for request, _document in page} <= {"large", "next"}
