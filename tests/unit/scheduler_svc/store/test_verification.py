# SPDX-License-Identifier: Apache-2.0
"""Verification of sums and indexes against the claims."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import Claim, ClaimGroup
from scheduler_svc.store import tallies
from scheduler_svc.store.verification import StoreDump, verify

OWNER = ("p", "u", "INSTANCE")
GROUP = ClaimGroup("g1", GroupPolicy.AFFINITY)
CONFIRMED = Claim("c1", 1, 1, "INSTANCE", "p", "u", "confirmed", "h1", {"h1": {"VCPU": 3}}, "req-1", 0, group=GROUP)
PREPARED = replace(CONFIRMED, consumer="c2", state="prepared", deadline_ms=50, group=None)


def sums_by_project(claims: Sequence[Claim]) -> dict[str, Any]:
    sums = tallies.flat(tallies.count(claims))
    return {"tallies": sums, "tallied": sums.keys()}


DUMP = StoreDump(
    epoch=2,
    position=9,
    claims=[CONFIRMED, PREPARED],
    capacity={"h1": {"VCPU": 6}},
    used={"h1": {"VCPU": 6, "MEMORY_MB": 0, "claims": 2}},
    groups={"g1": {"h1": 1}},
    deadlines={"c2": 50},
    by_host=[("h1", "c1"), ("h1", "c2")],
    opened={"h1": 2},
    awaited=[],
    excess={},
    unverified={},
    **sums_by_project([CONFIRMED, PREPARED]),
)


def test_consistent_dump_has_no_problems() -> None:
    result = verify(DUMP)
    assert (result.problems, result.excess) == ([], [])
    assert (result.epoch, result.position, result.providers) == (2, 9, 1)
    assert result.claims == {"prepared": 1, "confirmed": 1}


UNHELD = replace(CONFIRMED, reported={"h1": {"VCPU": 3, "DISK_GB": 1}})
BELOW = replace(CONFIRMED, reported={"h1": {"VCPU": 2}})


def test_claim_that_holds_more_than_its_agent_reports_has_no_problem() -> None:
    assert verify(replace(DUMP, claims=[BELOW, PREPARED])).problems == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"claims": [UNHELD, PREPARED]},
            "DISK_GB at h1: the guest of c1@1 on h1 uses 1 by its agent's report; its claim holds 0",
        ),
        ({"used": {"h1": {"VCPU": 5, "claims": 2}}}, "VCPU at h1: recorded as used 5, used by claims 6"),
        ({"used": {"h1": {"claims": 2}}}, "VCPU at h1: recorded as used 0, used by claims 6"),
        ({"used": {"h1": {"VCPU": 6, "claims": 1}}}, "claims at h1: recorded as used 1, used by claims 2"),
        ({"by_host": [("h1", "c1")]}, "index by host of ('h1', 'c2'): recorded None, computed from the claims 1"),
        ({"groups": {}}, "group count of ('g1', 'h1'): recorded None, computed from the claims 1"),
        ({"groups": {"g1": {"h1": 2}}}, "group count of ('g1', 'h1'): recorded 2, computed from the claims 1"),
        ({"deadlines": {"c2": 51}}, "deadline of c2: recorded 51, computed from the claims 50"),
        ({"deadlines": {}}, "deadline of c2: recorded None, computed from the claims 50"),
        ({"deadlines": {"c1": 1, "c2": 50}}, "deadline of c1: recorded 1, computed from the claims None"),
        (
            {"tallies": {**DUMP.tallies, (*OWNER, "VCPU"): 5}},
            "tally of ('p', 'u', 'INSTANCE', 'VCPU'): recorded 5, computed from the claims 6",
        ),
        (
            {"tallied": [(*OWNER, "")]},
            "index of tallies of ('p', 'u', 'INSTANCE', 'VCPU'): recorded None, computed from the sums 1",
        ),
        ({"unverified": {"c3": 1}}, "number of unverified claims of c3: recorded 1, computed from the claims None"),
        ({"capacity": {"h1": {"VCPU": 5}}}, "VCPU at h1: claims use 6 of 5, not flagged as excess"),
        ({"excess": {("h1", "VCPU"): 7}}, "VCPU at h1: flagged as excess but within capacity"),
    ],
)
def test_inconsistent_record_is_the_only_problem(changes: dict, problem: str) -> None:
    assert list(verify(replace(DUMP, **changes)).problems) == [problem]


API_PROVIDERS = {
    "@api/p": {"id": "@api/p", "name": "pool", "parent": None},
    "@api/c": {"id": "@api/c", "name": "cell", "parent": "@api/p"},
}
API_DUMP = replace(
    DUMP,
    provider_names={"pool": "@api/p", "cell": "@api/c"},
    children={("@api/p", "@api/c")},
    api_providers=API_PROVIDERS,
)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"provider_names": {"pool": "@api/p"}}, "provider of the name of cell: recorded None, computed from the "),
        ({"provider_names": {"pool": "@api/c", "cell": "@api/c"}}, "provider of the name of pool: recorded @api/c"),
        ({"children": ()}, "child of ('@api/p', '@api/c'): recorded None, computed from the documents 1"),
        ({"children": {("h1", "@api/p"), ("@api/p", "@api/c")}}, "child of ('h1', '@api/p'): recorded 1"),
    ],
)
def test_inconsistent_index_of_the_apis_providers_is_the_only_problem(changes: dict, problem: str) -> None:
    assert verify(API_DUMP).problems == []
    (actual,) = verify(replace(API_DUMP, **changes)).problems
    assert problem in actual


def test_prepared_claim_on_a_provider_of_the_api_is_never_parked() -> None:
    claim = replace(PREPARED, host="@api/p", allocations={"@api/p": {"VCPU": 3}})
    dump = replace(
        DUMP,
        claims=[CONFIRMED, claim],
        capacity={"h1": {"VCPU": 3}, "@api/p": {"VCPU": 3}},
        used={"h1": {"VCPU": 3, "claims": 1}, "@api/p": {"VCPU": 3, "claims": 1}},
        by_host=[("h1", "c1"), ("@api/p", "c2")],
    )
    assert verify(dump).problems == []
    assert list(verify(replace(dump, deadlines={})).problems) == [
        "deadline of c2: recorded None, computed from the claims 50"
    ]


def test_claim_without_deadline_entry_is_parked_on_a_host_that_must_audit() -> None:
    assert verify(replace(DUMP, deadlines={}, opened={"h1": 1})).problems == []
    assert verify(replace(DUMP, deadlines={}, opened={})).problems == []


def test_flagged_excess_is_listed_with_its_figures() -> None:
    capacity = {"h1": {"VCPU": [5, 1, 5, 1]}}
    result = verify(replace(DUMP, capacity=capacity, excess={("h1", "VCPU"): 7}, awaited={"h2", "h1"}))
    assert result.problems == []
    assert result.excess == [{"provider": "h1", "class": "VCPU", "used": 6, "capacity": 5, "since_ms": 7}]
    assert result.awaited == ["h1", "h2"]


SPREAD = replace(CONFIRMED, allocations={"h1": {"VCPU": 3}, "pool": {"DISK_GB": 1}})
SPREAD_DUMP = replace(
    DUMP,
    claims=[SPREAD, PREPARED],
    capacity={"h1": {"VCPU": 6}, "pool": {"DISK_GB": 1}},
    used={"h1": {"VCPU": 6, "claims": 2}, "pool": {"DISK_GB": 1, "claims": 1, "foreign_claims": 1}},
    holders=["pool|c1"],
    **sums_by_project([SPREAD, PREPARED]),
)


def test_holder_that_is_missing_or_has_no_claim_is_a_problem() -> None:
    assert verify(SPREAD_DUMP).problems == []
    assert verify(replace(SPREAD_DUMP, holders=[])).problems == [
        "holder of pool|c1: recorded None, computed from the claims 1"
    ]
    assert verify(replace(SPREAD_DUMP, holders=["pool|c1", "pool|c2"])).problems == [
        "holder of pool|c2: recorded 1, computed from the claims None"
    ]
    of_the_api = replace(SPREAD, host="@api", group=None)
    counted = {name: {**sums, "foreign_claims": 1} for name, sums in SPREAD_DUMP.used.items()}
    by_host = [("@api", "c1"), ("h1", "c2")]
    dump = replace(SPREAD_DUMP, claims=[of_the_api, PREPARED], used=counted, groups={}, by_host=by_host)
    assert verify(replace(dump, holders=["pool|c1", "h1|c1"])).problems == []
    assert verify(dump).problems == ["holder of h1|c1: recorded None, computed from the claims 1"]
