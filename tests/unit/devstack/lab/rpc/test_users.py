# SPDX-License-Identifier: Apache-2.0
"""lab.sh rpc --users: users, imports and rows. Times are not tested."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from devstack.lab import private_cluster
from devstack.lab.rpc import command, users
from devstack.lab.rpc.callers import CallTimes, ClientCalls
from devstack.servers.rabbitmq import RabbitNode, RabbitPorts
from rpcapi.access.rabbit_management import BrokerAdministration
from tests.support import asking


@pytest.fixture
def imports(monkeypatch):
    """The documents that a broker imports, in place of its processes."""
    documents = []
    monkeypatch.setattr(RabbitNode, "start", lambda node: None)
    monkeypatch.setattr(RabbitNode, "ports", RabbitPorts(1, 2, 3))
    monkeypatch.setattr(private_cluster, "start_echo", lambda *arguments, **options: None)
    monkeypatch.setattr(
        BrokerAdministration, "import_definitions", lambda _self, text, seconds: documents.append(json.loads(text))
    )
    return documents


def test_all_users_are_imported_in_parts_with_their_permissions(imports, monkeypatch, tmp_path):
    monkeypatch.setattr(users, "IMPORT_PART", 2)
    users.AgentsBroker(tmp_path, 5).start("threading")
    names = [[user["name"] for user in document["users"] if user["name"] != "admin"] for document in imports]
    assert names == [[f"gantt-compute.host{n}" for n in part] for part in ([0, 1], [2, 3], [4])]
    # They may call the echo service
    assert all("gantt-echo" in row["write"] for row in imports[2]["permissions"] if row["user"] != "admin")


def test_clients_log_in_as_different_agents(imports, tmp_path):
    urls = users.AgentsBroker(tmp_path, 2).urls(3)
    assert [url.split("@")[0] for url in urls] == [f"gantt-rabbit://gantt-compute.host{n}:lab" for n in (0, 1, 0)]


def test_rows_compare_all_users_with_one():
    single, many = SimpleNamespace(import_s=0.1, memory_mb=100.0), SimpleNamespace(import_s=1.0, memory_mb=102.0)
    calls = [CallTimes.of([ClientCalls(0.0, np.array(ends), np.array(ends), 0)]) for ends in ([4], [2])]
    imported, memory, rate = users.make_rows(1024, single, many, *calls)
    assert (imported.ratio, memory.ratio, rate.ratio) == (pytest.approx(10), pytest.approx(1.02), pytest.approx(2))
    assert memory.figures["memory_per_user_kb"] == pytest.approx(2)
    assert (rate.figures["one_calls_per_s"], rate.figures["calls_per_s"]) == (0.25, 0.5)


@pytest.mark.long
def test_brokers_are_measured(monkeypatch):
    monkeypatch.setattr(command, "BLOCKS", 1)
    imported, memory, rate = asking.run_json("rpc", "--users", "3", "--clients", "2", "--seconds", "0.05")
    assert imported["import_s"] > 0 and memory["memory_mb"] > 10 and rate["calls_per_s"] > 0
