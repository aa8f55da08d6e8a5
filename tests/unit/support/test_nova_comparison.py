# SPDX-License-Identifier: Apache-2.0
"""Comparisons of usages, claims and guests with what Placement and Nova's records say."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from scheduler_svc.core.records import Claim
from scheduler_svc.store.records import Verification
from tests.support.nova import comparison
from tests.support.nova.comparison import Guests

SMALL = {"VCPU": 1, "MEMORY_MB": 512}
HELD = {"a": {"server": SMALL, "other": SMALL}, "b": {}}
HOSTS = ["a", "b"]


class _Placement:
    def __init__(self, **usages: dict[str, int]) -> None:
        self._usages = usages

    def usages(self, provider: str) -> dict[str, int]:
        return self._usages[provider]


def test_usages_that_are_the_sum_of_allocations_are_equal() -> None:
    placement = _Placement(a={"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 0}, b={"VCPU": 0})
    assert comparison.usage_differences(placement, HELD) == []


def test_usage_without_an_allocation_is_a_difference() -> None:
    placement = _Placement(a={"VCPU": 2, "MEMORY_MB": 1024}, b={"VCPU": 1})
    (sentence,) = comparison.usage_differences(placement, HELD)
    assert sentence == "b has the usages {'VCPU': 1}, but its allocations are {} in sum"


class _Store:
    """A store with claims, one a page, and the result of a verification."""

    def __init__(self, *claims: Claim, problems: Sequence[str] = (), excess: Sequence[Mapping[str, Any]] = ()) -> None:
        self._claims = claims
        self._verification = Verification(1, 1, {}, 0, problems, excess, [])

    def claims(self, *, marker: str | None = None) -> tuple[list[Claim], str | None]:
        position = int(marker or 0)
        page = list(self._claims[position : position + 1])
        return page, str(position + 1) if position + 1 < len(self._claims) else None

    def verify(self) -> Verification:
        return self._verification


def _claim(consumer: str, state: str = "confirmed", amounts: Mapping[str, int] = SMALL) -> Claim:
    return Claim(consumer, 1, 1, "", "p", "u", state, "@api/a", {"@api/a": amounts}, "req", 0)


def test_claims_that_are_the_allocations_are_equal() -> None:
    assert comparison.claim_differences(_Store(_claim("server"), _claim("other")), HELD) == []


@pytest.mark.parametrize(
    "claims",
    [[], [_claim("server", "prepared")], [_claim("server", amounts={"VCPU": 1})], [_claim("server"), _claim("more")]],
)
def test_claim_that_is_missing_unconfirmed_of_another_amount_or_too_many_is_a_difference(claims: list[Claim]) -> None:
    (sentence,) = comparison.claim_differences(_Store(*claims), {"a": {"server": SMALL}})
    assert " holds " in sentence and "but its claim is" in sentence


def test_what_a_verification_finds_is_a_difference() -> None:
    excess = {"provider": "@api/a", "class": "VCPU", "used": 3, "capacity": 2}
    store = _Store(problems=["VCPU at @api/a: recorded as used 1, used by claims 0"], excess=[excess])
    problem, flagged = comparison.claim_differences(store, {})
    assert problem.startswith("VCPU at @api/a") and flagged.startswith("more than the capacity is claimed")


@pytest.mark.parametrize(
    ("guests", "recorded"),
    [
        ({"server": ["a"]}, Guests({"server": frozenset("a")}, {"server": frozenset("a")})),
        ({"server": ["a", "b"]}, Guests({"server": frozenset("b")}, {"server": frozenset("ab")})),
        ({}, Guests({}, {"server": frozenset("a")})),
        ({"server": ["dead"]}, Guests({}, {})),
        ({}, Guests({"server": frozenset(["dead"])}, {"server": frozenset(["dead"])})),
    ],
    ids=["one", "both of a move", "being built", "guest on a host not compared", "server on a host not compared"],
)
def test_guests_that_the_records_allow_are_equal(guests: dict[str, list[str]], recorded: Guests) -> None:
    assert comparison.guest_differences(guests, recorded, HOSTS) == []


@pytest.mark.parametrize(
    ("guests", "required"),
    [({"server": ["a", "b"]}, "a"), ({"server": ["b"]}, "a"), ({}, "a"), ({"server": ["a"]}, "")],
    ids=["twice", "elsewhere", "missing", "of no server"],
)
def test_guest_too_many_or_too_few_is_a_difference(guests: dict[str, list[str]], required: str) -> None:
    hosts = {"server": frozenset(required)}
    (sentence,) = comparison.guest_differences(guests, Guests(hosts, hosts), HOSTS)
    assert sentence.startswith("server has guests on ")
