# SPDX-License-Identifier: Apache-2.0
"""Placement through a cluster, with a scripted session."""

from types import SimpleNamespace

import pytest

from devstack.lab.replay import whole_cluster
from devstack.lab.replay.arrivals import ReplayRequest, ReplayServer
from devstack.lab.replay.scenario import PlacedServer
from devstack.lab.replay.whole_cluster import CHUNK, ClusterPlacer, cluster_size
from rpcapi.cli.command import CommandFailed


@pytest.mark.parametrize(("nodes", "size"), [(1, (1, 1)), (25, (1, 25)), (26, (2, 13)), (99, (4, 25))])
def test_cluster_has_at_least_the_nodes(nodes, size):
    created = cluster_size(nodes)
    assert (created.computes, created.nodes_per_host) == size
    assert nodes <= created.nodes


@pytest.fixture
def place(monkeypatch):
    """Return a function that makes a placer where the servers have these statuses, by number."""

    def make(statuses):
        calls = []

        def wait(session, uuids, ends, timeout, bar):
            records = {ReplayServer(number, None).consumer: status for number, status in statuses.items()}
            return {
                uuid: SimpleNamespace(status=records[uuid], host="h/n", reason="why")
                for uuid in uuids
                if uuid in records
            }

        monkeypatch.setattr(whole_cluster.waiting, "wait_for_status", wait)
        conductor = SimpleNamespace(build_instances="build", delete_instances="delete")
        session = SimpleNamespace(
            conductor=conductor, new_request=lambda: None, call=lambda *args: calls.append((args[0], len(args[-1])))
        )
        return ClusterPlacer(session, None), calls

    return make


def request(*numbers):
    return ReplayRequest((1, 1024), tuple(ReplayServer(number, None) for number in numbers))


def test_requests_are_placed_or_refused(place):
    placer, calls = place({0: "ACTIVE", 1: "ACTIVE", 2: "ERROR"})
    refused = []
    assert placer.place([request(0, 1), request(2)], refused.append) == [["h/n", "h/n"], None]
    assert refused == [request(2)]
    assert calls == [("build", 2), ("build", 1)]


@pytest.mark.parametrize("statuses", [{0: "ACTIVE", 1: "ERROR"}, {0: "ACTIVE", 1: "BUILDING"}])
def test_partial_or_unfinished_request_ends_the_replay(place, statuses):
    placer, _ = place(statuses)
    with pytest.raises(CommandFailed, match=r"Only 1 of 2 instances|1 instances are not"):
        placer.place([request(0, 1)], print)


def test_servers_are_deleted_in_chunks_and_may_be_gone(place):
    placer, calls = place({0: "DELETED"})
    placer.leave([PlacedServer(ReplayServer(number, None), "h/n") for number in range(CHUNK + 1)])
    assert calls == [("delete", CHUNK), ("delete", 1)]
    placer.leave([])
    assert len(calls) == 2
