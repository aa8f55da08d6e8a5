# SPDX-License-Identifier: Apache-2.0
"""Placement through a whole embedded cluster: conductor, scheduler and agents on the real bus."""

import contextlib
import time
from collections.abc import Iterator, Sequence

from tqdm import tqdm

from devstack import confs, exercise
from devstack.cluster_size import ClusterSize
from devstack.lab import partitions
from devstack.lab.boot import request_boot
from devstack.lab.private_cluster import INSTANT_BOOTS, booted
from devstack.lab.replay.arrivals import ReplayRequest
from devstack.lab.replay.policies import ReplayPolicy
from devstack.lab.replay.scenario import AssignedHosts, OnRefusal, PlacedServer
from rpcapi import objects
from rpcapi.admin import waiting
from rpcapi.admin.session import Session
from rpcapi.cli.command import CommandFailed
from scheduler_svc.store.interface import Store

NODES_PER_HOST = 25
SETTLE_SECONDS = 300.0  # limit for building all simultaneous arrivals
CHUNK = 100


class ClusterPlacer:
    """Placer that builds and deletes instances like a user; it builds simultaneous arrivals together."""

    def __init__(self, session: Session, store: Store) -> None:
        self.store = store
        self.seconds = 0.0
        self._session = session

    def place(self, requests: Sequence[ReplayRequest], on_refusal: OnRefusal) -> list[AssignedHosts]:
        """Request all instances before waiting for any, so that they are scheduled concurrently."""
        began = time.perf_counter()
        for request in requests:
            uuids = [member.consumer for member in request.members]
            request_boot(self._session, uuids, resources=dict(request.resources))
        instances = self._wait(
            [member.consumer for request in requests for member in request.members], exercise.FINAL_STATUSES
        )
        self.seconds += time.perf_counter() - began
        assignments: list[AssignedHosts] = []
        for request in requests:
            request_instances = [instances[member.consumer] for member in request.members]
            active = [instance.host for instance in request_instances if instance.status == "ACTIVE"]
            # A request's instances are placed together or not at all; if only some run, a build failed unexpectedly.
            if len(active) not in (0, len(request_instances)):
                raise CommandFailed(
                    f"Only {len(active)} of {len(request_instances)} instances of one request run: "
                    f"{request_instances[0].reason}"
                )
            if not active:
                on_refusal(request)
            assignments.append(active or None)
        return assignments

    def leave(self, servers: Sequence[PlacedServer]) -> None:
        uuids = [server.member.consumer for server in servers]
        for start in range(0, len(uuids), CHUNK):
            self._session.new_request()
            self._session.call(self._session.conductor.delete_instances, uuids[start : start + CHUNK])
        if uuids:
            self._wait(uuids, ("DELETED",), missing_is_final=True)

    def _wait(
        self, uuids: Sequence[str], ends: Sequence[str], *, missing_is_final: bool = False
    ) -> dict[str, objects.Instance]:
        instances = waiting.wait_for_status(self._session, uuids, ends, SETTLE_SECONDS, tqdm(disable=True))
        unsettled = [
            uuid
            for uuid in uuids
            if (instances[uuid].status not in ends if uuid in instances else not missing_is_final)
        ]
        if unsettled:
            raise CommandFailed(f"{len(unsettled)} instances are not {' or '.join(ends)} after {SETTLE_SECONDS:g} s")
        return instances


def cluster_size(nodes: int) -> ClusterSize:
    computes = -(-nodes // NODES_PER_HOST)
    return ClusterSize(computes=computes, nodes_per_host=-(-nodes // computes), schedulers=2)


@contextlib.contextmanager
def in_cluster(nodes: int, policy: ReplayPolicy) -> Iterator[ClusterPlacer]:
    with (
        booted(cluster_size(nodes), {**INSTANT_BOOTS, "scheduler": policy.configured}) as (private_cluster, session),
        partitions.opened(private_cluster.store_url, confs.PARTITION) as store,
    ):
        yield ClusterPlacer(session, store)
