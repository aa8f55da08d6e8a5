# SPDX-License-Identifier: Apache-2.0
"""A store that was restored from a backup, without a trace of it in the server's identity, began no epoch.

Claims that it had forgotten were conflicts for their hosts, and their capacity was allocated again.
"""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from conductor.stamps import PartitionStamps
from conductor.store.memory import MemoryConductorStore
from rpcapi import context
from rpcapi.resources.claims import Answer
from scheduler_svc.endpoints.host_state import HostStateEndpoint
from scheduler_svc.host_state.stamps import StampSigner
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from tests.regressions.restorable_deployments import (
    Agent,
    Deployment,
    memory_deployment,
    redis_deployment,
    redis_folder_deployment,
    sqlite_deployment,
)
from tests.support.store.store_partition import SMALL


@pytest.fixture(params=["memory", "redis", "redis folder", "sqlite"])
def deployment(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Deployment]:
    if request.param == "memory":
        new_deployment = memory_deployment()
    elif request.param == "redis folder":
        new_deployment = redis_folder_deployment(request.getfixturevalue("make_redis")(appendonly="always"))
    elif request.param == "sqlite":
        new_deployment = sqlite_deployment(tmp_path)
    else:
        new_deployment = redis_deployment(request.getfixturevalue("redis_server"))
    yield new_deployment
    new_deployment.partition.store.close()


def make_agents(deployment: Deployment, count: int) -> list[Agent]:
    agents = [Agent(deployment, f"h{number}") for number in range(count)]
    for agent in agents:
        agent.report()
        agent.report()
    return agents


def test_restored_backup_begins_one_epoch_after_which_claims_are_what_runs(deployment: Deployment) -> None:
    # given instances from before the backup, of which one is deleted later, and instances from after it
    agents = make_agents(deployment, 5)
    before = [agent.boot() for agent in agents]
    restore = deployment.back_up()
    deployment.restart_scheduler()
    deployment.partition.store.release("h0", [before[0]])
    agents[0].runs.remove(before[0])
    for agent in agents:
        agent.boot()
        agent.report()
    epoch = deployment.epoch

    # when the backup is restored, and schedulers start that never saw the later state
    restore()
    deployment.restart_scheduler()
    assert deployment.epoch == epoch
    epochs = set()
    for _ in range(3):
        epochs |= {agent.report().epoch for agent in agents}

    # then one epoch has begun, and the claims are those that run
    assert len(epochs) == 1 and epoch not in epochs
    claims, _ = deployment.partition.store.claims()
    assert {(claim.consumer, claim.host) for claim in claims} == {
        (ref.consumer, agent.host) for agent in agents for ref in agent.runs
    }
    verification = deployment.partition.store.verify()
    assert (list(verification.problems), list(verification.awaited)) == ([], [UNNAMED_HOSTS])
    assert deployment.partition.used("h1") == {name: 2 * amount for name, amount in SMALL.items()}


def test_honest_stamps_of_100_agents_begin_no_second_epoch_after_a_failover(deployment: Deployment) -> None:
    agents = make_agents(deployment, 100)
    mark = deployment.partition.mark()
    for agent in agents:
        agent.report()
        deployment.partition.hold(f"c-{agent.host}", agent.host)
        agent.report()  # a stamp beyond what the replica has
    epoch = deployment.partition.forget_since(mark)
    for _ in range(2):
        assert {agent.report().epoch for agent in agents} == {epoch}
    assert deployment.epoch == epoch


def forged(agent: Agent, other: Agent) -> list[str]:
    """Return stamps that a lying agent can make: its own and another host's, changed, or signed with its own key."""
    assert agent.stamp and other.stamp
    epoch, position, code = agent.stamp.split(".")
    return [
        f"{int(epoch) + 10**9}.{position}.{code}",
        f"{epoch}.{int(position) + 10**9}.{code}",
        other.stamp,
        str(StampSigner("the key of a lying agent, as long as needed").sign("p1", agent.host, int(epoch) + 1, 1)),
        "nonsense",
    ]


