# SPDX-License-Identifier: Apache-2.0
"""Every process is killed at random moments while servers boot; afterwards the invariants hold."""

import itertools
import os
import random
import signal
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import oslo_messaging as messaging
import pytest

from devstack import exercise, workload
from devstack.cluster import ClusterSize, Mode
from rpcapi import errors
from tests.chaos.conftest import IMPATIENT
from tests.functional import clusters, truth
from tests.functional.clusters import Running
from tests.functional.test_fill import requests

FILLED = ClusterSize(computes=3, nodes_per_host=4, schedulers=4)
RECOVERY_SECONDS = 240.0


class Killer:
    """Kills the cluster's processes in seeded random order, and starts again what no master respawns."""

    def __init__(self, running: Running, seed: int) -> None:
        self.running = running
        self.chance = random.Random(seed)
        self.met: list[str] = []
        cluster = running.cluster
        self.kills: dict[str, Callable[[], None]] = {
            "scheduler worker": lambda: os.kill(
                self.chance.choice(clusters.workers(cluster.daemons["scheduler"])), signal.SIGKILL
            ),
            "scheduler": lambda: clusters.restart(running, "scheduler"),
            "conductor": lambda: clusters.restart(running, "conductor"),
            "compute": lambda: clusters.restart(running, "compute"),
            "store": lambda: self._server(cluster.store),
            "bus": lambda: self._server(cluster.rabbit or cluster.bus),
        }

    def kill(self, name: str) -> None:
        """Kill one, and note it."""
        self.revive()
        if name == "scheduler worker" and not clusters.workers(self.running.cluster.daemons["scheduler"]):
            return
        self.kills[name]()
        self.met.append(name)

    def revive(self) -> None:
        """Start what has ended by itself, as the service manager does: a worker killed in its first start ends all."""
        for name, daemon in self.running.cluster.daemons.items():
            if daemon.pid is None:
                self.running.cluster.start_daemon(name)

    @staticmethod
    def _server(server) -> None:
        server.kill()
        server.start()


def boot_all(running: Running, wanted: list[workload.WorkloadRequest], uuids: list[str]) -> None:
    """Ask for every server, again and again until it is taken: the same uuids make it the same request."""
    session = exercise.Session([str(running.cluster.client_conf)])
    for request in wanted:
        mine = str(uuid.uuid4())
        uuids.append(mine)
        session.new_request()
        while True:
            try:
                session.call(session.conductor.build_instances, request.spec(), [mine])
                break
            except (messaging.MessagingException, errors.Unavailable, errors.DeadlinePassed):
                continue
    session.close()


def storm(mode: Mode, wanted: list[workload.WorkloadRequest], seed: int, least: float, order: list[str]) -> list[str]:
    """Boot under kills, in ``order`` over and over for at least ``least`` seconds; assert that all is sound after."""
    with clusters.running(clusters.on(mode, FILLED), IMPATIENT) as running:
        uuids: list[str] = []
        caller = ThreadPoolExecutor(1).submit(boot_all, running, wanted, uuids)
        killer = Killer(running, seed)
        until = time.monotonic() + least
        for name in itertools.cycle(order):
            if len(killer.met) >= len(order) and time.monotonic() > until:
                break
            wait([caller], killer.chance.uniform(0.1, 1.5))
            killer.kill(name)
        caller.result(RECOVERY_SECONDS)
        killer.revive()
        exercise.wait_for_nodes(running.session, FILLED.nodes, RECOVERY_SECONDS, lambda known: None)
        instances = truth.assert_sound(running, uuids, RECOVERY_SECONDS)
        assert len(instances) == len(wanted)
        assert any(instance.status == "ACTIVE" for instance in instances)
        return killer.met


@pytest.mark.timeout(600)
def test_each_process_once():
    order = ["scheduler worker", "conductor", "compute", "store", "scheduler", "bus"]
    assert set(storm(Mode.EMBEDDED, requests()[:80], seed=1, least=0, order=order)) == set(order)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_random_kills(mode, seed):
    order = ["scheduler worker"] * 3 + ["scheduler", "conductor", "conductor", "compute", "compute", "store", "bus"]
    random.Random(seed).shuffle(order)
    storm(mode, requests(), seed, least=60, order=order)
