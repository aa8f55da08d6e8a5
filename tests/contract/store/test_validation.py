# SPDX-License-Identifier: Apache-2.0
"""Invalid input raises a typed error and changes nothing."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from rpcapi import errors
from scheduler_svc.core.records import Candidate, ClaimGroup, ClaimRef, Intent
from scheduler_svc.store import validation
from scheduler_svc.store.records import RunningClaim
from scheduler_svc.store.validation import MAX_PAGE
from tests.support.store.store_partition import StorePartition, intent, running

BAD_BATCHES = [
    {"resources": {"VCPU": -1}},
    {"resources": {"VCPU": 0}},
    {"resources": {"VCPU": 2**31}},
    {"resources": {"VCPU": 1.5}},
    {"resources": {"VCPU": True}},
    {"resources": {"vcpu": 1}},
    {"resources": {"VCPU|x": 1}},
    {"resources": {f"CUSTOM_{n}": 1 for n in range(40)}},
    {"resources": {}},
    {"ttl_ms": 0},
    {"ttl_ms": -5},
    {"ttl_ms": 10**12},
    {"alternates": -1},
    {"position": -1},
    {"intents": ()},
    {"intents": [intent(f"c{n}", "h1") for n in range(1001)]},
    {"intents": [intent(f"c{n}", *["h1"] * 16) for n in range(501)]},
    {"intents": [intent("c1", "h1"), intent("c1", "h1")]},
    {"intents": [intent("c1", *["h1"] * 17)]},
    {"intents": [intent("", "h1")]},
    {"intents": [intent("c 1", "h1")]},
    {"intents": [intent("c1", "h|1")]},
    {"intents": [intent("c1", "h1", attempt=0)]},
    {"intents": [intent("c1", "h1", attempt=2, replaces=2)]},
    {"intents": [Intent("c1", 1, [Candidate("h1", {})])]},
    {"intents": [Intent("c1", 1, [Candidate("h1", {"h1": {}})])]},
    {"group": ClaimGroup("g", "anti-affinity-ish")},  # type: ignore[arg-type]
    {"project": 7},
    {"user": "u" * 300},
    {"user": "u\0"},
    {"project": "\udc80"},
]


@pytest.mark.parametrize("wrong", BAD_BATCHES, ids="-".join)
def test_invalid_batch_is_rejected(partition: StorePartition, wrong: dict) -> None:
    partition.add_host("h1")
    before = partition.store.snapshot()
    batch = replace(partition.batch(intent("c1", "h1")), **wrong)
    with pytest.raises(errors.InvalidRequest):
        partition.store.prepare(batch)
    assert partition.store.snapshot() == before


@pytest.mark.parametrize(
    "ref", [ClaimRef("", 1), ClaimRef("c1", 0), ClaimRef("c1", -3), ClaimRef("c1", 2**40), ClaimRef("a b", 1)]
)
def test_invalid_claim_identity_is_rejected(partition: StorePartition, ref: ClaimRef) -> None:
    for verb in (
        lambda: partition.store.confirm("h1", [ref]),
        lambda: partition.store.abort([ref]),
        lambda: partition.store.release("h1", [ref]),
        lambda: partition.store.begin_moves([ref], ["m1"]),
        lambda: partition.store.end_moves([ref], ["m1"]),
    ):
        with pytest.raises(errors.InvalidRequest):
            verb()


def test_too_many_claims_or_candidates_are_rejected(partition: StorePartition) -> None:
    with pytest.raises(errors.InvalidRequest, match="split it"):
        partition.store.abort([ClaimRef(f"c{n}", 1) for n in range(1001)])


@pytest.mark.parametrize("destinations", [[], ["h1", "h2"], ["h1/n1"], ["a b"]])
def test_invalid_destinations_are_rejected(partition: StorePartition, destinations: list[str]) -> None:
    with pytest.raises((errors.InvalidRequest, errors.InvalidName)):
        partition.store.abort([ClaimRef("c1", 1)], destinations=destinations)


def test_node_in_place_of_a_service_host_is_rejected(partition: StorePartition) -> None:
    with pytest.raises(errors.InvalidName):
        partition.store.confirm("h1/n1", [ClaimRef("c1", 1)])


@pytest.mark.parametrize(
    "claim",
    [
        running(ClaimRef("c1", 1), "h2"),
        running(ClaimRef("c1", 0), "h1"),
        RunningClaim("c1", 1, True, "h1", {"h1": {"VCPU": -1}}, "INSTANCE", "p", "u", "r"),
    ],
)
def test_invalid_audit_is_rejected(partition: StorePartition, claim: RunningClaim) -> None:
    partition.add_host("h1", opened=False)
    with pytest.raises(errors.InvalidRequest):
        partition.store.audit("h1", partition.store.snapshot().epoch, [claim], 0)
    assert partition.store.snapshot().opened == {}


@pytest.mark.parametrize("limit", [0, -1, MAX_PAGE + 1, 1.5])
def test_invalid_page_length_is_rejected(partition: StorePartition, limit: object) -> None:
    for ask in (partition.store.claims, partial(partition.store.list_state, "service")):
        with pytest.raises(errors.InvalidRequest, match="limit of a page"):
            ask(limit=limit)


@pytest.mark.parametrize("text", ["a\0", "\ud800", "x" * 1000])
def test_unstorable_string_is_rejected(partition: StorePartition, text: str) -> None:
    for ask in (
        partial(partition.store.claims, marker=text),
        partial(partition.store.list_state, "compute", text),
        partial(partition.store.get_state, "compute", text),
        partial(partition.store.find_decision, text),
        partial(partition.store.record_decision, text, {}),
        partial(partition.store.pin, text, "p1", 1000),
        partial(partition.store.begin_moves, [ClaimRef("c1", 1)], [text]),
        partial(partition.store.end_moves, [ClaimRef("c1", 1)], [text]),
    ):
        with pytest.raises(errors.InvalidRequest):
            ask()


def test_maximum_page_length_is_accepted(partition: StorePartition) -> None:
    assert partition.store.claims(limit=MAX_PAGE) == ([], None)
    assert partition.store.list_state("service", limit=MAX_PAGE) == ([], None)


def test_consumers_are_not_kept_in_the_cache_of_host_names() -> None:
    before = validation._canonical.cache_info().currsize
    validation.check_refs([ClaimRef(f"new-{number}", 1) for number in range(10)])
    assert validation._canonical.cache_info().currsize == before


@pytest.mark.parametrize("allocations", [[], "h1", 7, None, {}, {"h1": []}, {"h1": "VCPU"}, {"h1": None}, {"h1": {}}])
def test_allocations_of_a_wrong_shape_are_refused(allocations: Any) -> None:
    with pytest.raises(errors.InvalidRequest):
        validation.check_allocations(allocations)


@pytest.mark.parametrize("value", [1, 2, 5])
def test_integer_within_its_bounds_is_valid(value: int) -> None:
    validation.check_number("attempt", value, 1, 5)


@pytest.mark.parametrize("value", [0, 6, -1, True, 2.0, "2", None])
def test_other_number_is_refused_with_its_name_and_bounds(value: Any) -> None:
    with pytest.raises(errors.InvalidRequest, match=f"attempt must be an integer from 1 to 5, got {value!r}"):
        validation.check_number("attempt", value, 1, 5)


def test_long_value_is_cut_in_the_error() -> None:
    with pytest.raises(errors.InvalidRequest) as caught:
        validation.check_number("attempt", "x" * 1000, 1, 5)
    assert str(caught.value).endswith("got '" + "x" * 79)
