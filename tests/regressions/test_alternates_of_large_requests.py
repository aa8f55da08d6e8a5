# SPDX-License-Identifier: Apache-2.0
"""Regression: above 100 instances an affinity group did not move to an alternate when its host refused all builds.

The conductor replaced 100 claims a call, while the other members still kept the group at the old host.
"""

from collections.abc import Iterator, Sequence

import pytest

from conductor.reports.intake import record
from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.resources.claims import MAX_INSTANCES, Answer
from scheduler_svc.core.records import ClaimBatch, ClaimRef
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.ranking import CurrentPolicy
from tests.regressions.test_large_requests import CTXT, OneRequest, SilentHosts, Worker, add_host, live_claims
from tests.support.scheduler.replica_views import FILTER_POLICY, FollowingReplicaView, unchanged
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.store_partition import LONG_MS, SHORT_MS, StorePartition

SIZES = [1, 100, 101, MAX_INSTANCES]
AFFINITY, ANTI_AFFINITY = {"group_policy": "affinity"}, {"group_policy": "anti-affinity"}


@pytest.fixture(params=["memory", "redis"])
def partition(request: pytest.FixtureRequest) -> Iterator[StorePartition]:
    """A partition without hosts."""
    created = (
        memory_partition() if request.param == "memory" else redis_partition(request.getfixturevalue("redis_server"))
    )
    yield created
    created.store.close()


class ClaimingWorker(Worker):
    """A worker that also prepares claims on alternates."""

    def __init__(self, partition: StorePartition, ttl_ms: int = LONG_MS) -> None:
        super().__init__(partition, ttl_ms)
        replica = FollowingReplicaView(partition.store)
        self._alternates = AlternateClaimer(CurrentPolicy(FILTER_POLICY), partition.store, replica, 1, unchanged)
        self.prepares: list[int] = []

    def prepare_claims(self, ctxt: RequestContext, intents: objects.ClaimIntents) -> objects.ClaimAnswers:
        self.prepares.append(len(intents.consumers))
        request = decode.request(ctxt, intents.spec)
        batch = ClaimBatch(
            request.id,
            "project",
            "user",
            request.resources,
            decode.intents(intents),
            intents.epoch,
            intents.position,
            LONG_MS,
            group=request.group,
            fresh=intents.fresh,
        )
        return encode.prepare_answers(self._alternates.prepare(ctxt, request, batch))


class Hosts(SilentHosts):
    """Agents that refuse first attempts and confirm later ones; the test delivers their reports."""

    def __init__(self, partition: StorePartition) -> None:
        self._store = partition.store
        self.builds: list[tuple[str, objects.BuildRequest]] = []

    def build_instances(self, ctxt: RequestContext, host: str, build: objects.BuildRequest) -> None:
        self.builds.append((host, build))

    def reports(self, *, accepts_first: bool = False) -> list[objects.BuildReport]:
        """Return the reports on all builds so far; a claim that cannot be confirmed is refused."""
        builds, self.builds = self.builds, []
        return [self._report(host, build, accepts_first=accepts_first) for host, build in builds]

    def _report(self, host: str, build: objects.BuildRequest, *, accepts_first: bool) -> objects.BuildReport:
        refs = [ClaimRef(*pair) for pair in zip(build.uuids, build.attempts, strict=True)]
        if accepts_first or set(build.attempts) != {1}:
            answers = [result.answer for result in self._store.confirm(host, refs)]
        else:
            answers = [result.answer for result in self._store.abort(refs, host)]
        outcomes = ["active" if answer is Answer.CONFIRMED else "refused" for answer in answers]
        return objects.BuildReport.of(
            host=host, uuids=build.uuids, attempts=build.attempts, outcomes=outcomes, reasons=[""] * len(refs)
        )


def halves(report: objects.BuildReport) -> list[objects.BuildReport]:
    """Return two reports with half of the outcomes in each."""
    middle = len(report.uuids) // 2
    columns = ("uuids", "attempts", "outcomes", "reasons")
    return [
        objects.BuildReport.of(host=report.host, **{name: list(getattr(report, name))[part] for name in columns})
        for part in (slice(middle), slice(middle, None))
    ]


def send(one_request: OneRequest, reports: Sequence[objects.BuildReport]) -> None:
    for report in reports:
        record(one_request.conductor, CTXT, report)


def boot(partition: StorePartition, size: int, **values: object) -> tuple[ClaimingWorker, Hosts, OneRequest]:
    """Boot ``size`` instances up to the delivery of the first builds."""
    worker, hosts = ClaimingWorker(partition), Hosts(partition)
    worker.group_policy = str(values.get("group_policy"))
    group = {"group_id": "g"} if "group_policy" in values else {}
    one_request = OneRequest(worker, size, hosts, **group, **values)
    one_request.run(0)
    return worker, hosts, one_request


@pytest.mark.parametrize("values", [AFFINITY, {}], ids=["affinity", "plain"])
@pytest.mark.parametrize("size", SIZES)
def test_instances_whose_host_refuses_all_move_by_one_call(
    partition: StorePartition, size: int, values: dict[str, object]
) -> None:
    for name in ("h1", "h2", "h3"):
        add_host(partition, name, size)
    worker, hosts, one_request = boot(partition, size, **values)
    send(one_request, hosts.reports())
    one_request.run(0)
    assert one_request.states() == {("BUILDING", 2): size}
    assert worker.prepares == [size]
    send(one_request, hosts.reports())
    assert one_request.states() == {("ACTIVE", 2): size}
    if values:
        assert len({record.host for record in one_request.records}) == 1
    assert live_claims(partition) == size


