# SPDX-License-Identifier: Apache-2.0
"""Aggregate metadata with several values in one text."""

import pytest

from scheduler_svc.core.filters.aggregates import members_with_value, split_values
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.aggregates import READS
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node
from tests.unit.scheduler_svc.core.filters.cloud import aggregate


@pytest.mark.parametrize(
    ("text", "values"),
    [("a", ["a"]), ("a, b ,c", ["a", "b", "c"]), ("", [""]), ("a b", ["a b"]), ("a,,b", ["a", "", "b"])],
)
def test_values_are_separated_by_commas(text, values):
    assert split_values(text) == values


def test_hosts_are_members_if_any_value_of_any_aggregate_matches():
    table = hosts.table({name: node() for name in ("one", "both", "two", "none")}, reads=READS)
    documents = {"x": aggregate("one", "both", rack="r1, r2"), "y": aggregate("both", "two", rack="r3")}
    table.apply(LogEntry(101, "state", {"aggregate": documents}))
    with table.reading() as view:
        texts = view.aggregates.metadata_values("rack")
        assert members_with_value(view, texts, {"r2"}.__contains__).tolist() == [True, True, False, False]
        assert members_with_value(view, texts, {"r2", "r3"}.__contains__).tolist() == [True, True, True, False]
        assert not members_with_value(view, texts, {"r1, r2"}.__contains__).any()
        assert not members_with_value(view, {}, {"r1"}.__contains__).any()
