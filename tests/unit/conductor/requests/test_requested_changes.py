# SPDX-License-Identifier: Apache-2.0
"""Requested changes of records that others change at the same time."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from conductor.requests.power import stop
from conductor.requests.requested_changes import MAX_WRITE_ATTEMPTS, apply
from conductor.store.interface import ProjectLimits
from conductor.store.records import InstanceRecord, WriteResult
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.simulated_cluster import THREE, SimulatedCluster, uuid_list

UUIDS = uuid_list(2)


class ContestedStore:
    """Store of a cluster in which another writer changes ``uuid`` before each of the next ``count`` writes."""

    def __init__(self, cluster: SimulatedCluster, uuid: str, count: int) -> None:
        self._store = cluster.store
        self._uuid = uuid
        self._count = count
        self.writes: list[list[str]] = []
        self.get = self._store.get
        self.requests = self._store.requests

    def write_without_lease(
        self, instances: Sequence[InstanceRecord], *, wake: bool, limits: ProjectLimits
    ) -> WriteResult:
        self.writes.append([instance.uuid for instance in instances])
        if len(self.writes) <= self._count:
            record = self._store.get([self._uuid])[self._uuid]
            self._store.write_without_lease([replace(record, tries=record.tries + 1)], wake=False)
        return self._store.write_without_lease(instances, wake=wake, limits=limits)


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build(UUIDS)
    created.settle()
    return created


def test_only_the_record_that_another_changed_is_written_again(cluster: SimulatedCluster) -> None:
    store = ContestedStore(cluster, UUIDS[1], 2)
    apply(make_conductor(store), UUIDS, stop, "stop_instances")
    assert store.writes == [UUIDS, UUIDS[1:], UUIDS[1:]]
    assert {record.status for record in cluster.store.get(UUIDS).values()} == {InstanceStatus.STOPPING}


def test_call_fails_when_a_record_changes_all_the_time(cluster: SimulatedCluster) -> None:
    store = ContestedStore(cluster, UUIDS[1], MAX_WRITE_ATTEMPTS)
    with pytest.raises(errors.Conflict, match=UUIDS[1]):
        apply(make_conductor(store), UUIDS, stop, "stop_instances")
