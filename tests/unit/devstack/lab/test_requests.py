# SPDX-License-Identifier: Apache-2.0
"""Generated requests."""

import itertools
from collections import Counter

from devstack.lab import requests


def first(seed, count):
    return list(itertools.islice(requests.stream(seed), count))


def test_same_seed_gives_the_same_requests():
    assert first(1, 50) == first(1, 50)
    assert [server.request.resources for server in first(1, 50)] != [
        server.request.resources for server in first(2, 50)
    ]


def test_sizes_have_their_shares():
    counts = Counter(server.request.resources["DISK_GB"] for server in first(1, 5000))
    for _, _, disk, of_ten in requests.SIZES:
        assert abs(counts[disk] / 5000 - of_ten / 10) < 0.03


def test_memory_is_per_processor_and_each_server_is_another_consumer():
    servers = first(3, 500)
    by_disk = {disk: (vcpus, vcpus * memory) for vcpus, memory, disk, _ in requests.SIZES}
    for server in servers:
        amounts = server.request.resources
        assert (amounts["VCPU"], amounts["MEMORY_MB"]) == by_disk[amounts["DISK_GB"]]
        assert server.request.id == f"req-{server.consumer}"
    assert len({server.consumer for server in servers}) == 500
