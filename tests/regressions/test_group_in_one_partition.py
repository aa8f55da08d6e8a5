# SPDX-License-Identifier: Apache-2.0
"""An affinity group never has members in two partitions, whatever happens between two steps of a decision."""

import threading

import pytest

from rpcapi import context, errors
from rpcapi.resources.claims import Answer, GroupPolicy
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimGroup, ClaimRef, Intent
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.ranking import CurrentPolicy
from scheduler_svc.store.records import RunningClaim
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FILTER_POLICY, unchanged

GROUP = ClaimGroup("g", GroupPolicy.AFFINITY)
HOUR_MS = 3600 * 1000
MEMORY = {"VCPU": 4, "MEMORY_MB": 65536, "DISK_GB": 1000}  # of partition a: for members that need memory
PROCESSORS = {"VCPU": 16, "MEMORY_MB": 4096, "DISK_GB": 1000}  # of partition b: for members that need processors


def select(worker, name, vcpus=1, memory=64):
    """Return the partition that takes a member, or the name of the error that refuses it."""
    worker.follow()
    call = SelectionCall(
        context.new("p", "u"), request({"VCPU": vcpus, "MEMORY_MB": memory}, group=GROUP), [name], fresh=True
    )
    try:
        return worker.scheduler.select(FILTER_POLICY, call).partition
    except errors.GanttError as error:
        return type(error).__name__


def homes(deployment):
    """Return the partitions that have members."""
    return {name for name, store in deployment.stores.items() if store.state.groups.get(GROUP.id)}


@pytest.fixture
def deployment():
    return PartitionedDeployment(
        2,
        a={f"a{number}": node(MEMORY) for number in range(3)},
        b={f"b{number}": node(PROCESSORS) for number in range(3)},
    )


@pytest.mark.parametrize("step", ["schedule", "agree"])
def test_member_whose_worker_stops_before_its_claim_finds_the_groups_new_partition(deployment, step):
    slow, quick = deployment.workers
    if step == "schedule":
        owner, verb = slow.scheduler._schedulers["a"], "schedule"
    else:
        owner, verb = slow.scheduler._homes, "_leave_others"
    original, stopped, go_on = getattr(owner, verb), threading.Event(), threading.Event()

    def stopping(*args, **values):
        stopped.set()
        go_on.wait()
        return original(*args, **values)

    setattr(owner, verb, stopping)
    answers = {}
    thread = threading.Thread(target=lambda: answers.update(small=select(slow, "small", memory=8192)))
    thread.start()
    stopped.wait()
    answers["big"] = select(quick, "big", vcpus=8)
    go_on.set()
    thread.join()
    assert len(homes(deployment)) == 1, answers
    assert answers["big"] == "b"
    assert answers["small"] == "NoValidHost"  # no host of b, where the group is, has that much memory


