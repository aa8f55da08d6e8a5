# SPDX-License-Identifier: Apache-2.0
"""A whole cluster with storage and network services: servers near their volumes and on their segments."""

import uuid

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize
from devstack.publishers import site_topology
from rpcapi import objects
from rpcapi.admin import waiting
from rpcapi.resources.names import host_of
from tests.support.clusters import clusters, truth

SMALL = {"VCPU": 1, "MEMORY_MB": 512}
SHAPE = ClusterSize(computes=4, nodes_per_host=1, schedulers=1, pools=2, networks=2, report_interval=1.0)
RACKS = 2


class SilentProgress:
    def update(self, number):
        """Ignore the progress."""


@pytest.fixture(scope="module")
def running():
    with clusters.running_cluster(SHAPE) as cluster:
        truth.until("pools and networks are reported", lambda: _all_reported(cluster.session))
        yield cluster


def _all_reported(session):
    spaces = {"volume": 2, "network": 4, "aggregate": 4}
    counts = {
        space: len(list(session.list_all(session.scheduler.list_host_state, "states", space))) for space in spaces
    }
    services = session.list_all(session.scheduler.list_host_state, "states", "service")
    opened = {state.name for state in services if state.document.get("audited")}
    return counts == spaces and {"volume0", "volume1", "network0", "network1"} <= opened


def place(running, count=1, **spec_fields):
    """Boot servers and return them with their claims."""
    session = running.session
    session.new_request()
    uuids = [str(uuid.uuid4()) for _ in range(count)]
    spec = objects.RequestSpec.of(**{"resources": SMALL, **spec_fields})
    session.call(session.conductor.build_instances, spec, uuids)
    instances = waiting.wait_for_status(session, uuids, exercise.FINAL_STATUSES, 60, SilentProgress())
    claims = _claims(session)
    return [(instances[item], claims.get(item)) for item in uuids]


def test_new_volume_is_claimed_with_its_server(running):
    group = {"resources": {"DISK_GB": 10}, "required": ["MISC_SHARES_VIA_AGGREGATE"], "in_tree": "volume1/node0"}
    for server, claim in place(running, 3, groups={"_vol0": group}, volumes=[{"size_gb": 10, "group": "_vol0"}]):
        assert server.status == "ACTIVE", server.reason
        assert claim["state"] == "confirmed"
        assert claim["allocations"] == {claim["host"]: SMALL, "volume1/node0": {"DISK_GB": 10}}
    state = running.session.call(running.session.scheduler.get_host_state, "compute", "volume1/node0")
    assert state.document["used"]["DISK_GB"] == 30
    assert running.session.call(running.session.claims.verify).clean


def test_volumes_stay_on_their_pools_while_their_servers_move(running):
    # Given servers with a new volume each, two of them on another pool because the first choice was full then
    session = running.session
    servers = _place_with_volume(running, 4, 10)
    (filler,) = _place_with_volume(running, 1, 3950)
    assert _pool_of(filler[1]) == _pool_of(servers[0][1])
    servers += _place_with_volume(running, 2, 100)
    uuids = [server.uuid for server, _ in servers]
    before = [_pool_of(claim) for _, claim in servers]
    assert len(set(before)) == 2
    _delete(running, [filler[0].uuid])
    # When they are migrated
    migrations = [str(uuid.uuid4()) for _ in uuids]
    session.call(session.conductor.migrate_instances, uuids, migrations)
    truth.wait_for_status(running, uuids, "VERIFY_RESIZE")
    # Then each end of a move holds the volume where it is
    for claims in (_claims(session), _claims(session, is_source=True)):
        assert [_pool_of(claims[item]) for item in uuids] == before
    # And so does a server that is back, or offloaded and built again
    session.call(session.conductor.confirm_migrations, migrations[:3])
    session.call(session.conductor.revert_migrations, migrations[3:])
    truth.wait_for_status(running, uuids, "ACTIVE")
    session.call(session.conductor.shelve_instances, uuids)
    truth.wait_for_status(running, uuids, "SHELVED_OFFLOADED")
    session.call(session.conductor.unshelve_instances, uuids)
    truth.wait_for_status(running, uuids, "ACTIVE")
    claims = _claims(session)
    assert [_pool_of(claims[item]) for item in uuids] == before
    assert session.call(session.claims.verify).clean
    _delete(running, uuids)


