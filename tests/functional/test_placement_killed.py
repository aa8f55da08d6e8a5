# SPDX-License-Identifier: Apache-2.0
"""gantt-placement and its Redis are killed among writes: nothing acknowledged is lost, and nothing half written."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from devstack.deploy.users.redis_users import PLACEMENT, SCHEDULER, STORE_USERS
from devstack.servers.ports import answers, free_port
from devstack.servers.process import ServerProcess, members
from devstack.servers.redis import RedisServer
from scheduler_svc.store.redis import RedisStore
from tests.functional.placement_deployment import NO_ANSWER, READY_SECONDS, Client, Writer
from tests.support.clusters import clusters, truth
from tests.support.run_folders import claim_folder, release_folder

PARTITION = "default"
WRITERS, WORKERS = 6, 2
WRITES_BETWEEN_KILLS = 30
TOTAL = 1000
VICTIMS = ("a worker", "Redis", "the master", "all workers", "Redis and all processes")
FORMS = [
    pytest.param(("Redis",), 1, id="short"),  # test_placement_processes kills a worker
    pytest.param(VICTIMS, 10, id="long", marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
]


class KilledDeployment:
    """gantt-placement over a Redis that writes to its disk before it answers; each part can be killed."""

    def __init__(self, redis: RedisServer) -> None:
        self.redis = redis
        self._folder = claim_folder()
        self._port = free_port()
        self._conf = self._folder / "placement.conf"
        self._conf.write_text(
            f"[rpc]\npartition = {PARTITION}\n[store]\nurl = {redis.url(PLACEMENT.name)}\ndurability = always\n"
            f"[api]\nauth_strategy = noauth2\n[placement]\nport = {self._port}\nworkers = {WORKERS}\n",
            encoding="utf-8",
        )
        self._daemon = ServerProcess("placement", self._folder / "placement.pid", self._folder / "placement.log")
        self.client = Client(self._port)
        kills = (self._kill_worker, self._kill_redis, self._kill_master, self._kill_workers, self._kill_all)
        self.kills: dict[str, Callable[[], None]] = dict(zip(VICTIMS, kills, strict=True))

    def start(self) -> None:
        """Start gantt-placement; return when both workers serve."""
        command = [sys.executable, "-m", "scheduler_svc.cmd.placement", "--config-file", str(self._conf)]
        self._daemon.spawn(command, dict(os.environ), self._folder)
        self._wait_for_workers(set())

    def stop(self) -> None:
        """End what still runs."""
        if (group := self._daemon.group) is not None:
            os.killpg(group, signal.SIGKILL)
        self._daemon.kill()
        release_folder(self._folder)

    def workers(self) -> set[int]:
        """Return the process ids of the workers."""
        return set(clusters.workers(self._daemon))

    def make_provider(self, name: str) -> str:
        """Create a provider; return its UUID."""
        status, provider = self.client.call("POST", "/resource_providers", {"name": name})
        assert status == 200
        inventories = {"VCPU": {"total": TOTAL, "max_unit": TOTAL}}
        body = {"resource_provider_generation": 0, "inventories": inventories}
        path = f"/resource_providers/{provider['uuid']}/inventories"
        assert self.client.call("PUT", path, body)[0] == 200
        return str(provider["uuid"])

    def _kill_worker(self) -> None:
        victim = min(self.workers())
        os.kill(victim, signal.SIGKILL)
        self._wait_for_workers({victim})

    def _kill_workers(self) -> None:
        victims = self.workers()
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        self._wait_for_workers(victims)

    def _kill_redis(self) -> None:
        self.redis.kill()
        self.redis.start()

    def _kill_master(self) -> None:
        """Kill the master alone; its workers end because it has, and then a service manager starts the unit anew."""
        group = self._daemon.pid
        assert group is not None
        os.kill(group, signal.SIGKILL)
        truth.until("the end of the workers", lambda: not members(group), READY_SECONDS)
        self._daemon.kill()
        self.start()

    def _kill_all(self) -> None:
        self.redis.kill()
        self._daemon.kill_group()
        self.redis.start()
        self.start()

    def _wait_for_workers(self, victims: set[int]) -> None:
        truth.until("all workers", lambda: len(self.workers() - victims) == WORKERS, READY_SECONDS)
        truth.until("an answer", lambda: answers(self._port) and self._is_healthy(), READY_SECONDS)

    def _is_healthy(self) -> bool:
        try:
            return self.client.call("GET", "/healthz")[0] == 200
        except NO_ANSWER:
            return False


@pytest.fixture
def deployment(make_redis: Any) -> Iterator[KilledDeployment]:
    redis = make_redis(appendonly="always", users=STORE_USERS)
    deployment = KilledDeployment(redis)
    try:
        deployment.start()
        yield deployment
    finally:
        deployment.stop()


@pytest.fixture
def store(deployment: KilledDeployment) -> Iterator[RedisStore]:
    store = RedisStore(deployment.redis.url(SCHEDULER.name), PARTITION, durability="always")
    yield store
    store.close()


@pytest.mark.parametrize(("victims", "rounds"), FORMS)
def test_acknowledged_writes_survive_the_death_of_any_process(
    deployment: KilledDeployment, store: RedisStore, victims: Sequence[str], rounds: int
) -> None:
    # Given clients that write
    providers = [deployment.make_provider(f"p{number}") for number in range(2)]
    writers = [Writer(f"w{number}", deployment.client, providers, loses_store=True) for number in range(WRITERS)]
    is_over = threading.Event()

    def write_on(writer: Writer) -> None:
        while not is_over.is_set():
            writer.write()

    def count() -> int:
        return sum(writer.acknowledged for writer in writers)

    # When each part is killed in turn among their writes
    with ThreadPoolExecutor(WRITERS) as pool:
        runs = [pool.submit(write_on, writer) for writer in writers]

        def write_more() -> None:
            target = count() + WRITES_BETWEEN_KILLS
            truth.until("more writes", lambda: any(run.done() for run in runs) or count() >= target, READY_SECONDS)

        try:
            for _ in range(rounds):
                for victim in victims:
                    write_more()
                    deployment.kills[victim]()
            write_more()
        finally:
            is_over.set()
    for run in runs:
        run.result()

    # Then every consumer holds what its last acknowledged write said, or a later one that got no answer
    holdings = [writer.check() for writer in writers]
    for provider in providers:
        status, document = deployment.client.call("GET", f"/resource_providers/{provider}/usages")
        assert (status, document["usages"]) == (200, {"VCPU": sum(amounts[provider] for amounts in holdings)})
    report = store.verify()
    assert (list(report.problems), list(report.excess)) == ([], [])
