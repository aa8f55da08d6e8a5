# SPDX-License-Identifier: Apache-2.0
"""The simulated copy of a guest: when it is complete, what is left, and its seeded failures."""

from dataclasses import replace

import pytest

from compute_agent.simulator.copy import CopyEvent, SimulatedCopy
from compute_agent.simulator.profile import HostProfile

# 1000 MiB of memory at 100 MiB/s, of which 50 are written again; 2000 MiB of disk: 20 s for the disk, and then 19 s
# until 50 MiB are left, which are copied within the downtime of 0.5 s.
COPY = SimulatedCopy(1000, 2000, copy_rate=100.0, dirty_rate=50.0, downtime_ms=500, started_ms=1_000)
END = 1_000 + 20_000 + 19_000 + 500


def test_copy_is_complete_when_the_rest_fits_into_the_downtime():
    assert COPY.wait_ms(1_000) == END - 1_000
    assert COPY.event(END - 1) is CopyEvent.NONE
    assert COPY.event(END) is CopyEvent.COMPLETE


def test_disk_is_copied_once_and_memory_again_as_it_is_written():
    assert COPY.total_mb == 3000
    assert COPY.remaining_mb(1_000) == 3000
    assert COPY.remaining_mb(11_000) == 2000
    assert COPY.remaining_mb(21_000) == 1000  # the disk is copied
    assert COPY.remaining_mb(31_000) == 500  # 10 s of 50 MiB/s
    assert COPY.copied_mb(31_000) == 3000
    assert COPY.copied_mb(END + 60_000) == COPY.copied_mb(END)


@pytest.mark.parametrize("dirty_rate", [100.0, 250.0])
def test_guest_that_writes_as_fast_as_it_is_copied_is_never_complete(dirty_rate):
    busy = replace(COPY, dirty_rate=dirty_rate)
    assert busy.wait_ms(1_000) is None
    assert busy.event(10**9) is CopyEvent.NONE
    assert busy.remaining_mb(10**9) == 1000


def test_guest_whose_memory_fits_into_the_downtime_is_complete_whatever_it_writes():
    small = replace(COPY, memory_mb=50, disk_mb=0, dirty_rate=500.0)
    assert small.wait_ms(1_000) == 500


def test_forced_copy_is_complete_after_what_was_left():
    busy = replace(COPY, dirty_rate=100.0)
    forced = busy.force(31_000)
    assert forced.wait_ms(31_000) == 10_000
    assert forced.remaining_mb(36_000) == 500
    assert forced.event(41_000) is CopyEvent.COMPLETE
    assert forced.force(40_000) == forced


def test_copy_that_is_forced_while_its_disk_is_copied_copies_all_memory_afterwards():
    assert COPY.force(2_000).wait_ms(1_000) == 30_000


def test_forced_copy_never_takes_longer():
    assert COPY.force(END - 100).wait_ms(END - 100) <= 100


def test_clock_before_the_start_leaves_everything_to_be_copied():
    assert COPY.remaining_mb(0) == 3000
    assert COPY.copied_mb(0) == 0
    assert COPY.event(0) is CopyEvent.NONE


def test_earliest_event_counts():
    failing = replace(COPY, failure_ms=5_000, death_ms=6_000)
    assert failing.event(END) is CopyEvent.FAILURE
    assert failing.wait_ms(1_000) == 4_000
    assert replace(failing, death_ms=4_000).event(END) is CopyEvent.DEATH


def test_failures_are_seeded_and_happen_before_the_end():
    profile = HostProfile(copy_failure_rate=0.3, copy_death_rate=0.2)
    copies = [SimulatedCopy.begin(profile, ("m", number), 1000, 2000, 0) for number in range(500)]
    assert copies == [SimulatedCopy.begin(profile, ("m", number), 1000, 2000, 0) for number in range(500)]
    failing = [copy.failure_ms for copy in copies if copy.failure_ms is not None]
    dying = [copy.death_ms for copy in copies if copy.death_ms is not None]
    assert 100 < len(failing) < 200
    assert 60 < len(dying) < 140
    shortest = 3000
    assert all(0 <= at_ms <= shortest for at_ms in failing + dying)
    assert all(copy.event(10**9) is not CopyEvent.COMPLETE for copy in copies if copy.failure_ms is not None)
