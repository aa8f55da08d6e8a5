# SPDX-License-Identifier: Apache-2.0
"""Sums by project that are incomplete: an older version made claims, or created the partition."""

from typing import Any

from sqlalchemy import delete, update

from scheduler_svc.store.allocations import ANY, AllocationChange, Usage
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.sql.tables import PARTITIONS, TALLIES
from tests.unit.scheduler_svc.store.databases import engine, sql_partition
from tests.unit.scheduler_svc.store.store_partition import StorePartition

SUMS = {"INSTANCE": Usage(1, {"VCPU": 1}), "VM": Usage(2, {"VCPU": 2, "MEMORY_MB": 8})}


def fill(partition: StorePartition) -> None:
    """Make a claim of the scheduler, and one of the Placement API for each of two users."""
    partition.add_host("h1", amounts={"VCPU": 100, "MEMORY_MB": 100})
    partition.hold("c", "h1", resources={"VCPU": 1})
    for user in ("u1", "u2"):
        amounts = {"h1": {"VCPU": 1, "MEMORY_MB": 4}}
        assert partition.store.allocate([AllocationChange(f"c{user}", amounts, "p", user, ANY, "VM")]) is None


def drop_tallies(store: Any, url: str) -> None:
    """Remove the sums, as if the claims had been made by a version that did not keep them."""
    if isinstance(store, MemoryStore):
        store.state.tallies.clear()
    elif isinstance(store, RedisStore):
        store._connection._client.delete(prefix(store.partition) + "tallies", prefix(store.partition) + "tallied")
    else:
        with engine(url).begin() as connection:
            connection.execute(delete(TALLIES).where(TALLIES.c.partition == store.partition))


def url_of(store: Any) -> str:
    """Return the URL of a SQL store, '' of another one."""
    dialect = getattr(store, "_dialect", None)
    return dialect.engine.url.render_as_string(hide_password=False) if dialect is not None else ""


def test_recount_repairs_sums(partition: StorePartition) -> None:
    fill(partition)
    store: Store = partition.store
    assert store.usages("p") == SUMS
    drop_tallies(store, url_of(store))
    problems = store.verify().problems
    assert any(line.startswith("tally of ('p', 'u1', 'VM', 'VCPU'): recorded None") for line in problems), problems
    assert store.recount_usages() == 3
    partition.check()
    assert store.usages("p") == SUMS
    # and claims keep them up to date
    assert store.allocate([AllocationChange("cu1", {}, "p", "u1", ANY)]) is None
    assert store.usages("p")["VM"] == Usage(1, {"VCPU": 1, "MEMORY_MB": 4})
    partition.check()


def test_recount_removes_sums_of_nobody(partition: StorePartition) -> None:
    fill(partition)
    partition.store.recount_usages()
    for user in ("u1", "u2"):
        assert partition.store.allocate([AllocationChange(f"c{user}", {}, "p", user, ANY)]) is None
    assert partition.store.recount_usages() == 1
    assert partition.store.usages("p") == {"INSTANCE": Usage(1, {"VCPU": 1})}
    partition.check()


def test_claims_of_an_older_version_are_summed_up_once(sqlite_url: str) -> None:
    # given a partition as an older version left it, in which this version has made a claim since
    partition = sql_partition(sqlite_url)
    fill(partition)
    store = partition.store
    drop_tallies(store, sqlite_url)
    with engine(sqlite_url).begin() as connection:
        connection.execute(update(PARTITIONS).where(PARTITIONS.c.name == store.partition).values(tallied=None))
    assert store.allocate([AllocationChange("last", {"h1": {"VCPU": 1}}, "p", "u1", ANY, "VM")]) is None
    partition.check()  # which does not compare sums that are not complete
    # when a caller reads them
    assert store.usages("p") == SUMS | {"VM": Usage(3, {"VCPU": 3, "MEMORY_MB": 8})}
    partition.check()
    # then they are not made again
    drop_tallies(store, sqlite_url)
    assert store.usages("p") == {}
    store.close()
