# SPDX-License-Identifier: Apache-2.0
"""The key schema: all keys of a partition are in one slot of a cluster, and partitions share none."""

import pytest
from redis.crc import key_slot

from scheduler_svc.store.redis.keys import KEYS, prefix, state_word


@pytest.mark.parametrize("partition", ["default", "cell1", "p-2"])
def test_all_keys_of_a_partition_are_in_one_slot(partition: str) -> None:
    keys = [prefix(partition) + word for word in KEYS] + [
        prefix(partition) + state_word(name) for name in ("rack", "volume")
    ]
    assert len({key_slot(key.encode()) for key in keys}) == 1
    assert len(set(keys)) == len(keys)


def test_no_partitions_prefix_begins_anothers() -> None:
    prefixes = [prefix(partition) for partition in ("a", "b", "ab", "a-b", "a1")]
    for head in prefixes:
        assert [other for other in prefixes if other.startswith(head)] == [head]


def test_documents_of_a_namespace_are_below_the_declared_word() -> None:
    assert state_word("rack") == "state:rack"
    assert "state" in KEYS
