# SPDX-License-Identifier: Apache-2.0
"""Placing through a whole embedded cluster: the conductor builds and deletes, agents confirm, over the real bus."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from devstack import confs, exercise
from devstack.cluster import Cluster, Shape
from devstack.lab.replay.arrivals import Wanted
from devstack.lab.replay.placer import Given, Placed, Refused
from devstack.lab.replay.policies import Policy
from rpcapi import objects
from rpcapi.shell import waiting
from rpcapi.shell.faults import CommandFailed
from rpcapi.shell.session import Session
from scheduler_svc.store.interface import Store
from scheduler_svc.store.redis import RedisStore

NODES_PER_HOST = 25
READY_SECONDS = 120.0
SETTLE_SECONDS = 300.0  # in which all that arrives at one moment must be built
CHUNK = 100
INSTANT = {"simulator": {"boot_delay": 0, "boot_delay_spread": 0}}


class _Unseen:
    """A bar that nobody watches: what waits here is only part of a step."""

    def update(self, number: int) -> None:
        """Show nothing."""


class WholeCluster:
    """Builds and deletes instances as a user does, all those of a moment at once."""

    def __init__(self, session: Session, store: Store) -> None:
        self.store = store
        self.seconds = 0.0
        self._session = session

    def place(self, wanted: Sequence[Wanted], refused: Refused) -> list[Given]:
        """Ask for all, then wait for all: they are decided while others are."""
        began = time.perf_counter()
        for one in wanted:
            self._session.new_request()
            uuids = [member.consumer for member in one.members]
            spec = objects.RequestSpec.of(resources=dict(one.resources))
            self._session.ask(self._session.conductor.build_instances, spec, uuids)
        known = self._wait([member.consumer for one in wanted for member in one.members], exercise.SETTLED)
        self.seconds += time.perf_counter() - began
        given: list[Given] = []
        for one in wanted:
            its = [known[member.consumer] for member in one.members]
            active = [instance.host for instance in its if instance.status == "ACTIVE"]
            # All or none are placed; where only some run, some failed afterwards, which no simulated host does here.
            if len(active) not in (0, len(its)):
                raise CommandFailed(f"Only {len(active)} of {len(its)} instances of one request run: {its[0].reason}")
            if not active:
                refused(one)
            given.append(active or None)
        return given

    def leave(self, leaving: Sequence[Placed]) -> None:
        """Delete the instances and wait until they are gone, their claims with them."""
        uuids = [placed.member.consumer for placed in leaving]
        for start in range(0, len(uuids), CHUNK):
            self._session.new_request()
            self._session.ask(self._session.conductor.delete_instances, uuids[start : start + CHUNK])
        if uuids:
            self._wait(uuids, ("DELETED",), gone=True)

    def _wait(self, uuids: Sequence[str], ends: Sequence[str], *, gone: bool = False) -> dict[str, objects.Instance]:
        known = waiting.wait_for(self._session, uuids, ends, SETTLE_SECONDS, _Unseen())
        late = [uuid for uuid in uuids if (known[uuid].status not in ends if uuid in known else not gone)]
        if late:
            raise CommandFailed(f"{len(late)} instances are not {' or '.join(ends)} after {SETTLE_SECONDS:g} s")
        return known


def shape(nodes: int) -> Shape:
    """Return a cluster of about so many nodes: no fewer."""
    computes = -(-nodes // NODES_PER_HOST)
    return Shape(computes=computes, nodes_per_host=-(-nodes // computes), schedulers=2)


@contextlib.contextmanager
def in_cluster(nodes: int, policy: Policy) -> Iterator[WholeCluster]:
    """Start a cluster with the policy's driver, and leave nothing of it behind."""
    folder = Path(tempfile.mkdtemp(prefix="gantt-lab-"))
    wanted = shape(nodes)
    cluster = Cluster(folder / "run", wanted, {"scheduler": policy.configured, "compute": INSTANT})
    session = Session([str(cluster.client_conf)])
    try:
        cluster.start()
        exercise.wait_for_nodes(session, wanted.nodes, READY_SECONDS, lambda known: None)
        store = RedisStore(cluster.store.url("scheduler"), confs.PARTITION)
        with contextlib.closing(store):
            store.check_identity()
            yield WholeCluster(session, store)
    finally:
        session.close()
        _end(cluster)
        shutil.rmtree(folder, ignore_errors=True)


def _end(cluster: Cluster) -> None:
    """End the daemons with all their workers at once: there is nothing in them that anybody needs."""
    for daemon in cluster.daemons.values():
        if daemon.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(daemon.pid, signal.SIGKILL)
        daemon.kill()
    cluster.destroy()
