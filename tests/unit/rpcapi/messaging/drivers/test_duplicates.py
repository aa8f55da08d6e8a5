# SPDX-License-Identifier: Apache-2.0
"""The ids of recently begun requests."""

from rpcapi.messaging.drivers.listener import RecentIds


def test_key_is_new_until_it_is_remembered() -> None:
    recent_ids = RecentIds(max_keys=2)
    assert [recent_ids.add_if_new(key) for key in ("a", "a", "b", "c", "a")] == [True, False, True, True, True]
