# SPDX-License-Identifier: Apache-2.0
"""Filters and weighers for host state of the storage and network services."""

import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.filters import network_segment, volume_pool
from scheduler_svc.core.reads import union
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.weighers import volume_near
from tests.unit.scheduler_svc.fakes import hosts
from tests.unit.scheduler_svc.fakes.hosts import node, request

RACK1, RACK2 = {"facts": {"location": "rack1"}}, {"facts": {"location": "rack2"}}
NODES = {
    "a/1": node(zone="z1") | RACK1,
    "a/2": node(zone="z2") | RACK2,
    "b/1": node(zone="z1") | RACK2,
}
READS = union([volume_pool.FILTER.reads, network_segment.FILTER.reads, volume_near.WEIGHER.reads])


def view_of(**documents):
    """Return a view of the nodes, and of these documents by namespace."""
    table = hosts.table(NODES, reads=READS)
    for position, (namespace, documents_) in enumerate(documents.items(), 200):
        table.apply(LogEntry(position, "state", {namespace: documents_}))
    return table.reading()


def passing(predicates, view, request):
    names, reasons = set(NODES), []
    for predicate in predicates(view, request):
        reasons.append(predicate.reason)
        names &= {name for name in NODES if predicate.passes[view.row(name)]}
    return sorted(names), reasons


@pytest.mark.parametrize(
    ("pool", "aggregates", "expected"),
    [
        ({"hosts": ["a"]}, {}, ["a/1", "a/2"]),
        ({"hosts": ["a/2", "b"], "availability_zone": "z1"}, {}, ["a/2", "b/1"]),
        ({"hosts": ["no name", "b"]}, {}, ["b/1"]),
        ({"hosts": []}, {"g": {"hosts": ["pool", "a"]}}, []),
        ({}, {"g": {"hosts": ["pool", "b"]}, "other": {"hosts": ["a"]}}, ["b/1"]),
        ({"availability_zone": "z1"}, {}, ["a/1", "b/1"]),
        ({}, {}, ["a/1", "a/2", "b/1"]),
    ],
)
def test_volume_pool_serves_its_hosts_or_aggregates_or_zone(pool, aggregates, expected):
    with view_of(volume={"pool": pool}, aggregate=aggregates) as view:
        scheduling_request = request(volumes=({"pool": "pool"}, {"pool": "pool"}, {"size_gb": 1, "group": "_vol1"}))
        assert passing(volume_pool.predicates, view, scheduling_request) == (expected, ["no way to volume pool pool"])


def test_unknown_pool_rejects_all_hosts_and_no_volume_rejects_none():
    with view_of() as view:
        assert passing(volume_pool.predicates, view, request(volumes=({"pool": "p"},)))[0] == []
        assert passing(volume_pool.predicates, view, request()) == (sorted(NODES), [])


def test_ports_require_their_network_and_segment():
    documents = {
        "a": {"physnets": ["p1", "p2"], "segments": ["s1"]},
        "b": {"physnets": ["p2"], "segments": ["s2"]},
        "a/2": {"physnets": ["p1"]},
    }
    with view_of(network=documents) as view:
        for port, expected in (
            ({"physnet": "p1"}, ["a/1", "a/2"]),
            ({"physnet": "p2"}, ["a/1", "b/1"]),
            ({"physnet": "p2", "segment": "s2"}, ["b/1"]),
            ({"segment": "p1"}, []),
            ({}, sorted(NODES)),
        ):
            assert passing(network_segment.predicates, view, request(ports=(port,)))[0] == expected
        both = request(ports=({"physnet": "p1"}, {"physnet": "p2"}))
        assert passing(network_segment.predicates, view, both) == (
            ["a/1"],
            ["not on physical network p1", "not on physical network p2"],
        )


def test_host_weight_is_the_number_of_near_volumes():
    pools = {"p1": {"location": "rack1"}, "p2": {"location": "rack2"}, "p3": {}}
    with view_of(volume=pools) as view:

        def raw(*volumes, **more):
            figures = volume_near.raw(view, request(volumes=volumes, **more))
            return None if figures is None else [figures[view.row(name)] for name in NODES]

        assert raw({"pool": "p2"}) == [0, 1, 1]
        assert raw({"pool": "p1"}, {"pool": "p2"}, {"pool": "p2"}, {"pool": "p3"}) == [1, 2, 2]
        assert raw() is None
        assert raw({"pool": "p3"}, {"pool": "unknown"}) is None
        volume_group = RequestGroup("_vol0", {"DISK_GB": 1}, in_tree="p1")
        assert raw({"size_gb": 1, "group": "_vol0"}, groups=(volume_group,)) == [1, 0, 0]
        assert raw({"size_gb": 1, "group": "_vol0"}) is None
