# SPDX-License-Identifier: Apache-2.0
"""A store that was restored from a backup, without a trace of it in the server's identity, began no epoch.

Claims that it had forgotten were conflicts for their hosts, and their capacity was allocated again.
"""

import contextlib
import copy
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from rpcapi import context, objects
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.endpoints.host_state import HostStateEndpoint
from scheduler_svc.host_state.stamps import StampSigner
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.sql import SqlStore
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from tests.unit.scheduler_svc.store.backends import RedisFaults, memory_partition, redis_partition
from tests.unit.scheduler_svc.store.databases import sql_partition
from tests.unit.scheduler_svc.store.store_partition import SMALL, StorePartition, running

KEY = "a key that only schedulers know: 0123456789"
NODE = {"inventories": {name: {"total": 8 * amount} for name, amount in SMALL.items()}}


class OnePartition:
    """The partitions of a worker that has one."""

    def __init__(self, store: Any) -> None:
        self.own = SimpleNamespace(name="p1", store=store)

    def find(self, _name: str | None) -> Any:
        return self.own

    def __len__(self) -> int:
        return 1


@dataclass
class Deployment:
    """A partition, ``back_up``, which returns a function that restores what is stored, and a scheduler's endpoint."""

    partition: StorePartition
    back_up: Callable[[], Callable[[], None]]

    def __post_init__(self) -> None:
        self.restart_scheduler()

    def restart_scheduler(self) -> None:
        """Start a scheduler on the current store, that has observed nothing."""
        partitions: Any = OnePartition(self.partition.store)
        self.endpoint = HostStateEndpoint(partitions, None, lambda: None, StampSigner(KEY))  # type: ignore[arg-type]

    def report(self, host: str, stats: objects.StatsReport) -> objects.StatsAnswer:
        return HostStateEndpoint.update_resource_stats.__wrapped__(self.endpoint, context.new(), host, stats)  # type: ignore[attr-defined,no-any-return]

    @property
    def epoch(self) -> int:
        return self.partition.store.snapshot().epoch


@dataclass
class Agent:
    """A host's agent: what it runs, and its counters."""

    deployment: Deployment
    host: str
    stamp: str | None = None
    incarnation: int = 0
    sequence: int = 0

    def __post_init__(self) -> None:
        self.runs: list[ClaimRef] = []

    def report(self) -> objects.StatsAnswer:
        """Report as the real agent does: register where it must, and audit where it is requested."""
        answer = self._send(register=self.incarnation == 0)
        if answer.superseded:
            answer = self._send(register=True)
        if answer.need_full:
            answer = self._send(full=True)
        self.incarnation = answer.incarnation
        self.stamp = answer.stamp
        if answer.audit:
            claims = [running(ref, self.host) for ref in self.runs]
            self.deployment.partition.store.audit(self.host, answer.epoch, claims, 0)
        return answer

    def _send(self, register: bool = False, full: bool = False) -> objects.StatsAnswer:
        base = self.sequence
        self.sequence += 1
        full = full or register
        return self.deployment.report(
            self.host,
            objects.StatsReport.of(
                incarnation=self.incarnation,
                register=register,
                agent=f"agent of {self.host}",
                sequence=self.sequence,
                base=base,
                full=full,
                nodes={self.host: NODE} if full else {},
                stamp=self.stamp,
            ),
        )

    def boot(self) -> ClaimRef:
        ref = ClaimRef(str(uuid.uuid4()), 1)
        assert self.deployment.partition.prepare(ref.consumer, self.host).answer == Answer.PREPARED
        self.deployment.partition.store.confirm(self.host, [ref])
        self.runs.append(ref)
        return ref


def memory_deployment() -> Deployment:
    partition = memory_partition()
    store: Any = partition.store
    assert isinstance(store, MemoryStore)

    def back_up() -> Callable[[], None]:
        mark = copy.deepcopy(store.state)

        def restore() -> None:
            store.state = mark

        return restore

    return Deployment(partition, back_up)


def redis_deployment(server: RedisServer) -> Deployment:
    partition = redis_partition(server)
    name = partition.store.partition
    faults = RedisFaults(server, name)

    def back_up() -> Callable[[], None]:
        mark = faults.mark()
        meta = f"gantt:{{p:{name}}}:meta"
        identity = server.client().hmget(meta, "run_id", "replid")

        def restore() -> None:
            partition.store.close()
            faults.restore(mark)
            # what a server with appendfsync always records: its restart loses nothing
            server.client().hset(meta, mapping=dict(zip(("run_id", "replid"), identity, strict=True)))
            partition.store = RedisStore(server.url(), name, durability="always")

        return restore

    return Deployment(partition, back_up)


def redis_folder_deployment(server: RedisServer) -> Deployment:
    """Return a deployment whose server stops for each backup and restore of its folder."""
    partition = redis_partition(server, durability="always")
    name, data, backup = partition.store.partition, server.folder / "data", server.folder / "backup"

    def exchange(source: Path, target: Path) -> None:
        partition.store.close()
        server.stop()
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        server.start()
        partition.store = RedisStore(server.url(), name, durability="always")

    def back_up() -> Callable[[], None]:
        exchange(data, backup)
        return lambda: exchange(backup, data)

    return Deployment(partition, back_up)


def sqlite_deployment(folder: Path) -> Deployment:
    """Return a deployment whose file is overwritten by its backup."""
    live, backup = folder / "store.sqlite", folder / "backup.sqlite"
    url = f"sqlite:///{live}"
    partition = sql_partition(url)
    name = partition.store.partition

    def copy_database(source: Path, target: Path) -> None:
        with (
            contextlib.closing(sqlite3.connect(source)) as reader,
            contextlib.closing(sqlite3.connect(target)) as writer,
        ):
            reader.backup(writer)

    def restore() -> None:
        partition.store.close()
        copy_database(backup, live)
        partition.store = SqlStore(url, name)

    def back_up() -> Callable[[], None]:
        copy_database(live, backup)
        return restore

    return Deployment(partition, back_up)


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
