# SPDX-License-Identifier: Apache-2.0
"""A machine with an empty state folder joined under the name of one that was down, and ended all its guests.

It registered once and audited twice: after the grace of an orphan all claims were released, and their room was sold
again. The guests, alive all the time where the agent was only suspended, were ended when the agent returned.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.servers.redis import RedisServer
from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.store.records import HostReport, StatsOutcome
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import ROOMY, SMALL, StorePartition, node_stats, running

A, B = (f"{number:08x}-0000-4000-8000-000000000000" for number in (1, 2))
GRACE_MS = 1


@pytest.fixture(params=["memory", "sqlite", "redis"])
def partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        partition = redis_partition(server)
    elif request.param == "sqlite":
        partition = sql_partition(f"sqlite:///{tmp_path}/store.sqlite")
    else:
        partition = memory_partition()
    yield partition
    partition.store.close()


def register(partition: StorePartition, host_uuid: str, incarnation: int = 0, sequence: int = 1) -> StatsOutcome:
    report = HostReport(
        incarnation,
        sequence,
        {"h1": node_stats(ROOMY)},
        register=True,
        agent=f"agent of {host_uuid}",
        host_uuid=host_uuid,
        served=host_uuid == A,
    )
    return partition.store.update_stats("h1", report)


@pytest.mark.parametrize("is_down", [True, False])
def test_namesake_ends_no_guest_of_a_machine_that_is_away(partition: StorePartition, is_down: bool) -> None:
    # given a machine whose four guests fill it, and which does not answer
    first = register(partition, A)
    epoch = partition.store.snapshot().epoch
    partition.store.audit("h1", epoch, [], GRACE_MS, host_uuid=A)
    refs = [partition.hold(f"c{number}", "h1", resources=SMALL) for number in range(4)]
    if is_down:
        partition.wait_until(partition.time() + 2)
        partition.store.reap(dead_after_ms=1, tombstone_ms=3_600_000)

    # when another one has its name, and calls as its agent would, twice and a grace apart
    for _ in range(2):
        with pytest.raises(errors.HostIdentityConflict, match="it has 4 claims"):
            register(partition, B)
        with pytest.raises(errors.HostIdentityConflict):
            partition.store.audit("h1", epoch, [], GRACE_MS, host_uuid=B)
        with pytest.raises(errors.HostIdentityConflict):
            partition.store.release("h1", refs[:1], host_uuid=B)
        partition.wait_until(partition.time() + 2 * GRACE_MS)

    # then nothing is sold again
    assert [partition.prepare(f"n{number}", "h1").answer for number in range(4)] == [Answer.REFUSED] * 4
    # and the first one returns as if nothing had been
    register(partition, A, first.incarnation, 2)
    guests = [running(ref, "h1") for ref in refs]
    outcome = partition.store.audit("h1", epoch, guests, GRACE_MS, host_uuid=A)
    assert [result.answer for result in outcome.answers] == [Answer.CONFIRMED] * 4
    assert "duplicate_ms" not in partition.store.get_state("service", "h1")[1]
    partition.check()
