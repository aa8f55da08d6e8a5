# SPDX-License-Identifier: Apache-2.0
"""The documents of one partition, reduced to the keys that are read."""

import pytest

from scheduler_svc.core.table.partition import PartitionDocuments

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
