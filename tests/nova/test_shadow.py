# SPDX-License-Identifier: Apache-2.0
"""gantt-scheduler in shadow mode beside nova-scheduler: Nova notices nothing, nothing is claimed, differences show."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from devstack.confs import PARTITION
from devstack.deploy.users import redis_users
from devstack.nova import roles
from devstack.nova.client import wait_until
from scheduler_svc.core.namespaces.compute_node import NAMESPACE
from scheduler_svc.store.redis import RedisStore
from tests.nova.actions import SMALL, boot, host_of, provider_of
from tests.nova.conftest import SIZE
from tests.support.nova.checked_cloud import CheckedCloud

pytestmark = pytest.mark.skipif(SIZE.scheduler != "shadow", reason="GANTT_NOVA_SCHEDULER is not shadow")

STOP_SECONDS = 45
AGREED = {"same host", "another host with an equal score"}


@contextlib.contextmanager
def store_of(cloud: CheckedCloud) -> Iterator[RedisStore]:
    """Return the store as the bridge writes it."""
    url = cloud.store.url(redis_users.NOVA_BRIDGE.name)
    with contextlib.closing(RedisStore(url, PARTITION, namespaces=[NAMESPACE])) as store:
        yield store


def start_again(cloud: CheckedCloud, name: str) -> None:
    """Start a daemon of the role of the scheduler that was stopped."""
    cloud.spawn(next(daemon for daemon in roles.served_by(cloud.parts, "scheduler") if daemon.name == name))


def comparisons(cloud: CheckedCloud) -> dict[str, dict[str, Any]]:
    """Return the comparison of each instance that the command exports."""
    lines = cloud.gantt("decision", "export").splitlines()
    records = [json.loads(line) for line in lines if line.startswith("{")]
    return {
        instance["consumer"]: instance for record in records for instance in record.get("nova", {}).get("instances", ())
    }


def compared(cloud: CheckedCloud, *uuids: str) -> list[dict[str, Any]]:
    """Wait for the comparisons of these instances."""
    wait_until(lambda: set(uuids) <= comparisons(cloud).keys(), "comparisons")
    rows = comparisons(cloud)
    return [rows[uuid] for uuid in uuids]


def test_boots_are_novas_and_are_compared(cloud: CheckedCloud) -> None:
    uuids = [boot(cloud) for _ in range(3)]
    rows = compared(cloud, *uuids)
    for uuid, row in zip(uuids, rows, strict=True):
        host = host_of(cloud.nova, uuid)
        assert row["nova_host"] == host
        assert row["outcome"] in AGREED, row
        # Nova's scheduler claimed this, and nobody anything else.
        assert cloud.placement.allocations(uuid) == {provider_of(cloud, host): SMALL}


def test_parallel_boots_fill_the_cloud_beside_the_shadow(cloud: CheckedCloud) -> None:
    uuids = [cloud.nova.boot(f"server{number}", "quarter") for number in range(2 * cloud.size.computes)]
    cloud.nova.wait_for(uuids, "ACTIVE")
    claims = {uuid: cloud.placement.allocations(uuid) for uuid in uuids}
    assert {len(allocations) for allocations in claims.values()} == {1}


def test_refusal_of_both_is_recorded(cloud: CheckedCloud) -> None:
    cloud.nova.create_flavor("huge", 10_000, 512, 4)
    uuid = cloud.nova.boot("huge", "huge")
    cloud.nova.wait_for([uuid], "ERROR")
    (row,) = compared(cloud, uuid)
    assert (row["outcome"], row["nova_host"], row["gantt_host"]) == ("refused by both", "", "")
    assert "not enough VCPU" in row["why"]


def test_hosts_that_are_unfit_in_gantts_data_only_are_reported(cloud: CheckedCloud) -> None:
    """Sabotage: the bridge is stopped, and its documents say that all hosts are down."""
    cloud.process("gantt-nova-bridge").stop(STOP_SECONDS)
    try:
        with store_of(cloud) as store:
            set_up(store, is_up=False)
            uuid = boot(cloud)
            (row,) = compared(cloud, uuid)
            set_up(store, is_up=True)
    finally:
        start_again(cloud, "gantt-nova-bridge")
    host = host_of(cloud.nova, uuid)
    assert (row["outcome"], row["nova_host"], row["gantt_host"]) == ("refused by gantt only", host, "")
    assert row["why"] == "compute service down"
    table = json.loads(cloud.gantt("decision", "compare", "-f", "json"))
    (line,) = [entry for entry in table if entry["outcome"] == "refused by gantt only"]
    assert (line["instances"], line["reasons"]) == (1, {"compute service down": 1})
    log = cloud.layout.log_file("gantt-scheduler").read_text()
    assert f"{uuid}: refused by gantt only: Nova chose {host}; gantt refused" in log


def set_up(store: RedisStore, *, is_up: bool) -> None:
    """Change whether computes are up, in gantt's data only."""
    for name, version, document in store.list_state(NAMESPACE)[0]:
        store.put_state(NAMESPACE, name, version, {**document, "up": is_up})


def test_moves_are_compared_by_the_host_that_they_gain(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    source = host_of(cloud.nova, uuid)
    cloud.nova.act(uuid, "migrate")
    cloud.nova.wait_for([uuid], "VERIFY_RESIZE")
    wait_until(lambda: comparisons(cloud)[uuid]["nova_host"] not in ("", source), "the comparison of the move")
    (row,) = compared(cloud, uuid)
    assert row["nova_host"] == host_of(cloud.nova, uuid)
    assert row["outcome"] in AGREED, row
    cloud.nova.act(uuid, "confirmResize")
    cloud.nova.wait_for([uuid], "ACTIVE")


def test_row_of_nova_scheduler_can_be_deleted_after_the_switch_and_comes_back_with_it(cloud: CheckedCloud) -> None:
    def rows() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = cloud.nova.get("/os-services?binary=nova-scheduler")["services"]
        return listed

    (row,) = rows()
    cloud.process("scheduler").stop(STOP_SECONDS)
    cloud.nova.call("DELETE", f"/os-services/{row['id']}")
    assert rows() == []
    # No check of an upgrade reads it.
    cloud.command("nova-status", "upgrade", "check", statuses=(0, 1))
    start_again(cloud, "scheduler")
    wait_until(lambda: [back["state"] for back in rows()] == ["up"], "nova-scheduler's row")
    boot(cloud)
