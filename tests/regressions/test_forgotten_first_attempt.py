# SPDX-License-Identifier: Apache-2.0
"""A boot that a failover forgot was selected again: a second copy ran, and the audit then stopped the original."""

import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conductor.saga.step_context import SagaLimits, StepContext
from conductor.store.records import DueWork, SagaStep, StoreTimeouts
from conductor.store.redis import RedisConductorStore
from devstack.servers.redis import RedisServer
from rpcapi import context, errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.store.redis import RedisStore
from tests.regressions.partitions import BACKENDS, open_partition
from tests.support.conductor.bench import request as build_request
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FILTER_POLICY
from tests.support.store.backends import partition_on
from tests.support.store.store_partition import StorePartition, running

# -- in the store ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=BACKENDS)
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    backend = open_partition(request, tmp_path)
    yield backend
    backend.store.close()


def boot_and_forget(partition: StorePartition) -> ClaimRef:
    """Start an instance on host h, and forget that; host g audits then. Return its claim."""
    partition.add_host("h")
    partition.add_host("g")
    mark = partition.mark()
    ref = partition.hold("vm", "h")
    epoch = partition.forget_since(mark)
    partition.store.audit("g", epoch, [], 0)
    return ref


def test_attempt_that_is_not_fresh_is_closed_until_its_host_audits(partition: StorePartition) -> None:
    ref = boot_and_forget(partition)
    # When the attempt is prepared again before its host has audited, then it is closed, on any host
    for attempt, replaces in ((1, None), (2, None), (3, 2)):
        result = partition.prepare("vm", "g", attempt=attempt, replaces=replaces, fresh=False)
        assert result.answer is Answer.CLOSED
    # When the host audits, then the attempt is the one that runs, and its guest is not stopped
    epoch, _ = partition.store.check_identity()
    outcome = partition.store.audit("h", epoch, [running(ref, "h")], 0)
    assert [answer.answer for answer in outcome.answers] == [Answer.CONFIRMED]
    result = partition.prepare("vm", "g", fresh=False)
    assert (result.answer, result.host) == (Answer.PREPARED, "h")
    assert partition.states() == {"vm": "confirmed"}
    partition.check()


def test_attempt_that_is_not_fresh_is_served_once_nobody_is_awaited(partition: StorePartition) -> None:
    partition.add_host("h")
    epoch = partition.new_epoch()
    assert partition.prepare("vm", "h", fresh=False).answer is Answer.CLOSED
    partition.store.audit("h", epoch, [], 0)
    assert partition.prepare("vm", "h", fresh=False).answer is Answer.PREPARED


def test_fresh_attempt_does_not_wait_for_a_host_that_stays_away(partition: StorePartition) -> None:
    boot_and_forget(partition)
    assert partition.prepare("new", "g", fresh=True).answer is Answer.PREPARED


def test_attempt_after_a_known_one_is_closed_too_unless_it_is_fresh(partition: StorePartition) -> None:
    """Given attempt 1 that ended, and attempts 2 and 3 that are forgotten, of which the record names none."""
    for host in ("h", "g", "f"):
        partition.add_host(host)
    partition.prepare("vm", "f")
    partition.store.abort([ClaimRef("vm", 1)])
    mark = partition.mark()
    partition.prepare("vm", "g", attempt=2)
    partition.store.abort([ClaimRef("vm", 2)])
    partition.hold("vm", "h", attempt=3)
    epoch = partition.forget_since(mark)
    for host in ("g", "f"):
        partition.store.audit(host, epoch, [], 0)
    assert partition.prepare("vm", "g", attempt=2, replaces=1, fresh=False).answer is Answer.CLOSED


# -- two partitions ----------------------------------------------------------------------------------------------------


def test_attempt_that_ran_in_another_partition_is_closed_everywhere() -> None:
    # Given an instance that runs in partition a, which forgot it, as did the pins of its call
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node(), "b2": node()})

    def select(**more: Any) -> str | None:
        call = SelectionCall(context.new("p", "u"), request(**more), ["vm"])
        return deployment.worker.scheduler.select(FILTER_POLICY, call).prepared[0].host

    store = deployment.stores["a"]
    assert select(force_hosts=("a1",)) == "a1"
    ref = ClaimRef("vm", 1)
    store.confirm("a1", [ref])
    claim = store.state.claims.pop("vm")
    store.state._count(claim, -1)
    store.state.changed_providers.clear()
    for forgetful in deployment.stores.values():
        forgetful.state.pins.clear()
    epoch = store.begin_epoch()
    deployment.worker.follow()
    # When it is selected again, then partition b, which forgot nothing, does not serve it
    with pytest.raises(errors.ClaimClosed):
        select()
    # And after the audit it is served where it runs
    audited = store.audit("a1", epoch, [running(ref, "a1", amounts=claim.allocations["a1"])], 0)
    assert audited.answers[0].answer is Answer.CONFIRMED
    deployment.worker.follow()
    assert select() == "a1"
    assert deployment.live() == {"vm": ["a"]}


# -- one server with everysec ------------------------------------------------------------------------------------------


def test_boot_that_one_server_forgot_waits_for_its_host(make_redis: Callable[..., RedisServer]) -> None:
    # Given one server for both stores, a request that is recorded there, and a copy of its append-only file
    server = make_redis(appendonly="everysec")
    partition = partition_on(server, RedisStore(server.url(), "cell1", durability="everysec"))
    records = RedisConductorStore(server.url(), StoreTimeouts(clock_difference_ms=0))
    partition.add_host("h")
    partition.add_host("g")
    records.ping()
    records.record(build_request(), ["vm"], partition.time())
    records.close()
    records = RedisConductorStore(server.url(), StoreTimeouts(repeat_horizon_ms=1))  # it has passed since
    work = load(records)
    assert step_context(work).is_certain(work.instances[0])
    server.stop()
    copy = server.folder / "copy"
    shutil.copytree(server.folder / "data", copy)
    server.start()
    # And a boot since, which a crash forgot
    ref = partition.hold("vm", "h")
    server.kill()
    shutil.rmtree(server.folder / "data")
    shutil.copytree(copy, server.folder / "data")
    server.start()
    epoch, _ = partition.store.check_identity()
    partition.store.audit("g", epoch, [], 0)
    # Then the record is back at its selection, but not certain to name what runs; so the attempt waits for the host
    after = load(records)
    assert after.instances[0].step == SagaStep.SELECT
    assert after.epoch > work.epoch
    assert not step_context(after).is_certain(after.instances[0])
    assert partition.prepare("vm", "g", fresh=False).answer is Answer.CLOSED
    partition.store.audit("h", epoch, [running(ref, "h")], 0)
    assert partition.prepare("vm", "g", fresh=False).host == "h"
    # And once it is selected, it is certain again, until the store forgets something else
    later = replace(after, may_repeat=False)
    assert step_context(later).is_certain(replace(after.instances[0], certain_epoch=after.epoch))
    records.close()
    partition.store.close()


def load(records: RedisConductorStore) -> DueWork:
    """Take and load the only request when its lease ends or it is due, and release it."""
    due = threading.Event()
    while not (leases := records.take("me", 1)):
        due.wait(0.01)
    work = records.load(leases[0])
    records.release(leases[0], work.now_ms)
    return work


def step_context(work: DueWork) -> StepContext:
    clients: Any = None
    return StepContext(clients, SagaLimits(), work.request, work.now_ms, epoch=work.epoch, may_repeat=work.may_repeat)
