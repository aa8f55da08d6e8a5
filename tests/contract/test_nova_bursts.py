# SPDX-License-Identifier: Apache-2.0
"""Many calls of Nova at once, on equal hosts."""

import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.unit.scheduler_svc.fakes.nova_clouds import NovaCloud, hosts_of, spec

HOSTS, CALLS = 4, 20
MOST_ON_ONE_HOST = 8
LARGE = {"VCPU": 400, "MEMORY_MB": 400_000, "DISK_GB": 4000}


@pytest.fixture
def cloud():
    created = NovaCloud()
    created.start()
    yield created
    created.stop()


def test_parallel_boots_are_spread_over_equal_hosts(cloud):
    """Given Nova's defaults, and computes whose reports are older than all of these boots."""
    busy = {"instances": 1, "io_ops": 1, "failed_builds": 0}
    for number in range(HOSTS):
        cloud.add_host(f"h{number}", LARGE, metrics=busy)
    cloud.follow()
    with ThreadPoolExecutor(CALLS) as pool:
        rows = list(pool.map(lambda _: cloud.client.select(spec(), [str(uuid.uuid4())]), range(CALLS)))
    selected = Counter(hosts_of(row)[0][0] for row in rows)
    assert sum(selected.values()) == CALLS
    assert max(selected.values()) <= MOST_ON_ONE_HOST, selected
