# SPDX-License-Identifier: Apache-2.0
"""The rows, the log position and the documents of one partition."""

import pytest

from scheduler_svc.core.table.partition import LogPosition, PartitionDocuments, PartitionRows
from scheduler_svc.core.table.services import ServiceColumns


def partition(rows=(), columns=None):
    part = PartitionRows("east", 1, columns or ServiceColumns(8), PartitionDocuments())
    for row, (name, host) in enumerate(rows):
        part.rows[name] = row
        part.services.add_row(row, host)
    return part


def test_partition_that_was_never_loaded_is_before_every_epoch():
    assert partition().log_position == LogPosition(epoch=0, position=0)


def test_earlier_epoch_is_ignored():
    columns = ServiceColumns(8)
    part = partition([("a", "a")], columns)
    part.set_epoch(5)
    part.services.set_opened("a", 5, 1)
    part.set_epoch(4)
    assert part.log_position == (5, 0)
    assert columns.opened[0], "the host was audited in the current epoch"
    part.set_epoch(6)
    assert part.epoch == 6
    assert not columns.opened[0]


def test_rows_of_a_name_are_those_of_the_node_or_of_the_service_host():
    part = partition([("a/1", "a"), ("a/2", "a"), ("b", "b")])
    assert part.find_rows("a") == [0, 1]
    assert part.find_rows("a/2") == [1]
    assert set(part.find_rows("b")) == {2}
    assert part.find_rows("c") == []


READS = {"rack": frozenset({"watts", "power"}), "compute": frozenset({"traits"}), "service": frozenset({"alive"})}


def test_only_keys_in_reads_are_stored():
    documents = PartitionDocuments(READS)
    assert documents.put("rack", "a", {"watts": 1, "colour": "red"}, 1)
    assert documents.of("rack") == {"a": {"watts": 1}}
    assert documents.find("rack", "a") == {"watts": 1}
    assert documents.find("rack", "b") is None


def test_composed_namespaces_are_not_stored():
    documents = PartitionDocuments(READS)
    assert documents.namespaces == ["rack"]
    assert not documents.put("compute", "a", {"traits": []}, 1)
    assert not documents.put("network", "a", {"physnets": []}, 1)
    for namespace in ("compute", "network"):
        with pytest.raises(LookupError, match=namespace):
            documents.of(namespace)


def test_change_is_reported_for_stored_keys_only():
    documents = PartitionDocuments(READS)
    assert documents.put("rack", "a", {"watts": 1}, 1)
    assert not documents.put("rack", "a", {"watts": 1, "colour": "blue"}, 2)
    assert documents.put("rack", "a", {"watts": 2}, 3)
    assert documents.put("rack", "b", {"colour": "red"}, 4), "a document without stored keys is new, too"
    assert documents.put("rack", "a", None, 5)
    assert not documents.put("rack", "a", None, 6)


def test_older_position_is_ignored_even_after_a_deletion():
    documents = PartitionDocuments(READS)
    documents.put("rack", "a", {"watts": 5}, 5)
    assert not documents.put("rack", "a", {"watts": 4}, 4)
    documents.put("rack", "a", None, 7)
    assert not documents.put("rack", "a", {"watts": 6}, 6)
    assert documents.of("rack") == {}
    assert documents.put("rack", "a", {"watts": 7}, 7), "an entry may be applied twice"


def test_added_reads_apply_to_later_documents():
    documents = PartitionDocuments(READS)
    documents.put("rack", "a", {"watts": 1, "colour": "red"}, 1)
    documents.add_reads({"rack": frozenset({"colour"}), "network": frozenset({"mtu"})})
    assert documents.of("rack") == {"a": {"watts": 1}}
    documents.put("rack", "a", {"watts": 1, "colour": "red"}, 2)
    documents.put("network", "a", {"mtu": 9000}, 2)
    assert documents.of("rack") == {"a": {"watts": 1, "colour": "red"}}
    assert documents.of("network") == {"a": {"mtu": 9000}}
