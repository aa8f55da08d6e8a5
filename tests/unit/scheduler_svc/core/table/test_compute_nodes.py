# SPDX-License-Identifier: Apache-2.0
"""Facts, metrics and addresses of hosts whose providers were made through Placement's API."""

import dataclasses
import ipaddress

import pytest

from scheduler_svc.core.namespaces.compute_node import CELL, HOST_KEYS, NAMESPACE, NODE, SERVICE_HOST
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from tests.support.nova.nova import CELL as CELL_UUID
from tests.support.nova.nova import compute_node
from tests.support.scheduler.hosts import node, provider, snapshot

HOST, AGENT = "@api/h1", "agent"
READS = {
    NAMESPACE: frozenset({*HOST_KEYS, SERVICE_HOST, NODE, CELL}),
    "compute": frozenset({"metrics.instances", "facts", "host_ip"}),
}
NETWORK = ipaddress.ip_network("192.0.2.0/24")


def state(documents, **nodes):
    return dataclasses.replace(snapshot({HOST: node(), **nodes}), states={"compute_node": documents})


def host_keys(table, name=HOST, number=0):
    with table.reading() as view:
        row = view.row(name, number)
        instances = view.state("compute", "metrics.instances")[row]
        return instances, view.facts.of(row).get("hypervisor_type"), bool(view.in_network(NETWORK)[row])


def is_empty(values):
    instances, kind, near = values
    return instances != instances and kind is None and not near  # noqa: PLR0124 - NaN


def test_what_an_agent_reports_of_its_host_comes_from_its_compute_node():
    table = HostTable.from_snapshot(state({HOST: compute_node()}), reads=READS)
    assert host_keys(table) == (3, "QEMU", True)
    with table.reading() as view:
        assert view.state_is("compute_node", "cell", CELL_UUID).tolist() == [True]
        assert view.state_is("compute_node", "service_host", "compute1").tolist() == [True]


def test_a_change_of_the_provider_keeps_it():
    table = HostTable.from_snapshot(state({HOST: compute_node()}), reads=READS)
    table.apply(LogEntry(101, "provider", {HOST: provider(HOST, node({"VCPU": 4}))}))
    assert host_keys(table) == (3, "QEMU", True)


def test_a_change_of_the_compute_node_takes_effect_and_its_end_removes_all():
    table = HostTable.from_snapshot(state({}), reads=READS)
    assert is_empty(host_keys(table))
    table.apply(LogEntry(101, "state", {"compute_node": {HOST: compute_node(metrics={"instances": 9})}}))
    assert host_keys(table) == (9, "QEMU", True)
    table.apply(LogEntry(102, "state", {"compute_node": {HOST: None}}))
    assert is_empty(host_keys(table))


def test_a_compute_node_that_comes_before_its_provider_applies():
    table = HostTable.from_snapshot(snapshot({}), reads=READS)
    table.apply(LogEntry(101, "state", {"compute_node": {HOST: compute_node()}}))
    table.apply(LogEntry(102, "provider", {HOST: provider(HOST, node())}))
    assert host_keys(table) == (3, "QEMU", True)


@pytest.mark.parametrize("reads", [READS, {"compute": READS["compute"]}])
def test_an_agents_report_is_not_replaced(reads):
    reported = {**node(metrics={"instances": 1}), "facts": {"hypervisor_type": "own"}, "host_ip": "198.51.100.1"}
    table = HostTable.from_snapshot(state({AGENT: compute_node()}, **{AGENT: reported}), reads=reads)
    assert host_keys(table, AGENT) == (1, "own", False)


def test_loading_the_partition_again_keeps_the_compute_nodes_of_another_partition():
    table = HostTable(["east", "west"], READS)
    table.load(dataclasses.replace(snapshot({}), states={"compute_node": {HOST: compute_node()}}), 0)
    table.load(snapshot({HOST: node()}), 1)
    assert host_keys(table, number=1) == (3, "QEMU", True)
    table.load(dataclasses.replace(snapshot({}), states={"compute_node": {}}), 0)
    assert is_empty(host_keys(table, number=1))
