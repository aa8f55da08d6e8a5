# SPDX-License-Identifier: Apache-2.0
"""Quotas and the bound of the backlog, in every back end of the conductor's store."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conductor.admission import Admission
from conductor.store.records import SagaStep, make_request_key
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import RETENTION_MS, StoreWithClock, request

AMOUNTS = {"instances": 1, "VCPU": 2, "CUSTOM_GPU": 1}


def record(bench: StoreWithClock, name: str, size: int, project: str = "p", max_backlog: int = 1 << 40, **limits: int):
    """Record a request of ``size`` instances under the limits; return their uuids."""
    uuids = [f"{name}-{number}" for number in range(size)]
    new_request = request(make_request_key(project, name), project=project)
    bench.store.record(new_request, uuids, None, Admission(AMOUNTS, limits, max_backlog))
    return uuids


def set_status(bench: StoreWithClock, uuids: Sequence[str], status: InstanceStatus, step: SagaStep) -> None:
    records = bench.store.get(uuids).values()
    result = bench.store.write_without_lease([replace(old, status=status, step=step) for old in records], wake=False)
    assert not result.stale


def test_usage_counts_instances_and_resources_of_a_project(bench: StoreWithClock) -> None:
    record(bench, "a", 3)
    record(bench, "b", 1)
    record(bench, "c", 5, project="q")
    assert bench.store.usage("p") == {"instances": 4, "VCPU": 8, "CUSTOM_GPU": 4, "recorded_instances": 4}
    assert bench.store.usage("nobody") == {}


@pytest.mark.parametrize(("name", "limit", "used", "requested"), [("instances", 3, 2, 2), ("VCPU", 7, 4, 4)])
def test_request_beyond_a_limit_is_refused_whole(
    bench: StoreWithClock, name: str, limit: int, used: int, requested: int
) -> None:
    record(bench, "a", 2, **{name: limit})
    with pytest.raises(errors.QuotaExceeded) as refusal:
        record(bench, "b", 2, **{name: limit})
    expected = {"project": "p", "resource": name, "limit": limit, "used": used, "requested": requested}
    assert refusal.value.kwargs == expected
    assert bench.store.get(["b-0", "b-1"]) == {}
    assert bench.store.usage("p")["instances"] == 2
    record(bench, "other", 2, project="q", **{name: limit})
    record(bench, "c", 1, **{name: limit})


def test_repeated_request_is_not_counted_or_refused_again(bench: StoreWithClock) -> None:
    record(bench, "a", 2, instances=2)
    record(bench, "a", 2, instances=2)
    assert bench.store.usage("p")["instances"] == 2


@pytest.mark.parametrize(
    ("status", "step", "is_counted"),
    [
        (InstanceStatus.ACTIVE, SagaStep.DONE, True),
        (InstanceStatus.DELETING, SagaStep.TERMINATE, True),
        (InstanceStatus.ERROR, SagaStep.ABORT, True),
        (InstanceStatus.ERROR, SagaStep.DONE, False),
        (InstanceStatus.DELETED, SagaStep.DONE, False),
        (InstanceStatus.SHELVED, SagaStep.DONE, True),
        (InstanceStatus.OFFLOADING, SagaStep.TERMINATE, True),
        (InstanceStatus.SHELVED_OFFLOADED, SagaStep.DONE, False),
        (InstanceStatus.UNSHELVING, SagaStep.UNSHELVE, True),
    ],
)
def test_instance_counts_until_it_is_deleted_or_its_claim_has_ended(
    bench: StoreWithClock, status: InstanceStatus, step: SagaStep, is_counted: bool
) -> None:
    uuids = record(bench, "a", 3)
    set_status(bench, uuids[:2], status, step)
    assert bench.store.usage("p").get("VCPU") == (6 if is_counted else 2)
    set_status(bench, uuids[:1], InstanceStatus.ACTIVE, SagaStep.DONE)
    assert bench.store.usage("p").get("VCPU") == (6 if is_counted else 4)


@pytest.mark.parametrize(("name", "limit", "used"), [("instances", 3, 2), ("VCPU", 7, 4)])
def test_instances_that_count_again_are_refused_beyond_a_limit(
    bench: StoreWithClock, name: str, limit: int, used: int
) -> None:
    # Given two instances that count, two that do not, and two of another project
    uuids = record(bench, "a", 4)
    others = record(bench, "b", 2, project="q")
    set_status(bench, [*uuids[2:], *others], InstanceStatus.SHELVED_OFFLOADED, SagaStep.DONE)
    limits = {"p": {name: limit}, "q": {name: 100}}
    records = bench.store.get([*uuids, *others])
    updates = [replace(old, status=InstanceStatus.UNSHELVING, step=SagaStep.UNSHELVE) for old in records.values()]
    # When all are written, then the limit refuses them, and none is
    with pytest.raises(errors.QuotaExceeded) as refusal:
        bench.store.write_without_lease(updates, wake=True, limits=limits)
    assert refusal.value.kwargs == {
        "project": "p",
        "resource": name,
        "limit": limit,
        "used": used,
        "requested": used,
    }
    assert bench.store.get([*uuids, *others]) == records
    # When it allows one more, then only a second one is refused, and a stale record counts for nothing
    bench.store.write_without_lease([updates[2]], wake=True, limits=limits)
    with pytest.raises(errors.QuotaExceeded):
        bench.store.write_without_lease([updates[3]], wake=True, limits=limits)
    assert bench.store.write_without_lease([updates[2]], wake=True, limits=limits).stale == {uuids[2]}
    assert bench.store.write_without_lease([updates[4]], wake=True, limits=limits).stale == frozenset()
    assert bench.store.usage("p")["VCPU"] == 6


@pytest.mark.parametrize("status", [InstanceStatus.ACTIVE, InstanceStatus.ERROR, InstanceStatus.DELETED])
def test_recorded_instances_count_in_any_state_until_they_are_purged(
    bench: StoreWithClock, status: InstanceStatus
) -> None:
    """Given instances that are deleted or may be at any time, the project never has more tombstones than the limit."""
    uuids = record(bench, "a", 2)
    set_status(bench, uuids, status, SagaStep.DONE)
    assert bench.store.usage("p")["recorded_instances"] == 2
    with pytest.raises(errors.QuotaExceeded, match="may use 2 recorded_instances: 2 in use"):
        record(bench, "b", 1, recorded_instances=2)
    set_status(bench, uuids, InstanceStatus.DELETED, SagaStep.DONE)
    assert bench.store.usage("p") == {"recorded_instances": 2}
    bench.pass_time(RETENTION_MS + 1)
    bench.store.purge()
    assert bench.store.usage("p") == {}
    record(bench, "b", 1, recorded_instances=2)


def test_usage_is_lost_together_with_the_records(bench: StoreWithClock) -> None:
    record(bench, "a", 1)
    mark = bench.mark()
    record(bench, "b", 2)
    bench.forget_since(mark)
    assert bench.store.usage("p")["instances"] == 1


def test_full_backlog_refuses_the_project_that_has_its_share(bench: StoreWithClock) -> None:
    uuids = record(bench, "a", 8, max_backlog=10)
    bench.pass_time(1)
    with pytest.raises(errors.Overloaded) as refusal:
        record(bench, "b", 3, max_backlog=10)
    assert refusal.value.kwargs == {
        "what": "The conductor",
        "waiting": 8,
        "unit": "instances",
        "bound": 10,
        "retry_s": 1,
    }
    record(bench, "c", 5, project="q", max_backlog=10)
    with pytest.raises(errors.Overloaded):
        record(bench, "d", 1, project="q", max_backlog=10)
    set_status(bench, uuids, InstanceStatus.BUILDING, SagaStep.WAIT)
    record(bench, "b", 3, max_backlog=10)


def test_request_that_no_backlog_can_hold_is_refused_for_good(bench: StoreWithClock) -> None:
    with pytest.raises(errors.RequestTooLarge) as refusal:
        record(bench, "a", 3, max_backlog=2)
    assert refusal.value.kwargs == {"count": 3, "unit": "instances", "option": "[conductor] max_backlog", "bound": 2}
    assert not isinstance(refusal.value, errors.Unavailable), "callers repeat those"
    assert bench.store.usage("p") == {}
    record(bench, "b", 2, max_backlog=2)


def test_overload_says_how_long_the_oldest_work_waits(bench: StoreWithClock) -> None:
    record(bench, "a", 2, max_backlog=2)
    bench.pass_time(2100)
    with pytest.raises(errors.Overloaded, match="retry in 2 s"):
        record(bench, "b", 1, max_backlog=2)


def resize(bench: StoreWithClock, uuid: str, amounts: dict[str, int] | None, **limits: int) -> None:
    """Write what an instance counts from now on, None: as its request."""
    resized = replace(bench.store.get([uuid])[uuid], amounts=amounts)
    assert not bench.store.write_without_lease([resized], wake=False, limits={"p": limits} if limits else {}).stale


def test_resized_instance_counts_its_own_amounts_until_it_is_deleted(bench: StoreWithClock) -> None:
    first, second = record(bench, "a", 2)
    resize(bench, first, {"instances": 1, "VCPU": 8})
    assert bench.store.usage("p") == {"instances": 2, "VCPU": 10, "CUSTOM_GPU": 1, "recorded_instances": 2}
    # Its own amounts change, and leave and return with its claim; those of another one do not
    resize(bench, first, {"instances": 1, "VCPU": 3})
    assert bench.store.usage("p")["VCPU"] == 5
    set_status(bench, [first, second], InstanceStatus.ERROR, SagaStep.DONE)
    assert bench.store.usage("p") == {"recorded_instances": 2}
    set_status(bench, [first], InstanceStatus.BUILDING, SagaStep.CAST)
    assert bench.store.usage("p") == {"instances": 1, "VCPU": 3, "recorded_instances": 2}
    # Those of its request count again
    resize(bench, first, None)
    assert bench.store.usage("p") == {"instances": 1, "VCPU": 2, "CUSTOM_GPU": 1, "recorded_instances": 2}
    resize(bench, first, {"instances": 1, "VCPU": 3})
    set_status(bench, [first, second], InstanceStatus.DELETED, SagaStep.DONE)
    assert bench.store.usage("p") == {"recorded_instances": 2}
    bench.pass_time(RETENTION_MS + 1)
    bench.store.purge()
    assert bench.store.usage("p") == {}


def test_resize_beyond_a_limit_is_refused_and_smaller_ones_are_not(bench: StoreWithClock) -> None:
    first, _second = record(bench, "a", 2)
    with pytest.raises(errors.QuotaExceeded) as refusal:
        resize(bench, first, {"instances": 1, "VCPU": 8, "CUSTOM_GPU": 1}, VCPU=9, instances=2)
    assert refusal.value.kwargs == {"project": "p", "resource": "VCPU", "limit": 9, "used": 4, "requested": 6}
    assert bench.store.usage("p")["VCPU"] == 4
    assert bench.store.get([first])[first].amounts is None
    # What grows counts, not what it is: a project that is over its limits may still shrink
    resize(bench, first, {"instances": 1, "VCPU": 8, "CUSTOM_GPU": 1}, VCPU=10, instances=1, recorded_instances=1)
    resize(bench, first, {"instances": 1, "VCPU": 1, "CUSTOM_GPU": 1}, VCPU=1, instances=1)
    assert bench.store.usage("p")["VCPU"] == 3
