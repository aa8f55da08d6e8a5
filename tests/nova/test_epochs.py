# SPDX-License-Identifier: Apache-2.0
"""Recovery from a loss of what clients of gantt-placement stored, as docs/placement.md describes it."""

import shutil

from devstack.nova.client import wait_until
from tests.nova.actions import aggregates_of, boot, kill_compute, restart_compute, wait_deleted
from tests.nova.conftest import require_equal
from tests.nova.test_commands import DELETED_ORPHANS, HEALED, NO_ORPHANS, NOTHING_TO_HEAL
from tests.support.nova.checked_cloud import CheckedCloud


def test_commands_of_nova_recover_from_a_restored_backup(cloud: CheckedCloud) -> None:
    old, early = boot(cloud), boot(cloud)
    data = cloud.store.folder / "data"
    backup = data.with_name("backup")
    cloud.store.stop()
    shutil.copytree(data, backup)
    cloud.store.start()
    _wait_for_placement(cloud)
    late = boot(cloud)
    cloud.nova.call("DELETE", f"/servers/{old}")
    wait_deleted(cloud.nova, [old])

    cloud.store.kill()
    shutil.rmtree(data)
    backup.rename(data)
    cloud.store.start()
    _wait_for_placement(cloud)
    assert cloud.placement.allocations(late) == {}
    cloud.command("nova-manage", "placement", "heal_allocations", statuses=(HEALED,))
    # What the deleted server holds again is found by the audit, or was before that by its compute, once a minute.
    cloud.command("nova-manage", "placement", "audit", "--delete", statuses=(DELETED_ORPHANS, NO_ORPHANS))
    assert cloud.placement.allocations(old) == {}
    require_equal(cloud)
    assert cloud.placement.allocations(early) and cloud.placement.allocations(late)
    boot(cloud, "large")


def test_computes_restore_the_providers_of_an_emptied_store(cloud: CheckedCloud, aggregate: str) -> None:
    servers = [boot(cloud) for _ in range(2)]
    cloud.store.kill()
    shutil.rmtree(cloud.store.folder / "data")
    cloud.store.start()
    _wait_for_placement(cloud)
    for host in cloud.size.hosts:
        kill_compute(cloud, host)
        restart_compute(cloud, host)
    count = cloud.size.computes
    wait_until(lambda: cloud.placement.count_computes() == count, "the providers of all computes")
    cloud.command("nova-manage", "placement", "heal_allocations", statuses=(HEALED,))
    cloud.command("nova-manage", "placement", "heal_allocations", statuses=(NOTHING_TO_HEAL,))
    cloud.command("nova-manage", "placement", "sync_aggregates")
    assert aggregates_of(cloud, "host1") == [aggregate]
    require_equal(cloud)
    assert all(cloud.placement.allocations(server) for server in servers)
    boot(cloud, "large")


def _wait_for_placement(cloud: CheckedCloud) -> None:
    """Wait until gantt-placement has noticed that its store is another one."""
    wait_until(
        lambda: cloud.placement.call("GET", "/healthz", **{"OpenStack-API-Version": ""}) is not None, "the store"
    )
