# SPDX-License-Identifier: Apache-2.0
"""Replacement of inventories together with allocations in Redis: planned as a change of a provider is, one script."""

from collections.abc import Iterator, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.store import documents, reports
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.providers import reshaping
from scheduler_svc.store.providers.changes import Refusal, SetInventories
from scheduler_svc.store.providers.reshaping import ReshapedProvider
from scheduler_svc.store.redis import allocations
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.providers import RACES, RedisReads


def reshape(
    connection: RedisConnection, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]
) -> Refusal | None:
    for _ in range(RACES):
        reads = RedisReads(connection)
        reads.fetch([change.provider for change in inventories])
        plans = reshaping.plan(inventories, reads, reads.clock_ms)
        if isinstance(plans, Refusal):
            return plans
        is_as_read, *refusal = _write_reshape(connection, plans, reads, changes)
        if is_as_read:
            return allocations.refusal_of(refusal, changes)
    raise errors.StoreUnavailable(why=f"too many concurrent changes of {len(inventories)} providers; retry")


def _write_reshape(
    connection: RedisConnection,
    plans: Sequence[ReshapedProvider],
    reads: RedisReads,
    changes: Sequence[AllocationChange],
) -> Any:
    hosts = {names.host_of(planned.final["root"]) for planned in plans} - {names.API_HOST}
    values = [value for planned in plans for value in _arguments(planned)]
    values += [value for row in reads.compared() for value in row]
    values += hosts
    values += [value for change in changes for value in allocations.arguments(change)]
    return connection.run("reshape", values, epoch=reads.epoch, providers=len(plans), hosts=len(hosts))


def _arguments(planned: ReshapedProvider) -> Iterator[Any]:
    yield planned.provider
    yield documents.encode(planned.interim) if planned.is_new else ""
    yield documents.encode(reports.capacity_of(planned.interim))
    yield documents.encode(planned.final)
    yield documents.encode(reports.capacity_of(planned.final))
    yield documents.encode(list(planned.removed))
