# SPDX-License-Identifier: Apache-2.0
"""The RPC servers of a worker: their topics and endpoints."""

import pytest

from scheduler_svc.composition import endpoints, policy, stores
from scheduler_svc.composition.scheduling import SchedulingParts
from scheduler_svc.endpoints.claims import ClaimsEndpoint
from scheduler_svc.endpoints.decisions import DecisionsEndpoint
from scheduler_svc.endpoints.host_state import HostStateEndpoint
from scheduler_svc.endpoints.nova_audit import NovaAuditEndpoint
from scheduler_svc.endpoints.selection import SelectionEndpoint
from scheduler_svc.endpoints.server_groups import ServerGroupEndpoint
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.workers import configure


@pytest.fixture
def servers(monkeypatch):
    """The servers that are built: classes of endpoints and server name by topic."""
    built = {}

    def get_server(transport, target, topic_endpoints, serializer):
        built[target.topic] = (target.server, [type(endpoint) for endpoint in topic_endpoints])
        return target.topic

    monkeypatch.setattr(endpoints.bus, "get_server", get_server)
    return built


def test_worker_serves_the_scheduler_and_the_claims_of_its_served_partitions(conf, servers):
    configure(conf).set_override("partitions", ["default", "east", "west"], group="scheduler")
    conf.set_override("claims_partitions", ["east", "default"], group="scheduler")
    scheduling_policy = policy.load(conf)
    partitions = stores.open_partitions(conf, MemoryStore, scheduling_policy.reads, None)
    scheduling = SchedulingParts(conf, partitions, scheduling_policy)
    names = endpoints.servers(conf, None, scheduling, worker="s1:0", on_unverified=None, serializer=None)
    assert names == ["scheduler", "claims.east", "claims.default"]
    scheduler_endpoints = [
        SelectionEndpoint,
        HostStateEndpoint,
        ServerGroupEndpoint,
        NovaAuditEndpoint,
        DecisionsEndpoint,
    ]
    assert servers == {
        "scheduler": ("s1:0", scheduler_endpoints),
        "claims.east": ("s1:0", [ClaimsEndpoint]),
        "claims.default": ("s1:0", [ClaimsEndpoint]),
    }
