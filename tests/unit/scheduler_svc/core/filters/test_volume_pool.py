# SPDX-License-Identifier: Apache-2.0
"""Existing volumes and their storage pools."""

import pytest

from tests.support.scheduler.hosts import node
from tests.unit.scheduler_svc.core.filters.cloud import make_table, passing_hosts, run_filter

NODES = {"a/1": node(zone="z1"), "a/2": node(zone="z2"), "b/1": node(zone="z1")}
VOLUMES = ({"pool": "pool"}, {"pool": "pool"}, {"size_gb": 1, "group": "_vol1"})


@pytest.mark.parametrize(
    ("pool", "aggregates", "expected"),
    [
        ({"hosts": ["a"]}, {}, ["a/1", "a/2"]),
        ({"hosts": ["a/2", "b"], "availability_zone": "z1"}, {}, ["a/2", "b/1"]),
        ({"hosts": ["no name", "b"]}, {}, ["b/1"]),
        ({"hosts": []}, {"g": {"hosts": ["pool", "a"]}}, []),
        ({}, {"g": {"hosts": ["pool", "b"]}, "other": {"hosts": ["a"]}}, ["b/1"]),
        ({"availability_zone": "z1"}, {}, ["a/1", "b/1"]),
        ({}, {}, list(NODES)),
    ],
)
def test_pool_serves_its_hosts_or_aggregates_or_zone(pool, aggregates, expected):
    documents = {"volume": {"pool": pool}, "aggregate": aggregates}
    assert passing_hosts("VolumePoolFilter", NODES, documents=documents, volumes=VOLUMES) == expected


def test_unknown_pool_rejects_all_hosts_with_a_reason():
    table = make_table("VolumePoolFilter", NODES)
    assert run_filter("VolumePoolFilter", table, volumes=VOLUMES) == ([], {"no way to volume pool pool": 3})


def test_request_without_volumes_accepts_all_hosts():
    assert passing_hosts("VolumePoolFilter", NODES) == list(NODES)
