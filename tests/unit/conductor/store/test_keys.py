# SPDX-License-Identifier: Apache-2.0
"""The key schema of the conductors' store."""

from redis.crc import key_slot

from conductor.store import keys


def test_all_keys_are_in_one_slot_of_a_cluster() -> None:
    assert len(keys.ALL) == len(set(keys.ALL)) == len(keys.KEYS)
    assert {key_slot(name.encode()) for name in keys.ALL} == {key_slot(b"conductor")}


def test_key_has_the_prefix_that_the_user_of_the_conductor_may_access() -> None:
    assert keys.key("due") == "gantt:{conductor}:due"
