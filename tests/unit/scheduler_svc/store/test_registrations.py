# SPDX-License-Identifier: Apache-2.0
"""Incarnations as numbers, and the proof that two agents share one identity."""

import pytest

from scheduler_svc.store import registrations
from scheduler_svc.store.records import HostReport
from scheduler_svc.store.registrations import DUPLICATE_QUIET_MS, AppliedReport

SERVICE = {"version": 3, "enabled": True}


def registration(agent: str, incarnation: int) -> HostReport:
    return HostReport(incarnation, 9, {}, register=True, agent=agent)


def applied(agent: str, incarnation: int, returned_ms: int | None = None) -> AppliedReport:
    return AppliedReport(incarnation, 1, (), agent, returned_ms)


def test_incarnations_are_ordered_by_epoch_then_position() -> None:
    in_order = [(1, 1), (1, 2), (1, 2**39), (2, 1), (1_763_000_000_000, 7)]
    numbers = [registrations.incarnation(*issued) for issued in in_order]
    assert numbers == sorted(set(numbers))
    assert [registrations.issued(number) for number in numbers] == in_order
    assert numbers[-1] < registrations.MAX_INCARNATION


@pytest.mark.parametrize(
    ("last", "report", "returns"),
    [
        (None, registration("a", 5), False),
        (applied("b", 6), registration("a", 0), False),  # a start
        (applied("b", 6), registration("a", 5), True),
        (applied("b", 4), registration("a", 5), False),  # the store forgot that a had registered
        (applied("a", 6), registration("a", 5), False),  # its own registration, delivered twice
        (applied("b", 6), HostReport(5, 9, {}, agent="a"), False),  # no registration
    ],
)
def test_agent_returns_that_a_later_one_superseded(
    last: AppliedReport | None, report: HostReport, returns: bool
) -> None:
    assert registrations.is_return(last, report) is returns


@pytest.mark.parametrize(
    ("returned_ms", "duplicate"),
    [(None, False), (1000, True), (1001 - DUPLICATE_QUIET_MS, True), (1000 - DUPLICATE_QUIET_MS, False)],
)
def test_second_return_in_short_time_proves_a_duplicate(returned_ms: int | None, duplicate: bool) -> None:
    last = applied("b", 6, returned_ms)
    assert registrations.is_duplicate(last, registration("a", 5), 1000) is duplicate
    assert not registrations.is_duplicate(last, registration("a", 0), 1000)
    assert not registrations.is_duplicate(None, registration("a", 5), 1000)


def test_mark_changes_the_version_only_where_it_appears_or_disappears() -> None:
    marked = registrations.with_duplicate(SERVICE, 5)
    assert marked == {"version": 4, "enabled": True, "duplicate_ms": 5}
    assert registrations.with_duplicate(marked, 9) == {"version": 4, "enabled": True, "duplicate_ms": 9}
    assert registrations.with_duplicate(marked, None) == {"version": 5, "enabled": True}
    assert registrations.with_duplicate(SERVICE, None) == SERVICE


def test_duplicate_is_over_after_quiet_time() -> None:
    marked = registrations.with_duplicate(SERVICE, 5)
    assert not registrations.is_quiet(marked, 4 + DUPLICATE_QUIET_MS)
    assert registrations.is_quiet(marked, 5 + DUPLICATE_QUIET_MS)
    assert not registrations.is_quiet(SERVICE, 5 + DUPLICATE_QUIET_MS)
