# SPDX-License-Identifier: Apache-2.0
"""The faults and oracles of the machine of moves: each fault happens, and each oracle names its broken promise."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compute_agent.attempts.isolation import AuditDuty
from conductor.store.records import SagaStep
from rpcapi.resources.statuses import InstanceStatus
from scheduler_svc.store import registrations
from tests.support.conductor.live_cluster import HOSTS
from tests.support.simulation.faults import Fault
from tests.support.simulation.moves_cluster import RECORDS, SPEC, MovesCluster, Progress
from tests.support.simulation.moves_machine import STRIKES
from tests.support.simulation.promises import PromiseBroken
from tests.support.store.backends import memory_partition

FIRST, SECOND, THIRD = HOSTS
HOUR_S = 3600
# Faults of one host.
HOST_FAULTS = (
    *(Fault.AGENT_CRASH, Fault.AGENT_RESTART, Fault.SUSPENSION, Fault.SUSPENDED_FENCE),
    *(Fault.POWER_LOSS, Fault.FENCE, Fault.NAMESAKE),
)


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[Callable[[], MovesCluster]]:
    clusters: list[MovesCluster] = []

    def make() -> MovesCluster:
        folder = tmp_path / str(len(clusters))
        folder.mkdir()
        clusters.append(MovesCluster(folder, memory_partition(), slots=1))
        return clusters[-1]

    yield make
    for cluster in clusters:
        cluster.close()


@pytest.fixture
def cluster(make_cluster: Callable[[], MovesCluster]) -> MovesCluster:
    cluster = make_cluster()
    cluster.settle()
    cluster.check_always()
    return cluster


def broken_promise(act: Callable[[], object]) -> int:
    with pytest.raises(PromiseBroken) as caught:
        act()
    return caught.value.number


def boot_under_suspension(cluster: MovesCluster, steps: int) -> None:
    """Suspend the agent of the first host at one of the steps of a boot, and let its instance be evacuated."""
    cluster.suspend(FIRST, steps, HOUR_S, is_fenced=True)
    cluster.settle()
    cluster.check_always()
    cluster.rest()


STEPS_OF_A_BOOT = range(1, 13)


def test_suspended_agent_starts_nothing_that_runs_elsewhere(make_cluster: Callable[[], MovesCluster]) -> None:
    final_hosts = set()
    for steps in STEPS_OF_A_BOOT:
        cluster = make_cluster()
        boot_under_suspension(cluster, steps)
        final_hosts |= cluster.hosts.running_hosts(set(cluster.slots))
        assert cluster.hosts.silence[FIRST] == HOUR_S, "the agent was not suspended"
    assert SECOND in final_hosts


def test_agent_that_does_not_look_before_it_starts_breaks_promise_1(
    make_cluster: Callable[[], MovesCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AuditDuty, "is_due", False)
    numbers = set()
    for steps in STEPS_OF_A_BOOT:
        try:
            boot_under_suspension(make_cluster(), steps)
        except PromiseBroken as broken:
            numbers.add(broken.number)
    assert 1 in numbers


def test_messages_to_a_suspended_agent_wait(cluster: MovesCluster) -> None:
    cluster.hosts.suspended.add(FIRST)
    cluster.change("stop", 0)
    cluster.settle(60_000)
    assert {host for host, _message in cluster.hosts.queue} == {FIRST}
    cluster.hosts.suspended.clear()
    cluster.settle()
    assert cluster.record(cluster.slots[0]).status == InstanceStatus.SHUTOFF


def test_late_message_arrives_hours_later(cluster: MovesCluster) -> None:
    cluster.change("stop", 0)
    cluster.work()
    cluster.hosts.sent.clear()
    cluster.hosts.message(0, "be late")
    assert cluster.hosts.queue == []
    cluster.now_ms += HOUR_S * 1000
    cluster.hosts.message(0, "arrive again")
    cluster.settle()
    assert cluster.record(cluster.slots[0]).status == InstanceStatus.SHUTOFF


def test_namesake_owns_the_name_of_an_empty_dead_host_alone(cluster: MovesCluster) -> None:
    folders = {host: cluster.hosts.rigs[host].folder for host in HOSTS}
    for host in HOSTS:
        cluster.meet_namesake(host)
    cluster.hosts.kill(FIRST)
    cluster.hosts.kill(SECOND)
    cluster.meet_namesake(FIRST)  # the instance is there
    assert {host: rig.folder for host, rig in cluster.hosts.rigs.items()} == folders
    cluster.meet_namesake(SECOND)
    assert cluster.hosts.rigs[SECOND].folder != folders[SECOND]
    cluster.rest()


def test_namesake_that_is_believed_breaks_promise_2(cluster: MovesCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registrations, "is_foreign", lambda _service, _host_uuid: False)
    assert broken_promise(lambda: cluster.meet_namesake(FIRST)) == 2


def test_machine_without_power_runs_nothing(cluster: MovesCluster) -> None:
    cluster.lose_power(FIRST)
    assert list(cluster.hosts.running()) == []
    cluster.check_always()
    cluster.rest()
    assert cluster.hosts.running_hosts(set(cluster.slots)) == {FIRST}


def test_second_guest_breaks_promise_1(cluster: MovesCluster) -> None:
    (uuid,) = cluster.slots
    hypervisor = cluster.hosts.rigs[SECOND].guest_manager.hypervisor
    hypervisor.spawn(next(iter(cluster.hosts.rigs[FIRST].guests())), f"{SECOND}/n")
    assert cluster.hosts.running_hosts({uuid}) == {FIRST, SECOND}
    assert broken_promise(cluster.check_always) == 1


def test_guest_that_disappears_breaks_promise_2(cluster: MovesCluster) -> None:
    cluster.hosts.lose_guests(FIRST)
    assert broken_promise(cluster.check_always) == 2


def test_guest_without_its_claim_breaks_promise_3(cluster: MovesCluster) -> None:
    (claim,) = cluster.ledger.store.claims()[0]
    cluster.ledger.store.release(FIRST, [claim.ref])
    assert broken_promise(lambda: cluster.check_audited(FIRST)) == 3


def test_record_that_never_rests_breaks_promise_4(cluster: MovesCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.move("migrate", 0, None, SPEC)
    monkeypatch.setattr(cluster, "settle", lambda: None)
    assert broken_promise(cluster.rest) == 4


@pytest.fixture
def crossed_cluster(tmp_path: Path) -> Iterator[MovesCluster]:
    """Yield a cluster whose instance waits in the other partition for a confirm, and whose stores were all marked."""
    cluster = MovesCluster(
        tmp_path, memory_partition(), slots=1, west=memory_partition(partition="west"), west_hosts=[THIRD]
    )
    cluster.settle()
    cross(cluster)
    cluster.mark()
    cluster.mark_records()
    yield cluster
    cluster.close()


def cross(cluster: MovesCluster) -> None:
    cluster.move("migrate", 0, None, SPEC)
    cluster.settle()
    move = cluster.record(cluster.slots[0]).move
    assert move.source_partition != cluster.record(cluster.slots[0]).partition


def epochs(cluster: MovesCluster) -> list[int]:
    return [*(cluster.claims_at(host).epoch for host in (FIRST, THIRD)), cluster.store.epoch()]


STORES = (FIRST, THIRD, RECORDS)


@pytest.mark.parametrize("stores", [*itertools.combinations(STORES, 1), *itertools.combinations(STORES, 2), STORES])
def test_stores_forget_alone_and_together(crossed_cluster: MovesCluster, stores: tuple[str, ...]) -> None:
    before = epochs(crossed_cluster)
    crossed_cluster.forget_together(stores)
    has_forgotten = [after > epoch for after, epoch in zip(epochs(crossed_cluster), before, strict=True)]
    assert has_forgotten == [store in stores for store in STORES]
    crossed_cluster.rest()


def test_no_loss_of_all_stores_leads_from_one_migration_across_partitions_into_the_next(
    crossed_cluster: MovesCluster,
) -> None:
    crossed_cluster.end_move("confirm", 0)
    crossed_cluster.settle()
    cross(crossed_cluster)
    before = epochs(crossed_cluster)
    crossed_cluster.forget_together(STORES)
    assert epochs(crossed_cluster) == before
    crossed_cluster.forget_together([THIRD, RECORDS])
    assert epochs(crossed_cluster) != before
    crossed_cluster.rest()


def hits(cluster: MovesCluster, fault: Fault) -> dict[SagaStep, int]:
    return {step: count for (other, step), count in cluster.hits.items() if other == fault and count}


def strike(cluster: MovesCluster, fault: Fault, host: str) -> dict[SagaStep, int]:
    """Let a fault strike, and reports arrive; return its hits."""
    cluster.mark()
    cluster.mark_records()
    STRIKES[fault](cluster, host, 0)
    cluster.settle(1000)
    return hits(cluster, fault)


@pytest.fixture
def moving_cluster(cluster: MovesCluster) -> MovesCluster:
    """A cluster whose instance moves from the first host, with two messages to stop it there on their way."""
    cluster.hosts.duplicate = True
    cluster.move("migrate", 0, SECOND, SPEC)
    cluster.work()
    assert cluster.record(cluster.slots[0]).step == SagaStep.STOP_SOURCE
    return cluster


@pytest.mark.parametrize("fault", [fault for fault in STRIKES if fault != Fault.FAILURE])
def test_fault_is_counted_for_the_step_that_it_hits(moving_cluster: MovesCluster, fault: Fault) -> None:
    assert strike(moving_cluster, fault, FIRST) == {SagaStep.STOP_SOURCE: 1}


@pytest.mark.parametrize("fault", HOST_FAULTS)
def test_fault_of_another_host_hits_no_step(moving_cluster: MovesCluster, fault: Fault) -> None:
    assert strike(moving_cluster, fault, THIRD) == {}


@pytest.mark.parametrize("fault", STRIKES)
def test_fault_between_sagas_hits_no_step(cluster: MovesCluster, fault: Fault) -> None:
    assert strike(cluster, fault, FIRST) == {}


def test_failing_build_is_counted_when_its_host_reports(moving_cluster: MovesCluster) -> None:
    moving_cluster.fail(SECOND, "refusal_rate")
    moving_cluster.settle()
    assert hits(moving_cluster, Fault.FAILURE) == {SagaStep.WAIT: 1}


def test_timers_that_fire_without_an_answer_are_counted(moving_cluster: MovesCluster) -> None:
    moving_cluster.hosts.kill(FIRST)
    moving_cluster.settle(60_000)
    count = hits(moving_cluster, Fault.TIMER)[SagaStep.STOP_SOURCE]
    moving_cluster.settle(60_000)
    assert hits(moving_cluster, Fault.TIMER)[SagaStep.STOP_SOURCE] > count > 0


@pytest.mark.parametrize(("count", "step"), [(0, SagaStep.BEGIN_MOVE), (1, SagaStep.DESTINATION)])
def test_conductor_crashes_in_each_step(cluster: MovesCluster, count: int, step: SagaStep) -> None:
    cluster.move("migrate", 0, SECOND, SPEC)
    cluster.run_steps(Progress(count, crashes=True))
    assert hits(cluster, Fault.CONDUCTOR_CRASH) == {step: 1}
    assert cluster.record(cluster.slots[0]).step == step
