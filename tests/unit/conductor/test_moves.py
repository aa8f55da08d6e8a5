# SPDX-License-Identifier: Apache-2.0
"""Instances that are migrated, resized, confirmed and reverted: statuses, claims, quota, and failures on the way."""

import pytest

from tests.unit.conductor.saga.simulated_cluster import SimulatedCluster, uuid_list

UUIDS = uuid_list(2)
NODES = {"h1/n": 4, "h2/n": 4, "h3/n": 4}


def make_cluster() -> SimulatedCluster:
    """Return a cluster with two ACTIVE instances, on h1 and h2."""
    created = SimulatedCluster(NODES)
    created.conductor()
    created.build(UUIDS)
    created.settle()
    assert [created.record(uuid).host for uuid in UUIDS] == ["h1/n", "h2/n"]
    return created


@pytest.fixture
def cluster() -> SimulatedCluster:
    return make_cluster()


@pytest.mark.parametrize("is_duplicated", [False, True])
def test_migrated_instances_are_on_other_hosts_and_confirmed(is_duplicated: bool) -> None:
    cluster = make_cluster()
    cluster.hosts.duplicate = is_duplicated
    cluster.migrate(UUIDS)
    assert cluster.statuses(UUIDS) == ["RESIZE"] * 2
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["VERIFY_RESIZE"] * 2
    assert [cluster.migration(uuid).source_host for uuid in UUIDS] == ["h1/n", "h2/n"]
    for uuid in UUIDS:
        assert (
            cluster.record(uuid).host == cluster.migration(uuid).destination_host != cluster.migration(uuid).source_host
        )
    cluster.check(UUIDS)
    cluster.confirm(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.migration(uuid).status for uuid in UUIDS] == ["confirmed"] * 2
    cluster.check(UUIDS)


@pytest.mark.parametrize("is_duplicated", [False, True])
def test_reverted_instances_run_on_their_sources_again(is_duplicated: bool) -> None:
    cluster = make_cluster()
    cluster.hosts.duplicate = is_duplicated
    cluster.resize(UUIDS)
    cluster.settle()
    cluster.check(UUIDS)
    cluster.revert(UUIDS)
    assert cluster.statuses(UUIDS) == ["REVERT_RESIZE"] * 2
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.record(uuid).host for uuid in UUIDS] == ["h1/n", "h2/n"]
    assert [cluster.migration(uuid).status for uuid in UUIDS] == ["reverted"] * 2
    cluster.check(UUIDS)
