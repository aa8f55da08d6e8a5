# SPDX-License-Identifier: Apache-2.0
"""Operators' writes that a failover forgets: a worker that saw them writes them again, before it decides.

Each is a generator in three parts: what is kept; the act, which is forgotten; what follows.
"""

from collections.abc import Iterator
from typing import Any

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.aggregates import NAMESPACE
from tests.regressions.forgetful_stores import ForgetfulStores
from tests.support.store.store_partition import StorePartition, intent

OPEN = {"hosts": ["h1", "h2"], "metadata": {}}
RESERVED = {"hosts": ["h1", "h2"], "metadata": {"filter_tenant_id": "payroll"}}


def host_disable(stores: ForgetfulStores) -> Iterator[None]:
    partition, worker = followed(stores)
    yield
    disable(partition, "h1")
    follow(worker, partition)
    yield
    assert service(partition, "h1") == (True, None)
    follow(worker, partition)
    assert (service(partition, "h1"), service(partition, "h2")) == ((False, "disk"), (True, None))


def host_enable(stores: ForgetfulStores) -> Iterator[None]:
    partition, worker = followed(stores)
    disable(partition, "h1")
    follow(worker, partition)
    yield
    disable(partition, "h1", enabled=True, reason=None)
    follow(worker, partition)
    yield
    assert service(partition, "h1") == (False, "disk")
    follow(worker, partition)
    assert service(partition, "h1") == (True, None)


def aggregates_of_all_kinds(stores: ForgetfulStores) -> Iterator[None]:
    # Given an aggregate that is changed, one that is created, one that is deleted
    partition, worker = followed(stores)
    for name in ("changed", "old", "unchanged"):
        put(partition, name, OPEN)
    yield
    put(partition, "changed", {"hosts": ["h1"], "metadata": {}})
    put(partition, "new", OPEN)
    partition.store.delete_state(NAMESPACE, "old", version_of(partition, NAMESPACE, "old"))
    follow(worker, partition)
    yield
    assert aggregates(partition) == {"changed": OPEN, "old": OPEN, "unchanged": OPEN}
    follow(worker, partition)
    assert aggregates(partition) == {"changed": {"hosts": ["h1"], "metadata": {}}, "new": OPEN, "unchanged": OPEN}


def tenant_isolation(stores: ForgetfulStores) -> Iterator[None]:
    partition, worker = followed(stores)
    put(partition, "reserved", OPEN)
    follow(worker, partition)
    yield
    put(partition, "reserved", RESERVED)
    follow(worker, partition)
    yield
    # A decision on the forgetful store's documents, which let any project in, is stale once a worker has repeated them
    epoch = partition.store.snapshot().epoch
    for host in ("h1", "h2"):
        partition.store.audit(host, epoch, [], 0)
    decided = partition.batch(intent("c1", "h1", "h2"))
    follow(worker, partition)
    (result,) = partition.store.prepare(decided).prepared
    assert (result.answer, set(result.verdicts)) == (Answer.REFUSED, {Verdict.STALE})
    assert aggregates(partition) == {"reserved": RESERVED}


def host_removal(stores: ForgetfulStores) -> Iterator[None]:
    partition, worker = followed(stores)
    yield
    partition.store.remove("h1")
    follow(worker, partition)
    yield
    # It is back, takes no claims, and is removed again once it is fenced
    follow(worker, partition)
    assert partition.prepare("c1", "h1").answer is Answer.REFUSED
    partition.fence("h1")
    partition.store.remove("h1")
    assert version_of(partition, "service", "h1") == 0


def followed(stores: ForgetfulStores) -> tuple[StorePartition, Replica]:
    """Return a partition with hosts h1 and h2, and a worker's replica of it."""
    partition = stores.partition()
    for host in ("h1", "h2"):
        partition.add_host(host)
    return partition, make_replica(partition)


def make_replica(partition: StorePartition) -> Replica:
    """Return a worker's replica that has loaded the partition."""
    replica = Replica(partition.store, table=HostTable([partition.store.partition], {NAMESPACE: frozenset({"hosts"})}))
    replica.load()
    return replica


def follow(replica: Replica, partition: StorePartition) -> None:
    """Apply all that the log has."""
    while replica.log_position.position < partition.store.snapshot().position:
        replica.step(0)


def put(partition: StorePartition, name: str, document: Any) -> int:
    return partition.store.put_state(NAMESPACE, name, version_of(partition, NAMESPACE, name), document)


def version_of(partition: StorePartition, namespace: str, name: str) -> int:
    """Return the version of a document, 0 without one."""
    try:
        return partition.store.get_state(namespace, name)[0]
    except errors.UnknownHost:
        return 0


def aggregates(partition: StorePartition) -> dict[str, Any]:
    return {name: document for name, _version, document in partition.store.list_state(NAMESPACE)[0]}


def disable(partition: StorePartition, host: str, *, enabled: bool = False, reason: str | None = "disk") -> None:
    changes = {"enabled": enabled, "disabled_reason": reason}
    partition.store.put_state("service", host, version_of(partition, "service", host), changes)


def service(partition: StorePartition, host: str) -> tuple[bool, str | None]:
    """Return whether a host is enabled, and why not."""
    document = partition.store.get_state("service", host)[1]
    return document["enabled"], document["disabled_reason"]


ACTS = (host_disable, host_enable, aggregates_of_all_kinds, tenant_isolation, host_removal)