def test_members_of_many_concurrent_workers_share_a_partition(deployment):
    for number in range(20):
        answers = {}
        start = threading.Barrier(2)

        def run(worker, name, answers=answers, start=start, **needs):
            start.wait()
            answers[name] = select(worker, name, **needs)

        names = (f"small{number}", f"big{number}")
        threads = [
            threading.Thread(target=run, args=(deployment.workers[0], names[0]), kwargs={"memory": 8192}),
            threading.Thread(target=run, args=(deployment.workers[1], names[1]), kwargs={"vcpus": 8}),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(homes(deployment)) == 1, answers
        for store in deployment.stores.values():
            store.abort([ClaimRef(name, 1) for name in names])


@pytest.mark.parametrize("hours", [1, 25])
def test_group_waits_for_the_partition_of_its_members_however_long_it_is_away(deployment, hours):
    worker = deployment.worker
    assert select(worker, "m1", memory=8192) == "a"
    host = deployment.stores["a"].claims()[0][0].host
    assert deployment.stores["a"].confirm(host, [ClaimRef("m1", 1)])[0].answer is Answer.CONFIRMED
    deployment.take_away("a")
    deployment.wait(hours * HOUR_MS)
    deployment.stores["b"].reap(dead_after_ms=None, tombstone_ms=24 * HOUR_MS)
    assert select(worker, "m2") == "StoreUnavailable"
    deployment.take_away("a", False)
    assert select(worker, "m2") == "a"
    assert homes(deployment) == {"a"}


@pytest.mark.parametrize("forgetful", ["a", "b"])
def test_forgotten_move_of_a_group_does_not_split_it(deployment, forgetful):
    """The group moved from a to b; the move is forgotten by its recorder, or the left partition forgets that."""
    first, second = deployment.workers
    assert select(first, "small", memory=8192) == "a"
    deployment.stores["a"].abort([ClaimRef("small", 1)])
    assert select(second, "big", vcpus=8) == "b"
    store = deployment.stores[forgetful]
    for key in [key for key in store.state.pins if key.endswith(":g")]:
        del store.state.pins[key]
    store.state.begin_epoch(deployment.now)
    deployment.worker.follow()
    assert select(first, "again", memory=8192) in ("NoValidHost", "StoreUnavailable")
    assert homes(deployment) == {"b"}


def test_affinity_group_waits_while_another_partition_may_have_forgotten_its_members(deployment):
    worker = deployment.worker
    store = deployment.stores["b"]
    for key in [key for key in store.state.pins if key.endswith(":g")]:
        del store.state.pins[key]
    store.state.begin_epoch(deployment.now)
    assert select(worker, "m1", memory=8192) == "StoreUnavailable"
    epoch = store.state.epoch
    store.name_hosts(epoch, [], complete=True)
    assert select(worker, "m1", memory=8192) == "StoreUnavailable"
    for number in range(3):
        store.audit(f"b{number}", epoch, [], 0)
    assert select(worker, "m1", memory=8192) == "a"


def forget_groups(store):
    """Let a partition forget what it recorded about groups, and name its hosts; return its new epoch."""
    for key in [key for key in store.state.pins if key.endswith(":g")]:
        del store.state.pins[key]
    epoch = store.begin_epoch()
    store.name_hosts(epoch, [], complete=True)
    return epoch


def audit_all(store, claim=None):
    """Audit all hosts, of which one may run a claim that is forgotten."""
    for host in sorted(store.snapshot().services):
        runs = [running_member(claim)] if claim and claim.host == host else []
        store.audit(host, store.state.epoch, runs, 0)


def running_member(claim):
    return RunningClaim(
        claim.consumer, claim.attempt, True, claim.host, claim.allocations, "INSTANCE", "p", "u", "r", GROUP
    )


@pytest.mark.parametrize("home_is_kept", [True, False])
def test_group_does_not_leave_the_partition_that_forgot_its_members(deployment, home_is_kept):
    """The partition refuses a member that does not fit there, while its hosts may run those that it forgot."""
    worker, store = deployment.worker, deployment.stores["a"]
    assert select(worker, "m1", memory=8192) == "a"
    (claim,), _ = store.claims()
    store.confirm(claim.host, [ClaimRef("m1", 1)])
    pins = dict(store.state.pins) if home_is_kept else {}
    # Given that the member is forgotten
    store.state._count(store.state.claims.pop("m1"), -1)
    store.state.changed_providers.clear()
    forget_groups(store)
    store.state.pins.update(pins)
    # Then no other partition takes a member
    assert select(worker, "big", vcpus=8) == "StoreUnavailable"
    assert homes(deployment) == set()
    # When all hosts have audited, then the group is where it was
    audit_all(store, claim)
    assert select(worker, "m2") == "a"
    assert homes(deployment) == {"a"}


def test_worker_agrees_again_on_a_partition_that_forgot_the_groups_departure(deployment):
    """The partition takes no claim that was decided for it before the group left it."""
    slow, quick = deployment.workers
    scheduler = slow.scheduler._schedulers["a"]
    original, stopped, go_on = scheduler.schedule, threading.Event(), threading.Event()

    def stopping(*args, **values):
        stopped.set()
        go_on.wait()
        return original(*args, **values)

    scheduler.schedule = stopping
    answers = {}
    thread = threading.Thread(target=lambda: answers.update(small=select(slow, "small", memory=8192)))
    thread.start()
    stopped.wait()
    assert select(quick, "big", vcpus=8) == "b"
    forget_groups(deployment.stores["a"])
    audit_all(deployment.stores["a"])
    go_on.set()
    thread.join()
    assert (answers["small"], homes(deployment)) == ("NotReady", {"b"})
    assert select(slow, "small", memory=8192) == "NoValidHost"


def test_alternate_of_a_group_that_left_is_refused_where_its_departure_is_forgotten(deployment):
    worker, store = deployment.worker, deployment.stores["a"]
    assert select(worker, "m1", memory=8192) == "a"
    (claim,), _ = store.claims()
    before = store.snapshot()
    store.abort([ClaimRef("m1", 1)])
    assert select(worker, "big", vcpus=8) == "b"
    forget_groups(store)
    audit_all(store)
    # When the conductor's record of m1 goes on with an alternate in a
    intent = Intent("m1", 2, [Candidate(name) for name in claim.alternates], replaces=1)
    batch = ClaimBatch(
        "r", "p", "u", {"VCPU": 1}, [intent], before.epoch, before.position, HOUR_MS, group=GROUP, fresh=True
    )
    replica = next(partition.replica for partition in worker.partitions if partition.name == "a")
    alternates = AlternateClaimer(CurrentPolicy(FILTER_POLICY), store, replica, 1.0, unchanged)
    prepared = alternates.prepare(context.new("p", "u"), request({"VCPU": 1}, group=GROUP), batch)
    assert (prepared.answer.accepted, prepared.answer.current) == (False, True)
    assert homes(deployment) == {"b"}
