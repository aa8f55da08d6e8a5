# SPDX-License-Identifier: Apache-2.0
"""The server's clock, which unlike the partition's time steps as it likes."""

import pytest

from tests.support.store.store_partition import StorePartition

HOUR_MS = 3_600_000


@pytest.mark.parametrize("step_ms", [100 * HOUR_MS, -100 * HOUR_MS])
def test_clock_is_the_servers_after_a_step(partition: StorePartition, step_ms: int) -> None:
    partition.add_host("h1")
    partition.step_clock(step_ms)
    clock_ms, lead_ms = partition.store.clock_ms(), partition.store.clock_lead()
    assert abs(clock_ms - (partition.time() + lead_ms)) < HOUR_MS
