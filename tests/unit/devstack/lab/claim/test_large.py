# SPDX-License-Identifier: Apache-2.0
"""The stall of the largest request: measured on claims that are ended again. Times are not tested."""

import pytest

from devstack.lab.claim import calls, large
from devstack.lab.claim.calls import CLAIM
from rpcapi.cli.command import CommandFailed
from scheduler_svc.store.redis import RedisStore


@pytest.fixture
def server(make_redis):
    server = make_redis()
    calls.prepare_partitions(server.url())
    return server


def test_each_request_is_claimed_and_ended_again(server, monkeypatch):
    monkeypatch.setattr(large, "REQUESTS", 2)
    ticks = []
    with server.client() as client:
        row = large.measure("no", server.url(), client, lambda: ticks.append(1))
    assert len(ticks) == 3
    assert row.ratio == row.figures["p99_ms"] / 150
    assert row.ok == (row.figures["p99_ms"] <= 150)
    store = RedisStore(server.url(), CLAIM)
    assert (dict(store.counts()), list(store.verify().problems)) == ({"prepared": 0, "confirmed": 0}, [])
    store.close()


def test_refused_request_is_an_error(server, monkeypatch):
    monkeypatch.setattr(large, "RESOURCES", {"VCPU": 1000, "MEMORY_MB": 1024, "DISK_GB": 1})
    with server.client() as client, pytest.raises(CommandFailed, match="refused"):
        large.measure("no", server.url(), client, lambda: None)
