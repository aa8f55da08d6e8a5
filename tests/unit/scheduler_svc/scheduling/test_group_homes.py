# SPDX-License-Identifier: Apache-2.0
"""The home of a server group: which partition the members keep, and what must answer to find it."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.replication.partitions import OpenPartition
from scheduler_svc.scheduling.group_homes import GroupHomes
from scheduler_svc.scheduling.pins import rank_by_key
from scheduler_svc.scheduling.shadow import ShadowStore
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node

GROUP = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
MEMBERS = {"node": 2}


@pytest.fixture
def deployment():
    return PartitionedDeployment(**{name: {f"{name}1": node()} for name in "abc"})


@pytest.fixture
def homes(deployment):
    return GroupHomes(deployment.worker.partitions)


def recorder(deployment):
    return rank_by_key(deployment.worker.partitions, "group:g")[0].name


def test_first_proposal_stays_the_home(homes):
    first = homes.agree(GROUP, "b")
    assert first.partition == "b"
    assert homes.agree(GROUP, "c") == first


def test_partition_with_members_is_the_home_whatever_is_recorded(deployment, homes):
    assert homes.agree(GROUP, "a").partition == "a"
    deployment.stores["c"].state.groups["g"] = MEMBERS
    assert homes.agree(GROUP, "a").partition == "c"


def test_home_with_members_is_not_left(deployment, homes):
    home = homes.agree(GROUP, "a")
    deployment.stores["a"].state.groups["g"] = MEMBERS
    assert not homes.leave(GROUP, home)


def test_second_worker_to_move_gets_the_choice_of_the_first(homes):
    home = homes.agree(GROUP, "a")
    assert homes.leave(GROUP, home)
    moved = homes.move(GROUP, home, "b")
    assert moved.partition == "b"
    assert homes.move(GROUP, home, "c") == moved


def test_home_in_a_partition_that_is_no_longer_configured_is_replaced(deployment, homes):
    deployment.stores[recorder(deployment)].group_home("g", "gone", 60_000)
    assert homes.agree(GROUP, "b").partition == "b"


def test_group_waits_for_its_recorder(deployment, homes):
    home = recorder(deployment)
    deployment.take_away(home)
    with pytest.raises(errors.StoreUnavailable, match=f"{home}.*which records the partition of server group g"):
        homes.agree(GROUP, "a")


def test_group_without_members_waits_for_every_partition(deployment, homes):
    home = homes.agree(GROUP, recorder(deployment)).partition
    other = next(name for name in deployment.stores if name != home)
    deployment.take_away(other)
    with pytest.raises(errors.StoreUnavailable, match=f"{other}.*which may have members of server group g"):
        homes.agree(GROUP, home)
    deployment.stores[home].state.groups["g"] = MEMBERS
    assert homes.agree(GROUP, home).partition == home


def test_dry_run_finds_the_members_and_records_nothing(deployment):
    proposed = GroupHomes(
        OpenPartition(ShadowStore(partition.store), partition.replica) for partition in deployment.worker.partitions
    )
    assert proposed.agree(GROUP, "a").partition == "a"
    deployment.stores["c"].state.groups["g"] = MEMBERS
    assert proposed.agree(GROUP, "a").partition == "c"
    assert not any(store.state.pins for store in deployment.stores.values())
