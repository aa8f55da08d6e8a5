# SPDX-License-Identifier: Apache-2.0
"""gantt-placement as its own user of Redis, when the store lost writes of operators and began an epoch."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from devstack.deploy.users.redis_users import PLACEMENT, SCHEDULER, STORE_USERS
from devstack.servers.redis import RedisServer
from scheduler_svc.core.reads import NO_READS
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.store.namespaces import SERVICE
from scheduler_svc.store.redis import RedisStore

PARTITION = "p"


@pytest.fixture
def server(make_redis: Any) -> RedisServer:
    server: RedisServer = make_redis(appendonly="always", users=STORE_USERS)
    return server


@pytest.fixture
def placement(server: RedisServer) -> Iterator[OpenPartitions]:
    """The partitions of a process of gantt-placement, which are not loaded yet."""

    def opener(partition: str) -> RedisStore:
        return RedisStore(server.url(PLACEMENT.name), partition)

    partitions = OpenPartitions.open([PARTITION], [PARTITION], PARTITION, opener=opener, reads=NO_READS, for_api=True)
    yield partitions
    partitions.stop()
    partitions.close()


def test_partition_is_loaded_again_where_an_operators_change_of_a_service_was_lost(
    server: RedisServer, placement: OpenPartitions
) -> None:
    data, backup = server.folder / "data", server.folder / "backup"
    (partition,) = placement
    with closing(RedisStore(server.url(SCHEDULER.name), PARTITION)) as store:
        store.check_identity()
        store.heartbeat("h1", "gantt-compute")
        # Given a service that an operator disables after a backup of the store
        server.stop()
        shutil.copytree(data, backup)
        server.start()
        version, _service = store.get_state(SERVICE, "h1")
        store.put_state(SERVICE, "h1", version, {"enabled": False, "disabled_reason": "disk"})
        placement.load()
        epoch = partition.replica.log_position.epoch
        # When the backup is restored
        server.kill()
        shutil.rmtree(data)
        backup.rename(data)
        server.start()
    # Then gantt-placement, which may neither read all of a service nor change it, loads the partition
    partition.replica.load()
    assert partition.replica.log_position.epoch > epoch
