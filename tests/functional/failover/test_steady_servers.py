# SPDX-License-Identifier: Apache-2.0
"""Servers for tests that need no failover: a primary that is silent on a busy machine is not replaced."""

import time

import pytest

from devstack.servers.redis_cluster import NODE_TIMEOUT_MS, RedisCluster
from devstack.servers.sentinel import DOWN_MS, SERVICE
from tests.support.clusters.setups import KINDS, STEADY_MS, FailoverSetup, Kind, running_setup

SILENCE_SECONDS = 3 * max(DOWN_MS, NODE_TIMEOUT_MS) / 1000


@pytest.mark.parametrize("kind", KINDS)
def test_silent_primary_is_not_considered_dead(kind: Kind) -> None:
    with running_setup(kind, users=False, down_ms=STEADY_MS) as setup:
        primary = setup.primary("key")
        primary.pause()
        time.sleep(SILENCE_SECONDS)
        states = [flags for flags in flags_of(setup, primary.port) if "down" in flags or "fail" in flags]
        primary.resume()
        assert states == []
        assert setup.primary("key") is primary


def flags_of(setup: FailoverSetup, port: int | None) -> list[str]:
    """Return the flags of the primary at ``port``, as each sentinel or each other node sees it."""
    group = setup.group
    if isinstance(group, RedisCluster):
        answers = []
        for node in group.nodes:
            if node.port != port:
                with node.client() as client:
                    answers.append(client.execute_command("CLUSTER NODES"))
        return [entry["flags"] for nodes in answers for address, entry in nodes.items() if address.endswith(f":{port}")]
    states = []
    for sentinel in group.sentinels:
        with sentinel.client() as client:
            states.append(client.sentinel_master(SERVICE))
    return [state["flags"] for state in states]
