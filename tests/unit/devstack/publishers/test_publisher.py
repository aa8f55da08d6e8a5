# SPDX-License-Identifier: Apache-2.0
"""Host state published by the simulated storage and network services."""

import pytest

from devstack.publishers.publisher import GROUP, StatePublisher, register_opts
from rpcapi import errors, objects

DISK = {"DISK_GB": {"total": 100}}


class FakeScheduler:
    """A scheduler that stores documents and can fail."""

    def __init__(self):
        self.nodes = {
            "compute0/node0": {"inventories": DISK},
            "compute0/node0/gpu0": {"inventories": {}, "root": "compute0/node0", "parent": "compute0/node0"},
            "compute1/node0": {"inventories": DISK},
            "compute2/node0": {"inventories": DISK},
            "volume0/node0": {"inventories": DISK, "kind": "volume", "used": {"DISK_GB": 30}},
            "network0/node0": {"inventories": {}, "kind": "network"},
        }
        self.states = {}
        self.aggregates = {}
        self.writes = 0
        self.failing = False

    def list_host_state(self, ctxt, namespace, marker=None, limit=1000):
        assert namespace == "compute"
        states = [
            objects.HostState.of(namespace=namespace, name=name, version=1, document=document)
            for name, document in self.nodes.items()
        ]
        return objects.HostStatePage.of(states=states, marker=None)

    def get_host_state(self, ctxt, namespace, name):
        if (namespace, name) not in self.states:
            raise errors.UnknownHost(name=name)
        return self.states[namespace, name]

    def update_host_state(self, ctxt, state, writer):
        if self.failing:
            raise errors.StoreUnavailable(why="it is away")
        assert writer == f"gantt-{state.namespace}"
        self.writes += 1
        updated = objects.HostState.of(
            namespace=state.namespace, name=state.name, version=state.version + 1, document=state.document
        )
        self.states[state.namespace, state.name] = updated
        return updated

    def update_aggregates(self, ctxt, aggregates):
        self.aggregates |= {aggregate["id"]: set(aggregate["hosts"]) for aggregate in aggregates}


class FakeSession:
    """The methods of a session that a publisher uses."""

    def __init__(self, scheduler):
        self.scheduler = scheduler

    def new_request(self):
        return "req"

    def call(self, method, *args, **values):
        return method(None, *args, **values)

    def get_state(self, namespace, name):
        return self.scheduler.get_host_state(None, namespace, name)

    def list_all(self, method, items, *args):
        yield from getattr(method(None, *args), items)


@pytest.fixture
def scheduler():
    return FakeScheduler()


@pytest.fixture
def publisher(scheduler):
    return StatePublisher(FakeSession(scheduler), racks=3, physnets=2)


def test_pools_networks_and_hosts_are_published(scheduler, publisher):
    assert publisher.publish() == 6
    assert scheduler.states["volume", "volume0/node0"].document == {
        "service_host": "volume0",
        "total_gb": 100,
        "free_gb": 70,
        "location": "rack0",
        "hosts": ["compute0", "compute1"],
    }
    assert scheduler.aggregates == {
        "pool:volume0/node0": {"volume0/node0", "compute0", "compute1"},
        "network:network0/node0": {"network0/node0", "compute1"},
    }
    networks = {name: state.document for (space, name), state in scheduler.states.items() if space == "network"}
    assert networks == {
        "compute0": {"physnets": ["physnet1"], "segments": ["physnet1-rack0"]},
        "compute1": {"physnets": ["physnet0"], "segments": ["physnet0-rack1"]},
        "compute2": {"physnets": ["physnet1"], "segments": ["physnet1-rack2"]},
    }


def test_only_changes_are_published_again(scheduler, publisher):
    publisher.publish()
    assert publisher.publish() == 0
    scheduler.nodes["volume0/node0"]["used"] = {"DISK_GB": 40}
    assert publisher.publish() == 1
    assert scheduler.states["volume", "volume0/node0"].document["free_gb"] == 60
    assert scheduler.states["volume", "volume0/node0"].version == 2


def test_failed_publication_is_repeated_in_the_next_round(scheduler, publisher):
    scheduler.failing = True
    with pytest.raises(errors.StoreUnavailable):
        publisher.publish()
    scheduler.failing = False
    publisher.publish()
    assert len(scheduler.states) == 4


@pytest.mark.parametrize(("name", "value"), [("interval", 0.0), ("racks", 0), ("racks", 1001), ("physnets", 65)])
def test_option_out_of_range_is_rejected(conf, name, value):
    register_opts(conf)
    with pytest.raises(ValueError, match="Should be"):
        conf.set_override(name, value, group=GROUP)
