# SPDX-License-Identifier: Apache-2.0
"""nova-manage and nova-status against gantt-placement."""

import uuid

from tests.nova.actions import SMALL, aggregates_of, boot, host_of, provider_of
from tests.nova.conftest import require_equal
from tests.support.nova.checked_cloud import CheckedCloud

HEALED, NOTHING_TO_HEAL = 0, 4
NO_ORPHANS, ORPHANS, DELETED_ORPHANS = 0, 3, 4


def test_heal_allocations_restores_deleted_allocations(cloud: CheckedCloud) -> None:
    servers = [boot(cloud) for _ in range(3)]
    allocations = {server: cloud.placement.allocations(server) for server in servers}
    for server in servers[:2]:
        cloud.placement.call("DELETE", f"/allocations/{server}")
    assert len(cloud.differences()) == 2
    cloud.command("nova-manage", "placement", "heal_allocations", statuses=(HEALED,))
    assert {server: cloud.placement.allocations(server) for server in servers} == allocations
    cloud.command("nova-manage", "placement", "heal_allocations", statuses=(NOTHING_TO_HEAL,))


def test_heal_allocations_completes_the_owner_of_allocations(cloud: CheckedCloud) -> None:
    server = boot(cloud)
    (provider,) = cloud.placement.allocations(server)
    cloud.placement.call("DELETE", f"/allocations/{server}")
    cloud.placement.call(
        "PUT",
        f"/allocations/{server}",
        {"allocations": [{"resource_provider": {"uuid": provider}, "resources": SMALL}]},
        **{"OpenStack-API-Version": "placement 1.7"},
    )
    cloud.command("nova-manage", "placement", "heal_allocations", statuses=(HEALED,))
    record = cloud.placement.get(f"/allocations/{server}")
    assert (record["project_id"], record["user_id"]) == ("demo", "admin")


def test_audit_finds_and_deletes_what_no_server_holds(cloud: CheckedCloud) -> None:
    server, orphan = boot(cloud), str(uuid.uuid4())
    provider = provider_of(cloud, host_of(cloud.nova, server))
    allocation = {"allocations": {provider: {"resources": {"VCPU": 1}}}, "project_id": "lab", "user_id": "ada"}
    allocation |= {"consumer_generation": None, "consumer_type": "INSTANCE"}
    cloud.command("nova-manage", "placement", "audit", statuses=(NO_ORPHANS,))
    cloud.placement.call("PUT", f"/allocations/{orphan}", allocation)
    assert orphan in cloud.command("nova-manage", "placement", "audit", "--verbose", statuses=(ORPHANS,))
    cloud.command("nova-manage", "placement", "audit", "--delete", statuses=(DELETED_ORPHANS,))
    assert cloud.placement.allocations(orphan) == {}
    assert cloud.placement.allocations(server) == {provider: SMALL}


def test_sync_aggregates_restores_the_aggregates_of_providers(cloud: CheckedCloud, aggregate: str) -> None:
    assert aggregates_of(cloud, "host1") == [aggregate]
    path = f"/resource_providers/{provider_of(cloud, 'host1')}/aggregates"
    generation = cloud.placement.get(path)["resource_provider_generation"]
    cloud.placement.call("PUT", path, {"aggregates": [], "resource_provider_generation": generation})
    cloud.command("nova-manage", "placement", "sync_aggregates")
    assert aggregates_of(cloud, "host1") == [aggregate]


def test_upgrade_check_accepts_the_api(cloud: CheckedCloud) -> None:
    report = cloud.command("nova-status", "upgrade", "check", statuses=(0, 1))
    lines = [line.strip("| ") for line in report.splitlines()]
    assert lines[lines.index("Check: Placement API") + 1] == "Result: Success"
    require_equal(cloud)
