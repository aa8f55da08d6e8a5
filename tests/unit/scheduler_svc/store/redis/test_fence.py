# SPDX-License-Identifier: Apache-2.0
"""A fence in Redis is one script per batch of claims."""

import pytest

from devstack.servers.redis import RedisServer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.redis import claims
from tests.unit.scheduler_svc.store.backends import redis_partition


class CallLost(Exception):
    """Raised when the fence is interrupted."""


def test_interrupted_fence_is_continued_by_its_token_unless_the_host_audited(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a fence of three claims that was interrupted after its first batch
    monkeypatch.setattr(claims, "FENCE_BATCH", 1)
    partition = redis_partition(redis_server)
    connection = partition.store._connection  # type: ignore[attr-defined]
    run = connection.run
    for host in ("h1", "h2"):
        partition.add_host(host)
        for number in range(3):
            partition.hold(f"{host}-c{number}", host)

        def run_once(*args, **named):
            monkeypatch.setattr(connection, "run", fail)
            return run(*args, **named)

        def fail(*args, **named):
            raise CallLost

        monkeypatch.setattr(connection, "run", run_once)
        with pytest.raises(CallLost):
            partition.store.fence(host, "token-1", force=True)
        monkeypatch.setattr(connection, "run", run)
    assert len(partition.states()) == 4
    # When it is repeated: then it ends the remaining claims
    assert partition.store.fence("h1", "token-1", force=True) == 3
    # But on a host that was audited meanwhile, which holds a newer claim, it ends nothing more
    partition.store.audit("h2", partition.store.snapshot().epoch, [], 600_000)
    partition.hold("newer", "h2")
    remaining = partition.states()
    assert partition.store.fence("h2", "token-1", force=True) == 1
    assert partition.states() == remaining and len(remaining) == 3
    assert [result.answer for result in partition.store.abort([ClaimRef("h2-c0", 1)])] == ["fenced"]
    partition.check()
    partition.store.close()