def _place_with_volume(running, count, size_gb):
    groups = {"_vol0": {"resources": {"DISK_GB": size_gb}, "required": ["MISC_SHARES_VIA_AGGREGATE"]}}
    return place(running, count, groups=groups, volumes=[{"size_gb": size_gb, "group": "_vol0"}])


def _delete(running, uuids):
    running.session.call(running.session.conductor.delete_instances, uuids)
    truth.until("their claims end", lambda: not {name for name, _ in truth.claims(running)} & set(uuids))


def _pool_of(claim):
    (pool,) = (name for name in claim["allocations"] if host_of(name).startswith("volume"))
    return pool


def _claims(session, *, is_source=False):
    """Return the claims by instance: those on the sources of moves, or all others."""
    listed = session.list_all(session.claims.list_claims, "claims")
    return {item["consumer"]: item for item in listed if (item["role"] == "source") is is_source}


def test_request_is_refused_whole_when_one_service_is_full(running):
    group = {"resources": {"DISK_GB": 4001}, "required": ["MISC_SHARES_VIA_AGGREGATE"]}
    ((server, claim),) = place(running, groups={"_vol0": group}, volumes=[{"size_gb": 4001, "group": "_vol0"}])
    assert (server.status, claim) == ("ERROR", None)


def test_server_is_placed_near_the_pool_of_its_volume(running):
    for pool in ("volume0/node0", "volume1/node0"):
        for server, _ in place(running, 2, volumes=[{"pool": pool}]):
            assert site_topology.rack_of(server.host, RACKS) == site_topology.rack_of(pool, RACKS)


def test_unknown_volume_pool_is_refused(running):
    ((server, _),) = place(running, volumes=[{"pool": "volume9/node0"}])
    assert server.status == "ERROR"
    assert "no way to volume pool volume9/node0" in server.reason


@pytest.mark.parametrize("port", [{"physnet": "physnet0"}, {"segment": "physnet1-rack0"}])
def test_server_is_placed_on_the_network_of_its_port(running, port):
    documents = {
        state.name: state.document
        for state in running.session.list_all(running.session.scheduler.list_host_state, "states", "network")
    }
    for server, _ in place(running, 3, ports=[port]):
        network_document = documents[host_of(server.host)]
        assert set(port.values()) <= {*network_document["physnets"], *network_document["segments"]}
    ((server, _),) = place(running, ports=[{"physnet": "nowhere"}])
    assert (server.status, "not on physical network nowhere" in server.reason) == ("ERROR", True)


def test_port_bandwidth_is_allocated_from_the_network_of_the_server(running):
    amounts = {"NET_BW_EGR_KILOBIT_PER_SEC": 1000}
    group = {"resources": amounts, "required": ["CUSTOM_PHYSNET_PHYSNET1", "CUSTOM_VNIC_TYPE_NORMAL"]}
    for server, claim in place(running, 2, groups={"_port0": group}, ports=[{"group": "_port0"}]):
        assert server.status == "ACTIVE", server.reason
        assert "physnet1" in site_topology.network_document(server.host, 2, RACKS)["physnets"]
        assert claim["allocations"] == {claim["host"]: SMALL, "network1/node0": amounts}


@pytest.mark.parametrize(
    ("service", "resources"), [("volume", {"DISK_GB": 100}), ("network", {"NET_BW_EGR_KILOBIT_PER_SEC": 1000})]
)
def test_volume_or_port_without_server_is_placed(running, service, resources):
    for instance, claim in place(running, 2, service=service, resources=resources):
        assert instance.status == "ACTIVE", instance.reason
        assert host_of(instance.host).rstrip("01") == service
        assert claim["allocations"] == {instance.host: resources}
