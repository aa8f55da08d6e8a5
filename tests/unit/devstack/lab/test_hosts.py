# SPDX-License-Identifier: Apache-2.0
"""Generated hosts and requests."""

import itertools
from collections import Counter

from devstack.lab import hosts
from rpcapi.resources.names import host_of
from scheduler_svc.store.memory import MemoryStore


def test_same_count_gives_the_same_hosts_and_more_hosts_begin_alike():
    assert hosts.make_nodes(70) == hosts.make_nodes(70)
    assert list(hosts.make_nodes(70).items())[:60] == list(hosts.make_nodes(60).items())


def test_service_hosts_have_fifty_nodes():
    names = list(hosts.make_nodes(120))
    assert (names[0], names[49], names[50], names[-1]) == (
        "compute0/node0",
        "compute0/node49",
        "compute1/node0",
        "compute2/node19",
    )


def test_usage_is_one_share_of_all_classes_and_at_most_the_load():
    nodes = hosts.make_nodes(200)
    used = hosts.make_usage(nodes, 0.5)
    shares = []
    for name, node in nodes.items():
        node_shares = [used[name][cls] / unit["capacity"] for cls, unit in node["inventories"].items()]
        assert max(node_shares) - min(node_shares) < 0.05, "rounded down to whole units"
        shares.append(max(node_shares))
    assert max(shares) <= 0.5
    assert 0.2 < sum(shares) / len(shares) < 0.3


def test_table_has_every_host_alive():
    table = hosts.table(30)
    assert sorted(table.names) == sorted(hosts.make_nodes(30))


def test_joined_hosts_are_open_for_claims():
    store = MemoryStore("p")
    nodes = hosts.make_nodes(60)
    hosts.join(store, nodes)
    snapshot = store.snapshot()
    assert set(snapshot.providers) == set(nodes)
    assert snapshot.opened == {host_of(name): snapshot.epoch for name in nodes}


def first(seed, count):
    return list(itertools.islice(hosts.stream(seed), count))


def test_same_seed_gives_the_same_requests():
    assert first(1, 50) == first(1, 50)
    assert [server.request.resources for server in first(1, 50)] != [
        server.request.resources for server in first(2, 50)
    ]


def test_sizes_have_their_shares():
    counts = Counter(server.request.resources["DISK_GB"] for server in first(1, 5000))
    for _, _, disk, of_ten in hosts.SIZES:
        assert abs(counts[disk] / 5000 - of_ten / 10) < 0.03


def test_memory_is_per_processor_and_each_server_is_another_consumer():
    servers = first(3, 500)
    by_disk = {disk: (vcpus, vcpus * memory) for vcpus, memory, disk, _ in hosts.SIZES}
    for server in servers:
        amounts = server.request.resources
        assert (amounts["VCPU"], amounts["MEMORY_MB"]) == by_disk[amounts["DISK_GB"]]
        assert server.request.id == f"req-{server.consumer}"
    assert len({server.consumer for server in servers}) == 500
