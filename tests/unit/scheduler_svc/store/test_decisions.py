# SPDX-License-Identifier: Apache-2.0
"""Paging of the decision record."""

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
