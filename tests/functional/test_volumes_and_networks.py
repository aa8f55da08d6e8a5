# SPDX-License-Identifier: Apache-2.0
"""A whole cluster with a storage and a network service: servers near their volumes and on their segments."""

import uuid

import pytest

from devstack import exercise
from devstack.cluster import ClusterSize
from devstack.publishers import lie
from rpcapi import objects
from rpcapi.model.names import host_of
from rpcapi.shell import waiting
from tests.functional import clusters, truth

SMALL = {"VCPU": 1, "MEMORY_MB": 512}
SHAPE = ClusterSize(computes=4, nodes_per_host=1, schedulers=1, pools=2, networks=2, report_interval=1.0)
RACKS = 2


class Unseen:
    def update(self, number):
        """Show nothing."""


@pytest.fixture(scope="module")
def running():
    with clusters.running(SHAPE) as cluster:
        truth.until("pools and networks are told of", lambda: _told(cluster.session))
        yield cluster


def _told(session):
    spaces = {"volume": 2, "network": 4, "aggregate": 4}
    found = {space: len(list(session.list_all(session.scheduler.list_host_state, "states", space))) for space in spaces}
    services = session.list_all(session.scheduler.list_host_state, "states", "service")
    opened = {state.name for state in services if state.document.get("audited")}
    return found == spaces and {"volume0", "volume1", "network0", "network1"} <= opened


def place(running, count=1, **asked):
    """Boot and return the servers with their claims."""
    session = running.session
    session.new_request()
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    spec = objects.RequestSpec.of(**{"resources": SMALL, **asked})
    session.call(session.conductor.build_instances, spec, uuids)
    known = waiting.wait_for_status(session, uuids, exercise.FINAL_STATUSES, 60, Unseen())
    claims = {each["consumer"]: each for each in session.list_all(session.claims.list_claims, "claims")}
    return [(known[each], claims.get(each)) for each in uuids]


def test_a_new_volume_is_claimed_with_its_server(running):
    group = {"resources": {"DISK_GB": 10}, "required": ["MISC_SHARES_VIA_AGGREGATE"], "in_tree": "volume1/node0"}
    for server, claim in place(running, 3, groups={"_vol0": group}, volumes=[{"size_gb": 10, "group": "_vol0"}]):
        assert server.status == "ACTIVE", server.reason
        assert claim["state"] == "confirmed"
        assert claim["allocations"] == {claim["host"]: SMALL, "volume1/node0": {"DISK_GB": 10}}
    state = running.session.call(running.session.scheduler.get_host_state, "compute", "volume1/node0")
    assert state.document["used"]["DISK_GB"] == 30
    assert running.session.call(running.session.claims.verify).clean


def test_all_or_nothing_where_one_service_has_no_room(running):
    group = {"resources": {"DISK_GB": 4001}, "required": ["MISC_SHARES_VIA_AGGREGATE"]}
    ((server, claim),) = place(running, groups={"_vol0": group}, volumes=[{"size_gb": 4001, "group": "_vol0"}])
    assert (server.status, claim) == ("ERROR", None)


def test_a_server_is_near_the_pool_of_its_volume(running):
    for pool in ("volume0/node0", "volume1/node0"):
        for server, _ in place(running, 2, volumes=[{"pool": pool}]):
            assert lie.rack_of(server.host, RACKS) == lie.rack_of(pool, RACKS)


def test_nobody_reaches_a_pool_that_is_not_there(running):
    ((server, _),) = place(running, volumes=[{"pool": "volume9/node0"}])
    assert server.status == "ERROR"
    assert "no way to volume pool volume9/node0" in server.reason


@pytest.mark.parametrize("port", [{"physnet": "physnet0"}, {"segment": "physnet1-rack0"}])
def test_a_server_is_where_its_port_can_be(running, port):
    documents = {
        state.name: state.document
        for state in running.session.list_all(running.session.scheduler.list_host_state, "states", "network")
    }
    for server, _ in place(running, 3, ports=[port]):
        there = documents[host_of(server.host)]
        assert set(port.values()) <= {*there["physnets"], *there["segments"]}
    ((server, _),) = place(running, ports=[{"physnet": "nowhere"}])
    assert (server.status, "not on physical network nowhere" in server.reason) == ("ERROR", True)


def test_a_port_takes_its_bandwidth_of_the_network_that_its_server_is_on(running):
    amounts = {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}
    group = {"resources": amounts, "required": ["CUSTOM_PHYSNET_PHYSNET1", "CUSTOM_VNIC_TYPE_NORMAL"]}
    for server, claim in place(running, 2, groups={"_port0": group}, ports=[{"group": "_port0"}]):
        assert server.status == "ACTIVE", server.reason
        assert "physnet1" in lie.network_document(server.host, 2, RACKS)["physnets"]
        assert claim["allocations"] == {claim["host"]: SMALL, "network1/node0": amounts}


@pytest.mark.parametrize(
    ("service", "resources"), [("volume", {"DISK_GB": 100}), ("network", {"NET_BW_EGR_KILOBIT_PER_SEC": 1000})]
)
def test_a_volume_or_a_port_is_placed_alone(running, service, resources):
    for placed, claim in place(running, 2, service=service, resources=resources):
        assert placed.status == "ACTIVE", placed.reason
        assert host_of(placed.host).rstrip("01") == service
        assert claim["allocations"] == {placed.host: resources}
