# SPDX-License-Identifier: Apache-2.0
"""A whole cluster with liveness by a service group: dead hosts are no candidates, an outage marks no host dead."""

import time
import uuid

import pytest

from devstack.cluster_size import ClusterSize
from devstack.servers.ports import free_port
from devstack.servers.redis import RedisServer
from rpcapi import errors, objects
from rpcapi.resources.transient import JUST_DOWN
from tests.support.clusters import clusters
from tests.support.run_folders import claim_folder, release_folder

TIMEOUT = 6.0
DEADLINE = 60.0


def until(what, condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def alive(running):
    states = running.session.list_all(running.session.scheduler.list_host_state, "states", "service")
    return {state.name for state in states if state.document["alive"]}


def refusal(running):
    """Select a host; return the reasons of the refusal, empty when a host was selected."""
    spec = objects.RequestSpec.of(resources={"VCPU": 1})
    try:
        running.admin.new_request()
        running.admin.call(running.admin.scheduler.select_destinations, spec, [str(uuid.uuid4())])
    except errors.NoValidHost as error:
        return error.kwargs["reasons"]
    return {}


@pytest.fixture(scope="module")
def group_server():
    server = RedisServer(claim_folder(), port=free_port())
    server.start()
    yield server
    server.kill()
    release_folder(server.folder)


def test_dead_and_disabled_hosts_are_no_candidates(group_server):
    group = {"service_group": {"driver": "tooz", "backend_url": group_server.tcp_url(), "timeout": TIMEOUT}}
    long_down_time = {"store": {"service_down_time": 3600}}  # so that missed reports have no effect
    overrides = {"scheduler": group | long_down_time, "conductor": group, "compute": group}
    with clusters.running_cluster(ClusterSize(computes=2, nodes_per_host=1), overrides) as running:
        until("the services joined", lambda: {"compute0", "compute1"} <= alive(running) and len(alive(running)) == 4)
        until("there is a host", lambda: not refusal(running))

        group_server.kill()
        time_away = time.monotonic() + 2 * TIMEOUT
        while time.monotonic() < time_away:
            assert {"compute0", "compute1"} <= alive(running), "an outage of the group must not mark hosts dead"
            time.sleep(0.5)
        assert not refusal(running)
        group_server.start()

        running.cluster.daemons["compute"].kill_group()
        until("the hosts are down", lambda: not {"compute0", "compute1"} & alive(running))
        until("they are no candidates", lambda: refusal(running).get(JUST_DOWN) == 2)

        clusters.restart(running, "compute")
        until("the hosts are back", lambda: not refusal(running))
        for name in ("compute0", "compute1"):
            read = running.session.call(running.session.scheduler.get_host_state, "service", name)
            state = objects.HostState.of(
                namespace="service", name=name, version=read.version, document={"enabled": False}
            )
            running.session.call(running.session.scheduler.update_host_state, state, writer="gantt")
        until("disabled hosts are no candidates", lambda: refusal(running).get("service disabled") == 2)