def test_lying_agent_begins_no_epoch(deployment: Deployment) -> None:
    liar, other = make_agents(deployment, 2)
    old = liar.stamp
    other.boot()
    other.report()
    epoch = deployment.epoch
    for stamp in [*forged(liar, other), old]:
        liar.stamp = stamp
        assert liar.report().epoch == epoch
    # an honest stamp of another host would prove a rollback of a store that is behind it: not in a liar's report
    restore = deployment.back_up()
    deployment.restart_scheduler()
    other.boot()
    other.report()
    stolen = other.stamp
    restore()
    deployment.restart_scheduler()
    liar.stamp = stolen
    assert liar.report().epoch == epoch
    other.stamp = stolen
    assert other.report().epoch > epoch


def exchange(deployment: Deployment, records: MemoryConductorStore) -> None:
    """Exchange stamps as a conductor does periodically, and before it sends an attempt that is not certain."""
    endpoint = deployment.endpoint

    def exchange_stamps(ctxt: object, stamps: dict[str, str]) -> dict[str, str | None]:
        return HostStateEndpoint.exchange_stamps.__wrapped__(endpoint, ctxt, stamps)  # type: ignore[attr-defined,no-any-return]

    PartitionStamps(records, SimpleNamespace(exchange_stamps=exchange_stamps)).exchange(context.new())  # type: ignore[arg-type]


def test_conductor_proves_a_restored_backup_while_no_agent_runs(deployment: Deployment) -> None:
    """Given an instance from after the backup, whose record is not certain, and hosts whose agents are all away."""
    records = MemoryConductorStore()
    first, second = make_agents(deployment, 2)
    exchange(deployment, records)
    restore = deployment.back_up()
    deployment.restart_scheduler()
    ref = first.boot()
    exchange(deployment, records)

    # when the backup is restored, and schedulers start that never saw the later state
    restore()
    deployment.restart_scheduler()
    epoch = deployment.epoch
    exchange(deployment, records)

    # then one epoch has begun, in which the attempt waits for the hosts
    assert deployment.epoch > epoch
    epoch = deployment.epoch
    exchange(deployment, records)
    assert deployment.epoch == epoch
    assert deployment.partition.prepare(ref.consumer, "h1", fresh=False).answer is Answer.CLOSED
    store = deployment.partition.store
    store.name_hosts(epoch, ["h0", "h1"], complete=True)
    store.audit("h1", epoch, [], 0)
    assert deployment.partition.prepare(ref.consumer, "h1", fresh=False).answer is Answer.CLOSED
    # and the first reports of the agents, with stamps of the lost state, begin none
    assert {agent.report().epoch for agent in (first, second)} == {epoch}
    assert deployment.partition.prepare(ref.consumer, "h1", fresh=False).host == "h0"


def test_stamps_of_conductors_begin_no_epoch_after_a_failover(deployment: Deployment) -> None:
    records = MemoryConductorStore()
    (agent,) = make_agents(deployment, 1)
    mark = deployment.partition.mark()
    agent.boot()
    exchange(deployment, records)
    epoch = deployment.partition.forget_since(mark)
    for _ in range(2):
        exchange(deployment, records)
    assert deployment.epoch == epoch


def test_agent_without_a_stamp_and_a_scheduler_without_a_key_begin_no_epoch(deployment: Deployment) -> None:
    (agent,) = make_agents(deployment, 1)
    restore = deployment.back_up()
    deployment.restart_scheduler()
    agent.boot()
    agent.report()
    epoch, stamp = deployment.epoch, agent.stamp
    restore()
    deployment.restart_scheduler()
    deployment.endpoint._stamps = StampSigner(None)
    answer = agent.report()
    assert (answer.epoch, answer.stamp) == (epoch, None)
    deployment.restart_scheduler()
    agent.stamp = None
    assert agent.report().epoch == epoch
    agent.stamp = stamp
    assert agent.report().epoch > epoch
