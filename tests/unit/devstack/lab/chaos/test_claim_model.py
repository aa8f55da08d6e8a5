# SPDX-License-Identifier: Apache-2.0
"""The model of a claim's life: legal lives, and the writes that no sequential execution explains."""

import pytest

from devstack.lab.chaos.claim_model import check_claims
from devstack.lab.chaos.history import ClaimSighting
from devstack.lab.chaos.violations import ViolationKind

EPOCH = "new epoch"


def kinds(*states: str) -> list[ViolationKind]:
    """Return the kinds of the violations of one claim's life."""
    epoch, sightings = 1, []
    for state in states:
        if state == EPOCH:
            epoch += 1
            sightings.append(ClaimSighting(1.0, "p", epoch=epoch))
        else:
            sightings.append(ClaimSighting(1.0, "p", "c", 1, state, "h"))
    return [violation.kind for violation in check_claims(sightings)]


@pytest.mark.parametrize(
    "states",
    [
        ("prepared", "confirmed", "released"),
        ("prepared", "aborted"),
        ("prepared", "expired"),
        ("prepared", "released"),
        ("confirmed", "confirmed", "released", "released"),
        ("unknown",),
        ("prepared", "confirmed", "fenced"),
        ("prepared", "confirmed", "source", "released"),
        ("prepared", "confirmed", "source", "confirmed", "source", "fenced"),
        ("prepared", "confirmed", "source", EPOCH, "confirmed", "source"),
        ("source",),
        ("unverified",),
        # The store forgot the confirmation, and an audit wrote the claim again
        ("prepared", "confirmed", EPOCH, "prepared", "aborted"),
        ("prepared", "confirmed", EPOCH, "confirmed", "released"),
        ("prepared", "confirmed", "source", EPOCH, "prepared", "source"),
        # It forgot the end
        ("prepared", "confirmed", "released", EPOCH, "confirmed", "released"),
        ("prepared", "confirmed", "released", EPOCH, "released"),
    ],
)
def test_legal_life(states: tuple[str, ...]) -> None:
    assert not kinds(*states)


@pytest.mark.parametrize("second", ["aborted", "expired"])
def test_second_end(second: str) -> None:
    assert kinds("prepared", "confirmed", "released", second) == [ViolationKind.DOUBLE_END]


@pytest.mark.parametrize(
    "states",
    [
        ("prepared", "aborted", "confirmed"),
        ("prepared", "expired", "prepared"),
        ("prepared", "confirmed", "released", "confirmed"),
        ("prepared", "confirmed", "aborted"),
        ("prepared", "confirmed", "expired"),
        ("prepared", "confirmed", "prepared"),
        ("prepared", "source"),
        ("prepared", "confirmed", "source", "aborted"),
        ("prepared", "confirmed", "source", "released", "confirmed"),
        ("unknown", "prepared"),
    ],
)
def test_illegal_transition(states: tuple[str, ...]) -> None:
    assert kinds(*states) == [ViolationKind.ILLEGAL]


def test_a_new_epoch_excuses_one_step_back_only() -> None:
    states = ("prepared", "confirmed", "released", EPOCH, "confirmed", "released", "confirmed")
    assert kinds(*states) == [ViolationKind.ILLEGAL]


def test_attempts_are_apart() -> None:
    lives = [ClaimSighting(1.0, "p", "c", 1, "aborted", "h"), ClaimSighting(1.0, "p", "c", 2, "prepared", "h")]
    assert not list(check_claims(lives))


def test_writes_are_sorted_by_the_servers_times() -> None:
    # The line of a killed server is read after those of its successor
    epoch, late = ClaimSighting(2.0, "p", epoch=2), ClaimSighting(1.9, "p", "c", 1, "expired", "h")
    first, again = ClaimSighting(1.0, "p", "c", 1, "prepared", "h"), ClaimSighting(2.1, "p", "c", 1, "prepared", "h")
    assert not list(check_claims([first, epoch, late, again]))


def write(server: str, state: str, at: float) -> ClaimSighting:
    """Return a write of a claim on a server."""
    return ClaimSighting(at, "p", "c", 1, state, "h", server=server)


def test_each_of_two_primaries_is_sequential_by_itself() -> None:
    # Given an old primary that still accepts writes, which the promoted one never gets
    promoted = ClaimSighting(2.0, "p", epoch=2, server="r1")
    writes = [write("r0", "prepared", 1.0), promoted, write("r0", "confirmed", 2.1), write("r1", "expired", 2.2)]
    assert not list(check_claims(writes))
    # But a promoted server that went on without a new epoch is found
    again = [write("r1", "prepared", 1.0), write("r1", "aborted", 1.1), write("r1", "confirmed", 2.2)]
    assert [violation.kind for violation in check_claims(again)] == [ViolationKind.ILLEGAL]
