# SPDX-License-Identifier: Apache-2.0
"""A cloud with servers goes from OpenStack's Placement and nova-scheduler to gantt, step by step, and back."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from devstack.nova.client import wait_until
from tests.nova.actions import boot, host_of, wait_deleted
from tests.nova.conftest import SIZE, delete_servers, require_equal, started_cloud
from tests.nova.groups import MakeGroup, one_by_one
from tests.nova.known_hosts import HOSTS, documents
from tests.support.nova import comparison
from tests.support.nova.checked_cloud import CheckedCloud

pytestmark = pytest.mark.skipif(SIZE.scheduler != "gantt", reason="GANTT_NOVA_SCHEDULER is not gantt")

COMPUTES = 3


@pytest.fixture(scope="module")
def running_cloud() -> Iterator[CheckedCloud]:
    """A cloud without gantt."""
    with started_cloud(replace(SIZE, computes=COMPUTES, placement="placement", scheduler="nova")) as cloud:
        yield cloud


@pytest.fixture
def cloud(running_cloud: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud without servers."""
    delete_servers(running_cloud.nova)
    yield running_cloud
    delete_servers(running_cloud.nova)
    require_equal(running_cloud)


def import_placement(cloud: CheckedCloud) -> None:
    """Let gantt serve Placement with all that OpenStack's has."""
    before = comparison.provider_allocations(cloud.placement)
    cloud.stop_role("placement")
    cloud.placement_import()
    cloud.placement_import("--verify")
    cloud.start_role("placement", "gantt")
    assert comparison.provider_allocations(cloud.placement) == before
    require_equal(cloud)


def export_placement(cloud: CheckedCloud) -> None:
    """Let OpenStack's Placement serve again, with all that gantt has."""
    before = comparison.provider_allocations(cloud.placement)
    cloud.stop_role("placement")
    cloud.placement_import("--export")
    cloud.placement_import("--verify")
    cloud.start_role("placement", "placement")
    assert comparison.provider_allocations(cloud.placement) == before
    require_equal(cloud)


def let_decide(cloud: CheckedCloud, scheduler: str) -> None:
    """Replace the scheduler under servers, which hold what they allocations."""
    before = comparison.provider_allocations(cloud.placement)
    cloud.stop_role("scheduler")
    cloud.start_role("scheduler", scheduler)
    if scheduler != "nova":
        wait_until(lambda: cloud.metric("gantt_nova_state_age_seconds"), "gantt-scheduler to know the hosts")
        wait_until(lambda: len(documents(cloud, HOSTS)) == COMPUTES, "the bridge to read the hosts")
    assert comparison.provider_allocations(cloud.placement) == before


def require_work(cloud: CheckedCloud) -> None:
    """Boot, resize and delete servers, and require equal records after each step."""
    stays, goes = boot(cloud), boot(cloud)
    require_equal(cloud)
    cloud.nova.act(stays, "resize", {"flavorRef": "large"})
    cloud.nova.wait_for([stays], "VERIFY_RESIZE")
    require_equal(cloud)
    cloud.nova.act(stays, "confirmResize")
    cloud.nova.wait_for([stays], "ACTIVE")
    cloud.nova.call("DELETE", f"/servers/{goes}")
    wait_deleted(cloud.nova, [goes])
    require_equal(cloud)


def compared(cloud: CheckedCloud, server: str) -> bool:
    """Return whether the shadow has compared its decision about a server with nova-scheduler's."""
    lines = cloud.gantt("decision", "export").splitlines()
    records = [json.loads(line) for line in lines if line.startswith("{")]
    return any(
        instance["consumer"] == server for record in records for instance in record.get("nova", {}).get("instances", ())
    )


@pytest.mark.timeout(1800)
def test_servers_live_through_the_switch_to_gantt_and_back(cloud: CheckedCloud, make_group: MakeGroup) -> None:
    repelling, attracting = make_group("anti-affinity"), make_group("affinity")
    first = boot(cloud, hints={"group": attracting})
    boot(cloud, hints={"group": repelling})
    moved = boot(cloud)
    cloud.nova.act(moved, "resize", {"flavorRef": "large"})
    cloud.nova.wait_for([moved], "VERIFY_RESIZE")
    require_equal(cloud)

    import_placement(cloud)
    require_work(cloud)
    let_decide(cloud, "shadow")
    shadowed = boot(cloud)
    wait_until(lambda: compared(cloud, shadowed), "the comparison")
    require_equal(cloud)

    let_decide(cloud, "gantt")
    cloud.nova.act(moved, "confirmResize")
    cloud.nova.wait_for([moved], "ACTIVE")
    require_work(cloud)
    # What the imported members hold is counted.
    assert one_by_one(cloud, repelling, COMPUTES) == [*["ACTIVE"] * (COMPUTES - 1), "ERROR"]
    follower = boot(cloud, hints={"group": attracting})
    assert host_of(cloud.nova, follower) == host_of(cloud.nova, first)
    require_equal(cloud)

    let_decide(cloud, "nova")
    boot(cloud)
    require_equal(cloud)
    export_placement(cloud)
    require_work(cloud)
