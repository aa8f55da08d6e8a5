# SPDX-License-Identifier: Apache-2.0
"""What tombstones say and prove."""

from scheduler_svc.store import tombstones


def test_tombstone_that_proves_all_earlier_ends_is_the_state() -> None:
    assert tombstones.encode(2, "released", 2) == "released"
    assert tombstones.encode(2, "released", 1) == "released:1"


def test_end_proves_the_ends_before_its_source() -> None:
    ends = {2: "aborted", 5: "released:3", 7: "unknown:0"}
    assert [attempt for attempt in range(1, 9) if tombstones.proves_end_of(ends, attempt)] == [1, 2]
    assert [tombstones.state_of(text) for text in ends.values()] == ["aborted", "released", "unknown"]
