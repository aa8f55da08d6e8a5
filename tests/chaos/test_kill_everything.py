# SPDX-License-Identifier: Apache-2.0
"""Processes are killed at random times while servers boot; afterwards the invariants hold."""

import itertools
import os
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from devstack import exercise, workload
from devstack.cluster_size import ClusterSize, Mode
from tests.support.clusters import clusters, truth
from tests.support.clusters.booting import boot_all
from tests.support.clusters.clusters import RunningCluster
from tests.support.clusters.fill import requests
from tests.support.clusters.impatient import IMPATIENT

FILLED = ClusterSize(computes=3, nodes_per_host=4, schedulers=4)
RECOVERY_SECONDS = 240.0


class Killer:
    """Kills the cluster's processes in seeded random order, and restarts those that no master respawns."""

    def __init__(self, running: RunningCluster, seed: int) -> None:
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
        """Kill one process, and record it."""
        self.revive()
        if name == "scheduler worker" and not clusters.workers(self.running.cluster.daemons["scheduler"]):
            return
        self.kills[name]()
        self.met.append(name)

    def revive(self) -> None:
        """Restart ended daemons, as a service manager does: a worker killed in its first start ends its daemon."""
        for name, daemon in self.running.cluster.daemons.items():
            if daemon.pid is None:
                self.running.cluster.start_daemon(name)

    @staticmethod
    def _server(server) -> None:
        server.kill()
        server.start()


def storm(mode: Mode, requests: list[workload.WorkloadRequest], seed: int, least: float, order: list[str]) -> list[str]:
    """Boot while processes are killed in ``order``, repeatedly, for at least ``least`` seconds; assert soundness."""
    with clusters.running_cluster(clusters.with_mode(mode, FILLED), IMPATIENT) as running:
        uuids: list[str] = []
        caller = ThreadPoolExecutor(1).submit(boot_all, running, requests, uuids)
        killer = Killer(running, seed)
        until = time.monotonic() + least
        for name in itertools.cycle(order):
            if len(killer.met) >= len(order) and time.monotonic() > until:
                break
            wait([caller], killer.chance.uniform(0.1, 1.5))
            killer.kill(name)
        caller.result(RECOVERY_SECONDS)
        killer.revive()
        exercise.wait_for_nodes(running.session, FILLED.nodes, RECOVERY_SECONDS, lambda node_count: None)
        instances = truth.assert_consistent(running, uuids, RECOVERY_SECONDS)
        assert len(instances) == len(requests)
        assert any(instance.status == "ACTIVE" for instance in instances)
        return killer.met


@pytest.mark.timeout(600)
def test_killing_every_process_once():
    order = ["scheduler worker", "conductor", "compute", "store", "scheduler", "bus"]
    assert set(storm(Mode.EMBEDDED, requests()[:24], seed=1, least=0, order=order)) == set(order)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_random_kills(mode, seed):
    order = ["scheduler worker"] * 3 + ["scheduler", "conductor", "conductor", "compute", "compute", "store", "bus"]
    random.Random(seed).shuffle(order)
    storm(mode, requests(), seed, least=60, order=order)
