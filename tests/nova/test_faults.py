# SPDX-License-Identifier: Apache-2.0
"""Services of gantt that are killed in the middle of a burst: no server is built twice, and nothing stays leaked."""

import contextlib
import time
import uuid
from collections.abc import Iterator

import pytest

from devstack.nova.client import wait_until
from devstack.servers.errors import ServerNotReady
from tests.nova.actions import boot
from tests.nova.bursts import (
    Burst,
    Fault,
    boot_during,
    end_leaks,
    kill_group,
    kill_worker,
    recorded_in_flight,
    request_during,
    require_built_once,
    servers_of,
    start,
)
from tests.nova.conftest import SIZE
from tests.support.clusters.clusters import workers
from tests.support.nova.checked_cloud import CheckedCloud
from tests.support.nova.nova_clouds import NovaClient, spec

pytestmark = pytest.mark.skipif(SIZE.scheduler != "gantt", reason="GANTT_NOVA_SCHEDULER is not gantt")

DOWN_SECONDS = 3.0
IN_FLIGHT_SECONDS = 2.0
AUDIT = ("audit", "--nova", "-f", "value", "-c", "instance")
BUS_SECONDS = 150.0
DROPPED = 'gantt_scheduler_dropped_calls_total{method="select_destinations"}'


def kill_scheduler_worker(cloud: CheckedCloud) -> set[str]:
    with calls_in_flight(cloud) as in_flight:
        kill_worker(cloud, "gantt-scheduler")
    return in_flight


def kill_schedulers(cloud: CheckedCloud) -> set[str]:
    with calls_in_flight(cloud) as in_flight:
        kill_group(cloud, "gantt-scheduler")
    start(cloud, "gantt-scheduler")
    return in_flight


def kill_placement_process(cloud: CheckedCloud) -> set[str]:
    with calls_in_flight(cloud) as in_flight:
        kill_worker(cloud, "gantt-placement")
    return in_flight


def restart_bridge(cloud: CheckedCloud) -> set[str]:
    with recorded_in_flight(cloud) as in_flight:
        kill_group(cloud, "gantt-nova-bridge")
    start(cloud, "gantt-nova-bridge")
    return in_flight


def restart_store(cloud: CheckedCloud) -> set[str]:
    with recorded_in_flight(cloud) as in_flight:
        cloud.store.kill()
    time.sleep(DOWN_SECONDS)
    cloud.store.start()
    return in_flight


def restart_message_bus(cloud: CheckedCloud) -> set[str]:
    # A call that is sent while the bus is away is delivered after it, and its answer may be lost: it is in flight.
    with recorded_in_flight(cloud) as in_flight:
        with calls_in_flight(cloud):
            cloud.rabbit.kill()
        cloud.rabbit.start()
    return in_flight


@contextlib.contextmanager
def calls_in_flight(cloud: CheckedCloud) -> Iterator[set[str]]:
    """Inside, calls of the scheduler and of Placement have sent their scripts, which run at the end."""
    cloud.store.pause()
    try:
        time.sleep(IN_FLIGHT_SECONDS)
        with recorded_in_flight(cloud) as in_flight:
            yield in_flight
    finally:
        cloud.store.resume()


@pytest.fixture
def whole_cloud(cloud: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud, in which all services run again at the end."""
    yield cloud
    wait_until(lambda: len(workers(cloud.process("gantt-scheduler"))) > SIZE.schedulers, "the schedulers")
    wait_until(lambda: len(cloud.nova.hosts_up()) == cloud.size.computes, "all computes to be up")


FAULTS = [
    kill_scheduler_worker,
    kill_schedulers,
    kill_placement_process,
    restart_bridge,
    restart_store,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_servers_are_built_once_and_nothing_stays_leaked(whole_cloud: CheckedCloud, fault: Fault) -> None:
    burst = boot_during(whole_cloud, fault)
    require_built_once(whole_cloud, burst.servers)
    end_leaks(whole_cloud, burst)


def test_restart_of_the_message_bus_builds_nothing_twice_and_leaves_no_leak(whole_cloud: CheckedCloud) -> None:
    cloud = whole_cloud
    in_flight = request_during(cloud, restart_message_bus, boots=10)
    # The queues of this Nova are not durable: what they had is lost, and a server whose request was among it stays
    # as it is. The others end within the time-outs of their calls.
    with contextlib.suppress(ServerNotReady):
        wait_until(lambda: all(server["status"] != "BUILD" for server in servers_of(cloud)), "the builds", BUS_SECONDS)
    servers = servers_of(cloud)
    require_built_once(cloud, [server for server in servers if server["status"] != "BUILD"])
    end_leaks(cloud, Burst(servers, in_flight))
    wait_until(lambda: len(cloud.nova.hosts_up()) == cloud.size.computes, "all computes to be up")
    boot(cloud)


def test_calls_of_conductors_that_gave_up_claim_nothing(whole_cloud: CheckedCloud) -> None:
    cloud = whole_cloud
    kill_group(cloud, "gantt-scheduler")
    uuids = [cloud.nova.boot(f"late{number}", "small") for number in range(3)]
    cloud.nova.wait_for(uuids, "ERROR")
    start(cloud, "gantt-scheduler")
    boot(cloud)
    assert not any(cloud.placement.allocations(uuid) for uuid in uuids)
    assert cloud.metric(DROPPED) == len(uuids)


def test_claim_whose_answer_was_lost_is_found_and_ended(cloud: CheckedCloud) -> None:
    server = boot(cloud)
    consumer = str(uuid.uuid4())
    client = NovaClient(cloud.parts.urls.bus)
    client.select(spec(), [consumer])
    client.transport.cleanup()
    assert cloud.placement.allocations(consumer)
    wait_until(lambda: cloud.gantt(*AUDIT, statuses=(0, 1)).split() == [consumer], "the claim to be a leak")
    cloud.gantt("audit", "--nova", "--fix")
    assert not cloud.placement.allocations(consumer)
    assert cloud.placement.allocations(server)
    cloud.gantt("audit", "--nova")
