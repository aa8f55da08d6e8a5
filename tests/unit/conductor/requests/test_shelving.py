# SPDX-License-Identifier: Apache-2.0
"""Instances that are shelved, offloaded and unshelved: statuses, claims, quota, and failures on the way."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from conductor.reports import intake
from conductor.requests.shelving import unshelve_instances
from conductor.store.records import SagaStep
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.simulated_cluster import CTXT, LIMITS, THREE, SimulatedCluster, history, uuid_list

UUIDS = uuid_list(2)
HOUR_MS = 3_600_000
Request = Callable[[SimulatedCluster, list[str]], None]
# By request: the statuses in which it is accepted, and those in which nothing is left to do.
REQUESTS: dict[str, tuple[Request, set[str], set[str]]] = {
    "shelve": (
        SimulatedCluster.shelve,
        {"ACTIVE", "SHUTOFF"},
        {"SHELVING", "SHELVED", "OFFLOADING", "SHELVED_OFFLOADED"},
    ),
    "offload": (SimulatedCluster.offload, {"SHELVED"}, {"OFFLOADING", "SHELVED_OFFLOADED"}),
    "unshelve": (SimulatedCluster.unshelve, {"SHELVED", "SHELVED_OFFLOADED"}, {"UNSHELVING", "ACTIVE"}),
}


def make_cluster(offload_ms: int | None = 0) -> SimulatedCluster:
    """Return a cluster with two ACTIVE instances."""
    created = SimulatedCluster(THREE, replace(LIMITS, shelved_offload_ms=offload_ms))
    created.conductor()
    created.build(UUIDS)
    created.settle()
    return created


@pytest.fixture
def cluster() -> SimulatedCluster:
    return make_cluster()


@pytest.fixture
def offloaded(cluster: SimulatedCluster) -> SimulatedCluster:
    cluster.shelve(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["SHELVED_OFFLOADED"] * 2
    return cluster


def host_of(cluster: SimulatedCluster, uuid: str) -> str:
    return (cluster.record(uuid).host or "").partition("/")[0]


def shelve_first(cluster: SimulatedCluster) -> None:
    """Shelve the first instance until its host has reported that it is off."""
    cluster.shelve(UUIDS[:1])
    cluster.work()
    cluster.hosts.deliver()  # the message
    cluster.hosts.deliver()  # the report
    assert cluster.statuses(UUIDS[:1]) == ["SHELVED"]


def put(cluster: SimulatedCluster, uuid: str, **values: object) -> None:
    """Write a record as a test needs it."""
    record = replace(cluster.record(uuid), **values)  # type: ignore[arg-type]
    assert not cluster.store.write_without_lease([record], wake=False).stale


@pytest.mark.parametrize("is_duplicated", [False, True])
def test_shelved_instances_are_offloaded_at_once_and_built_again(is_duplicated: bool) -> None:
    cluster = make_cluster()
    cluster.hosts.duplicate = is_duplicated
    cluster.shelve(UUIDS)
    assert cluster.statuses(UUIDS) == ["SHELVING"] * 2
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["SHELVED_OFFLOADED"] * 2
    cluster.check(UUIDS)
    cluster.unshelve(UUIDS)
    assert cluster.statuses(UUIDS) == ["UNSHELVING"] * 2
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.record(uuid).attempt for uuid in UUIDS] == [3, 3]
    cluster.check(UUIDS)


def test_shelved_instance_keeps_its_host_for_the_configured_time() -> None:
    cluster = make_cluster(HOUR_MS)
    began_ms = cluster.now_ms
    cluster.shelve(UUIDS)
    cluster.settle(HOUR_MS // 2)
    assert cluster.statuses(UUIDS) == ["SHELVED"] * 2
    cluster.check(UUIDS)
    cluster.settle(HOUR_MS)
    assert cluster.statuses(UUIDS) == ["SHELVED_OFFLOADED"] * 2
    assert cluster.now_ms >= began_ms + HOUR_MS
    cluster.check(UUIDS)


def test_without_a_time_it_is_offloaded_only_by_request() -> None:
    cluster = make_cluster(None)
    cluster.shelve(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["SHELVED"] * 2
    assert {cluster.record(uuid).step for uuid in UUIDS} == {SagaStep.DONE}
    cluster.check(UUIDS)
    cluster.offload(UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["SHELVED_OFFLOADED", "SHELVED"]
    cluster.check(UUIDS)


def test_unshelved_instance_that_is_still_on_its_host_starts_there() -> None:
    cluster = make_cluster(HOUR_MS)
    before = [(cluster.record(uuid).host, cluster.record(uuid).attempt) for uuid in UUIDS]
    cluster.shelve(UUIDS)
    cluster.settle(60_000)
    cluster.unshelve(UUIDS)
    assert cluster.statuses(UUIDS) == ["STARTING"] * 2
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [(cluster.record(uuid).host, cluster.record(uuid).attempt) for uuid in UUIDS] == before
    cluster.check(UUIDS)


def test_stopped_instance_can_be_shelved(cluster: SimulatedCluster) -> None:
    cluster.stop(UUIDS)
    cluster.settle()
    cluster.shelve(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["SHELVED_OFFLOADED"] * 2
    cluster.check(UUIDS)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        (name, str(status))
        for name, (_, allowed, done) in REQUESTS.items()
        for status in sorted(set(InstanceStatus) - allowed - done)
    ],
)
def test_other_statuses_are_refused_and_nothing_is_changed(cluster: SimulatedCluster, name: str, status: str) -> None:
    request, allowed, _done = REQUESTS[name]
    # Given one instance that may be changed, and one that may not
    put(cluster, UUIDS[0], status=InstanceStatus(sorted(allowed)[0]), is_shelved=name != "shelve")
    put(cluster, UUIDS[1], status=InstanceStatus(status))
    before = cluster.store.get(UUIDS)
    # When both are requested, then neither is changed
    with pytest.raises(errors.InstanceConflict, match=f"it is {status}; it must be") as refusal:
        request(cluster, UUIDS)
    assert refusal.value.kwargs["uuid"] == UUIDS[1]
    assert cluster.store.get(UUIDS) == before


@pytest.mark.parametrize(
    ("name", "status"), [(name, status) for name, (_, _, done) in REQUESTS.items() for status in sorted(done)]
)
def test_repeated_request_changes_nothing(cluster: SimulatedCluster, name: str, status: str) -> None:
    for uuid in UUIDS:
        put(cluster, uuid, status=InstanceStatus(status))
    before = cluster.store.get(UUIDS)
    REQUESTS[name][0](cluster, UUIDS)
    assert cluster.store.get(UUIDS) == before


def test_unknown_instance_is_refused_before_any_change(cluster: SimulatedCluster) -> None:
    before = cluster.store.get(UUIDS)
    for request, _allowed, _done in REQUESTS.values():
        with pytest.raises(errors.UnknownInstance):
            request(cluster, ["ffffffff-0000-4000-8000-000000000000", *UUIDS])
    assert cluster.store.get(UUIDS) == before


def test_offloaded_instance_counts_for_no_quota_until_it_is_unshelved(offloaded: SimulatedCluster) -> None:
    assert offloaded.store.usage("project") == {"recorded_instances": 2}
    offloaded.quota["VCPU"] = 1
    before = offloaded.store.get(UUIDS)
    with pytest.raises(errors.QuotaExceeded, match="VCPU"):
        offloaded.unshelve(UUIDS)
    assert offloaded.store.get(UUIDS) == before
    offloaded.unshelve(UUIDS[:1])
    assert offloaded.store.usage("project") == {"instances": 1, "VCPU": 1, "recorded_instances": 2}
    with pytest.raises(errors.QuotaExceeded, match="VCPU"):
        offloaded.unshelve(UUIDS[1:])
    offloaded.settle()
    assert offloaded.statuses(UUIDS) == ["ACTIVE", "SHELVED_OFFLOADED"]
    offloaded.check(UUIDS)


def test_instance_without_a_host_is_on_the_shelf_again_and_the_others_are_not(offloaded: SimulatedCluster) -> None:
    # Given capacity for one instance
    offloaded.build(uuid_list(13)[2:])
    offloaded.settle()
    offloaded.unshelve(UUIDS)
    offloaded.settle()
    assert sorted(offloaded.statuses(UUIDS)) == ["ACTIVE", "SHELVED_OFFLOADED"]
    (shelved,) = [uuid for uuid in UUIDS if offloaded.record(uuid).status == "SHELVED_OFFLOADED"]
    assert "No valid host" in offloaded.reason(shelved)
    assert offloaded.store.usage("project")["instances"] == 12
    # When there is capacity again, then it can be unshelved
    offloaded.delete(uuid_list(13)[2:])
    offloaded.settle()
    offloaded.unshelve([shelved])
    offloaded.settle()
    assert offloaded.statuses(UUIDS) == ["ACTIVE"] * 2


def test_refused_build_goes_on_to_an_alternate(offloaded: SimulatedCluster) -> None:
    offloaded.hosts.behaviours[UUIDS[0], 3] = "refused"
    offloaded.unshelve(UUIDS[:1])
    offloaded.settle()
    assert offloaded.statuses(UUIDS[:1]) == ["ACTIVE"]
    assert history(offloaded, UUIDS[0]) == [(3, "h1/n", "refused")]
    offloaded.check(UUIDS)


def test_instance_that_no_host_builds_is_on_the_shelf_again(offloaded: SimulatedCluster) -> None:
    for attempt in range(3, 9):
        offloaded.hosts.behaviours[UUIDS[0], attempt] = "failed"
    offloaded.unshelve(UUIDS[:1])
    offloaded.settle()
    assert offloaded.statuses(UUIDS[:1]) == ["SHELVED_OFFLOADED"]
    assert offloaded.reason(UUIDS[0]).startswith("All 3 attempts are used; attempt 3 on h1/n failed")
    offloaded.check(UUIDS)
    # When it is unshelved again, then it has as many attempts as before
    offloaded.unshelve(UUIDS[:1])
    offloaded.settle()
    assert [entry[0] for entry in history(offloaded, UUIDS[0])] == [6, 7, 8]
    offloaded.unshelve(UUIDS[:1])
    offloaded.settle()
    assert offloaded.statuses(UUIDS[:1]) == ["ACTIVE"]
    offloaded.check(UUIDS)


@pytest.mark.parametrize("is_delivered", [False, True], ids=["before the host has the message", "after"])
@pytest.mark.parametrize("name", REQUESTS)
def test_delete_meanwhile(name: str, is_delivered: bool) -> None:
    cluster = make_cluster(None)
    for earlier in list(REQUESTS)[: list(REQUESTS).index(name)]:
        REQUESTS[earlier][0](cluster, UUIDS)
        cluster.settle()
    REQUESTS[name][0](cluster, UUIDS)
    if is_delivered:
        cluster.work()
        cluster.hosts.deliver()
    cluster.delete(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["DELETED"] * 2
    cluster.check(UUIDS)


@pytest.mark.parametrize("offload_ms", [None, HOUR_MS, 0], ids=["shelved", "waiting", "offloaded"])
def test_delete_of_a_shelved_instance(offload_ms: int | None) -> None:
    cluster = make_cluster(offload_ms)
    cluster.shelve(UUIDS)
    cluster.settle(60_000)
    cluster.delete(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["DELETED"] * 2
    cluster.check(UUIDS)


def test_offload_waits_for_a_silent_host(cluster: SimulatedCluster) -> None:
    host = host_of(cluster, UUIDS[0])
    shelve_first(cluster)
    cluster.hosts.behaviours[host] = "lost"
    cluster.settle(max_ms=600_000)
    assert cluster.statuses(UUIDS[:1]) == ["OFFLOADING"]
    assert cluster.ledger.live().keys() == set(UUIDS)
    cluster.hosts.behaviours[host] = "active"
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["SHELVED_OFFLOADED"]
    cluster.check(UUIDS)


@pytest.mark.parametrize("offload_ms", [0, HOUR_MS, None], ids=["during the offload", "before it", "shelved"])
def test_shelved_instance_of_a_fenced_host_has_its_image(offload_ms: int | None) -> None:
    cluster = make_cluster(offload_ms)
    host = host_of(cluster, UUIDS[0])
    shelve_first(cluster)
    cluster.hosts.behaviours[host] = "lost"
    cluster.hosts.guests.pop((UUIDS[0], 1))
    cluster.ledger.store.fence(host, "token", force=True)
    cluster.settle(2 * HOUR_MS)
    cluster.compare()
    assert cluster.statuses(UUIDS[:1]) == ["SHELVED_OFFLOADED"]
    assert cluster.ledger.live().keys() == {UUIDS[1]}


def test_instance_that_waits_to_be_offloaded_from_a_fenced_host_does_not_wait_any_longer() -> None:
    cluster = make_cluster(HOUR_MS)
    host = host_of(cluster, UUIDS[0])
    shelve_first(cluster)
    cluster.settle(HOUR_MS // 2)
    assert cluster.record(UUIDS[0]).step == SagaStep.OFFLOAD
    # While its host has the claim, a comparison changes nothing
    cluster.compare()
    assert (cluster.statuses(UUIDS[:1]), cluster.record(UUIDS[0]).step) == (["SHELVED"], SagaStep.OFFLOAD)
    # When the host is fenced, then the next one ends the wait
    cluster.hosts.behaviours[host] = "lost"
    cluster.hosts.guests.pop((UUIDS[0], 1))
    cluster.ledger.store.fence(host, "token", force=True)
    cluster.compare()
    record = cluster.record(UUIDS[0])
    assert (record.status, record.step, record.host) == (InstanceStatus.SHELVED_OFFLOADED, SagaStep.DONE, None)
    assert record.reason == f"host {host} was fenced"
    cluster.settle(2 * HOUR_MS)
    cluster.check(UUIDS)


def test_instance_that_is_being_shelved_on_a_fenced_host_ends_in_error(cluster: SimulatedCluster) -> None:
    host = host_of(cluster, UUIDS[0])
    cluster.hosts.behaviours[host] = "lost"
    cluster.shelve(UUIDS[:1])
    cluster.ledger.store.fence(host, "token", force=True)
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["ERROR"]


def test_late_report_of_the_former_attempt_changes_nothing(offloaded: SimulatedCluster) -> None:
    before = offloaded.store.get(UUIDS)
    for outcome in ("active", "stopped", "gone"):
        report = offloaded.hosts.make_report("h1", (UUIDS[0], 1), outcome)
        intake.record(offloaded.conductors[0], CTXT, report)
    assert offloaded.store.get(UUIDS) == before


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("uuids", [[["a"]], [{}], ["a"]])
def test_malformed_uuids_are_refused(cluster: SimulatedCluster, name: str, uuids: list[str]) -> None:
    before = cluster.store.get(UUIDS)
    with pytest.raises(errors.InvalidName):
        REQUESTS[name][0](cluster, uuids)
    assert cluster.store.get(UUIDS) == before


@pytest.mark.parametrize("target", ["h3", "h3/n"])
def test_offloaded_instance_is_unshelved_on_the_host_of_choice_only(offloaded: SimulatedCluster, target: str) -> None:
    offloaded.unshelve(UUIDS[:1], target)
    offloaded.settle()
    record = offloaded.record(UUIDS[0])
    assert (record.status, record.host, record.target) == ("ACTIVE", "h3/n", None)
    offloaded.check(UUIDS)
    # And the next time it may be anywhere
    offloaded.shelve(UUIDS[:1])
    offloaded.settle()
    offloaded.unshelve(UUIDS[:1])
    assert offloaded.record(UUIDS[0]).target is None
    offloaded.settle()
    assert host_of(offloaded, UUIDS[0]) == "h1"


def test_host_of_choice_that_is_full_by_then_leaves_it_offloaded_with_the_reason(offloaded: SimulatedCluster) -> None:
    offloaded.unshelve(UUIDS[:1], "h3")
    for number in range(4):
        offloaded.ledger.hold(f"other{number}", "h3/n")
    offloaded.settle()
    record = offloaded.record(UUIDS[0])
    assert (record.status, record.target) == ("SHELVED_OFFLOADED", None)
    assert "No valid host" in offloaded.reason(UUIDS[0])


@pytest.mark.parametrize(
    ("host", "error"),
    [("h9", errors.UnknownHost), ("h2", errors.NoValidHost), ("a|b", errors.InvalidName)],
    ids=["unknown", "full", "no name"],
)
def test_host_of_choice_that_can_take_none_is_refused_and_nothing_is_changed(
    offloaded: SimulatedCluster, host: str, error: type[Exception]
) -> None:
    offloaded.scheduler.full.add("h2/n")
    before, claims = offloaded.store.get(UUIDS), offloaded.ledger.live()
    with pytest.raises(error):
        offloaded.unshelve(UUIDS, host)
    assert (offloaded.store.get(UUIDS), offloaded.ledger.live()) == (before, claims)


def test_host_of_choice_for_one_that_is_on_a_host_or_by_a_client_is_refused() -> None:
    cluster = make_cluster(offload_ms=None)
    cluster.shelve(UUIDS)
    cluster.settle()
    before = cluster.store.get(UUIDS)
    with pytest.raises(errors.InstanceConflict, match="it is SHELVED; it must be SHELVED_OFFLOADED"):
        cluster.unshelve(UUIDS, "h3")
    with pytest.raises(errors.CallerRefused, match="it names a host"):
        unshelve_instances(cluster.conductors[0], CTXT, UUIDS, "h3", project="project")
    assert cluster.store.get(UUIDS) == before


@pytest.mark.parametrize("end", [SimulatedCluster.confirm, SimulatedCluster.revert])
def test_instance_that_moved_since_a_forgotten_unshelving_is_not_shelved(
    offloaded: SimulatedCluster, end: Request
) -> None:
    # Given an instance that was unshelved and moved, and a store that forgot both
    records = offloaded.copy_records()
    offloaded.unshelve(UUIDS[:1])
    offloaded.settle()
    offloaded.migrate(UUIDS[:1])
    offloaded.settle()
    offloaded.restore_records(records)
    # When its move is found, and ends
    offloaded.compare()
    offloaded.settle()
    assert offloaded.statuses(UUIDS[:1]) == ["VERIFY_RESIZE"]
    end(offloaded, UUIDS[:1])
    offloaded.settle()
    # Then its stored image is an old one
    record = offloaded.record(UUIDS[0])
    assert (record.status, record.is_shelved) == (InstanceStatus.ACTIVE, False)
