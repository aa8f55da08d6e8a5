# SPDX-License-Identifier: Apache-2.0
"""Presence of a partition's store: last contact, outage, steady time."""

import math

import pytest

from scheduler_svc.replication.presence import Presence


class Clock:
    """A clock that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def presence(clock: Clock) -> Presence:
    return Presence(clock)


def test_store_is_away_before_its_first_answer(presence: Presence) -> None:
    assert presence.away
    assert (presence.silent_s, presence.steady_s, presence.away_s) == (math.inf, 0.0, 0.0)


def test_store_that_answers_at_the_first_call_counts_as_always_available(presence: Presence, clock: Clock) -> None:
    presence.record_answer()
    clock.now += 5
    assert not presence.away
    assert (presence.silent_s, presence.steady_s, presence.away_s) == (5.0, math.inf, 0.0)


def test_outage_lasts_from_the_first_failure_to_the_next_answer(presence: Presence, clock: Clock) -> None:
    presence.record_answer()
    clock.now += 10
    presence.record_failure()
    clock.now += 3
    presence.record_failure()
    assert (presence.away, presence.away_s, presence.silent_s, presence.steady_s) == (True, 3.0, 13.0, 0.0)
    presence.record_answer()
    clock.now += 7
    presence.record_answer()
    assert (presence.away, presence.away_s, presence.silent_s, presence.steady_s) == (False, 0.0, 0.0, 7.0)


def test_store_that_is_away_at_the_first_call_is_steady_only_since_its_first_answer(
    presence: Presence, clock: Clock
) -> None:
    presence.record_failure()
    clock.now += 4
    assert presence.away_s == 4.0
    presence.record_answer()
    clock.now += 2
    assert presence.steady_s == 2.0
