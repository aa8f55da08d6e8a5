# SPDX-License-Identifier: Apache-2.0
"""The view of the host table that a decision reads."""

import dataclasses

import numpy as np
import pytest

from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node

NODES = {"a/1": node(zone="az1"), "a/2": node(zone="az2"), "b": node()}


def build(nodes=NODES, **states):
    reads = {namespace: frozenset({"hosts", "metadata", "watts", "cards"}) for namespace in states}
    return HostTable.from_snapshot(dataclasses.replace(hosts.snapshot(nodes), states=states), reads=reads)


def test_view_is_read_only():
    table = hosts.table(NODES)
    with table.reading() as view, pytest.raises(ValueError, match="read-only"):
        view.hosts.free("VCPU")[0] = 5


@pytest.mark.parametrize("service", ["compute", "volume", "network"])
def test_of_kind_returns_rows_of_the_service(service):
    table = hosts.table({"a": hosts.node(), "pool": hosts.node() | {"kind": "volume"}})
    with table.reading() as view:
        mask = view.of_kind(service)
        assert [name for name in ("a", "pool") if mask[view.row(name)]] == {
            "compute": ["a"],
            "volume": ["pool"],
            "network": [],
        }[service]


def test_rows_have_names_and_names_have_rows():
    with build().reading() as view:
        assert [view.name(row) for row in range(view.size)] == list(NODES)
        assert [view.row(name) for name in NODES] == [0, 1, 2]
        assert view.row("a") is None, "a service host is not a node"


def test_instance_limits_exclude_rows_that_take_none():
    with build().reading() as view:
        limited = view.with_instance_limits({0: 0, 1: 2})
        assert limited.present.tolist() == [False, True, True]
        assert limited.instance_limits == {0: 0, 1: 2}
        assert view.present.tolist() == [True, True, True]


def test_names_match_nodes_and_service_hosts_with_all_their_nodes():
    with build().reading() as view:
        assert view.match_names(["a"]).tolist() == [True, True, False]
        assert view.match_names(["a/2", "b", "no such host|"]).tolist() == [False, True, True]
        assert not view.match_names([]).any()


def test_zone_of_an_aggregate_replaces_the_reported_one():
    aggregates = {
        "x": {"hosts": ["a/1"], "metadata": {"availability_zone": "az2"}},
        "y": {"hosts": ["a/1"], "metadata": {"availability_zone": "az3"}},
        "z": {"hosts": ["b"], "metadata": {"rack": "r1"}},
    }
    with build(aggregate=aggregates).reading() as view:
        assert [view.zone(row) for row in range(3)] == ["az2", "az2", None]
        assert view.in_zone("az1").tolist() == [False, False, False]
        assert view.in_zone("az2").tolist() == [True, True, False]
        assert view.in_zone("az3").tolist() == [True, False, False]
        assert view.in_zone("az4").tolist() == [False, False, False]


def test_state_of_documents_as_numbers_texts_and_lists():
    documents = {"a": {"watts": 5, "cards": ["x", "y"]}, "b": {"watts": "low"}}
    with build(rack=documents).reading() as view:
        watts = view.state("rack", "watts")
        assert watts[:2].tolist() == [5, 5] and np.isnan(watts[2])
        assert view.state_is("rack", "watts", "low").tolist() == [False, False, True]
        assert view.state_contains("rack", "cards", "y").tolist() == [True, True, False]
        assert dict(view.documents("rack")) == documents


def test_documents_of_the_first_partition_have_precedence():
    table = HostTable(["p", "q"], {"rack": frozenset({"watts"})})
    for number, watts in enumerate((1, 2)):
        snapshot = dataclasses.replace(
            hosts.snapshot({}), states={"rack": {"both": {"watts": watts}, f"own{number}": {"watts": watts}}}
        )
        table.load(snapshot, number)
    with table.reading() as view:
        assert {name: document["watts"] for name, document in view.documents("rack").items()} == {
            "both": 1,
            "own0": 1,
            "own1": 2,
        }