@pytest.mark.parametrize("size", SIZES)
def test_anti_affine_instances_move_each_to_another_host(partition: StorePartition, size: int) -> None:
    """Given hosts that all refuse: no instance has alternates that only its siblings got."""
    for number in range(2 * size):
        add_host(partition, f"h{number}", 1)
    worker, hosts, one_request = boot(partition, size, **ANTI_AFFINITY)
    send(one_request, hosts.reports())
    one_request.run(0)
    send(one_request, hosts.reports())
    assert one_request.states() == {("ACTIVE", 2): size}
    assert len({record.host for record in one_request.records}) == live_claims(partition) == size
    assert worker.prepares == [size]


@pytest.mark.parametrize("size", [2, 100, 101])
def test_anti_affine_instance_moves_beside_its_running_siblings(partition: StorePartition, size: int) -> None:
    """Given one host more than instances, and one host that refuses."""
    for number in range(size + 1):
        add_host(partition, f"h{number}", 1)
    _, hosts, one_request = boot(partition, size, **ANTI_AFFINITY)
    (refusing, build), *others = hosts.builds
    hosts.builds = others
    send(one_request, hosts.reports(accepts_first=True))
    hosts.builds = [(refusing, build)]
    send(one_request, hosts.reports())
    one_request.run(0)
    send(one_request, hosts.reports())
    assert one_request.states() == {("ACTIVE", 1): size - 1, ("ACTIVE", 2): 1}
    assert len({record.host for record in one_request.records}) == live_claims(partition) == size


@pytest.mark.parametrize("size", [101, MAX_INSTANCES])
def test_affinity_group_moves_to_the_alternate_that_has_capacity_for_all(partition: StorePartition, size: int) -> None:
    """Given an alternate that others have filled since the decision, but for one member."""
    for name in ("h1", "h2", "h3"):
        add_host(partition, name, size)
    worker, hosts, one_request = boot(partition, size, **AFFINITY)
    nearest, farthest = one_request.records[0].alternates
    partition.prepare("another", nearest)
    send(one_request, hosts.reports())
    one_request.run(0)
    assert {record.host for record in one_request.records} == {farthest}
    assert worker.prepares == [size]


@pytest.mark.parametrize("size", [101, MAX_INSTANCES])
def test_affinity_group_without_capacity_on_one_host_fails_together(partition: StorePartition, size: int) -> None:
    for name in ("h1", "h2"):
        add_host(partition, name, size)
    _, hosts, one_request = boot(partition, size, **AFFINITY)
    (alternate,) = one_request.records[0].alternates
    partition.prepare("another", alternate)
    send(one_request, hosts.reports())
    one_request.run(0)
    assert one_request.states() == {("ERROR", 1): size}
    assert {(record.reason or "").split(";")[0] for record in one_request.records} == {
        f"No alternate accepts it: {alternate}: CONCURRENT"
    }


@pytest.mark.parametrize("size", [2, 101, MAX_INSTANCES])
def test_members_whose_refusals_arrive_apart_move_to_one_host(partition: StorePartition, size: int) -> None:
    """Given a first half whose report arrives before the claims of the second half have ended."""
    for name in ("h1", "h2"):
        add_host(partition, name, size)
    _, hosts, one_request = boot(partition, size, **AFFINITY)
    (build,) = hosts.builds
    host, request = build
    early = [ClaimRef(uuid, 1) for uuid in request.uuids[: size // 2]]
    partition.store.abort(early, host)
    first, second = halves(
        objects.BuildReport.of(
            host=host, uuids=request.uuids, attempts=[1] * size, outcomes=["refused"] * size, reasons=[""] * size
        )
    )
    send(one_request, [first])
    one_request.run(1_000)
    assert one_request.states() == {("BUILDING", 1): size}
    partition.store.abort([ClaimRef(uuid, 1) for uuid in request.uuids], host)
    send(one_request, [second])
    one_request.run(60_000)
    assert one_request.states() == {("BUILDING", 2): size}
    assert {record.host for record in one_request.records} == {"h1" if host == "h2" else "h2"}


@pytest.mark.parametrize("size", [101, MAX_INSTANCES])
def test_plain_instances_without_capacity_do_not_stop_others(partition: StorePartition, size: int) -> None:
    """Given capacity for a half of them: two calls, not one for each instance."""
    for name in ("h1", "h2"):
        add_host(partition, name, size)
    worker, hosts, one_request = boot(partition, size)
    reports, quarter = hosts.reports(), size // 4
    for name in ("h1", "h2"):
        partition.prepare(f"other-{name}", name, resources={"VCPU": size - quarter})
    send(one_request, reports)
    one_request.run(0)
    assert one_request.states() == {("BUILDING", 2): 2 * quarter, ("ERROR", 1): size - 2 * quarter}
    assert worker.prepares == [size, 2 * quarter]


@pytest.mark.parametrize("is_late", [False, True], ids=["in time", "after the deadline"])
def test_slow_host_confirms_all_or_the_group_moves_together(partition: StorePartition, is_late: bool) -> None:
    """Given a host that takes so long to admit 1000 builds that their claims are about to expire, or do."""
    for name in ("h1", "h2"):
        add_host(partition, name, MAX_INSTANCES)
    worker, hosts = ClaimingWorker(partition, SHORT_MS if is_late else LONG_MS), Hosts(partition)
    worker.group_policy = AFFINITY["group_policy"]
    one_request = OneRequest(worker, MAX_INSTANCES, hosts, group_id="g")
    one_request.run(0)
    partition.wait_until(partition.time() + SHORT_MS + 1)
    send(one_request, hosts.reports(accepts_first=True))
    one_request.run(0)
    send(one_request, hosts.reports())
    assert one_request.states() == {("ACTIVE", 2 if is_late else 1): MAX_INSTANCES}
    assert live_claims(partition) == MAX_INSTANCES
