# SPDX-License-Identifier: Apache-2.0
"""A replica that has applied the log to a position equals a snapshot at that position."""

import contextlib
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devstack.servers.redis import RedisServer
from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.allocations import ANY, AllocationChange, ConsumerImport
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    DeleteProvider,
    ImportProvider,
    SetAggregates,
    SetInventories,
    SetTraits,
    UpdateProvider,
)
from tests.support.clouds.replica import LogFollower, apply_entry, check_trees
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.store_partition import StorePartition, node_stats

NODES = ("n1", "n2", "n3")
hosts = st.sampled_from(["h1", "h2"])
consumers = st.sampled_from(["c1", "c2", "c3"])
nodes = st.dictionaries(
    st.sampled_from(NODES),
    st.builds(
        lambda vcpus, zone, traits: node_stats({"VCPU": vcpus}, zone=zone, traits=traits),
        st.integers(0, 3),
        st.sampled_from([None, "az1"]),
        st.sets(st.sampled_from(["HW_A", "HW_B"])),
    ),
)
api_providers = st.sampled_from(["@api/1", "@api/2", "@api/3"])
parents = st.sampled_from([None, "@api/1", "@api/2", "h1/n1"])
api_changes = st.one_of(
    st.builds(CreateProvider, api_providers, st.sampled_from(["a", "b", "h1/n2"]), parents),
    st.builds(UpdateProvider, api_providers, st.sampled_from(["a", "b"]), parents),
    st.builds(DeleteProvider, api_providers),
    st.builds(SetInventories, api_providers, st.dictionaries(st.just("VCPU"), st.builds(Inventory, st.integers(0, 3)))),
    st.builds(SetTraits, api_providers | st.just("h1/n1"), st.sets(st.sampled_from(["HW_A", "HW_B", "CUSTOM_A"]))),
    st.builds(SetAggregates, api_providers | st.just("h1/n1"), st.sets(st.sampled_from(["x", "y"]))),
)
imported_generations = st.integers(0, 3) | st.just(10**7)
provider_imports = st.builds(
    ImportProvider,
    api_providers,
    st.sampled_from(["a", "b", "h1/n2"]),
    parents,
    st.dictionaries(st.just("VCPU"), st.builds(Inventory, st.integers(0, 3))),
    st.sets(st.sampled_from(["HW_A", "CUSTOM_A"])),
    st.sets(st.sampled_from(["x", "y"])),
    imported_generations,
    st.just(1),
    st.integers(2, 3),
)
import_batches = st.lists(provider_imports, min_size=1, max_size=3, unique_by=lambda change: change.provider)
amounts = st.fixed_dictionaries({"VCPU": st.integers(1, 3)})
allocation_changes = st.lists(
    st.builds(
        AllocationChange,
        st.sampled_from(["c1", "c4", "c5"]),
        st.dictionaries(api_providers | st.just("h1/n1"), amounts, max_size=2),
        st.just("p"),
        st.just("u"),
        st.sampled_from([ANY, None, 1, 2]),  # 2 is that of a claim that an agent has confirmed
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda change: change.consumer,
)
reshapes = st.tuples(
    st.lists(
        st.builds(
            SetInventories,
            api_providers | st.just("h1/n1"),
            st.dictionaries(st.sampled_from(["VCPU", "DISK_GB"]), st.builds(Inventory, st.integers(0, 3))),
            st.sampled_from([None, None, 0, 2]),
        ),
        min_size=1,
        max_size=2,
        unique_by=lambda change: change.provider,
    ),
    st.just([]) | allocation_changes,
)
consumer_imports = st.lists(
    st.builds(
        ConsumerImport,
        st.sampled_from(["c1", "c4", "c5"]),
        st.dictionaries(api_providers, amounts, max_size=2),
        st.just("p"),
        st.just("u"),
        st.sampled_from(["", "INSTANCE"]),
        imported_generations,
        st.just(1),
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda item: item.consumer,
)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("report"), hosts, nodes),
        st.tuples(st.just("audit"), hosts),
        st.tuples(st.just("hold"), consumers, hosts, st.sampled_from(NODES)),
        st.tuples(st.just("release"), consumers, hosts),
        st.tuples(st.just("disable"), hosts, st.booleans()),
        st.tuples(st.just("silence"), st.just(0)),
        st.tuples(st.just("epoch"), st.just(0)),
        st.tuples(st.just("provide"), api_changes | provider_imports),
        st.tuples(st.just("import"), consumer_imports),
        st.tuples(st.just("import all"), import_batches),
        st.tuples(st.just("allocate"), allocation_changes),
        st.tuples(st.just("reshape"), reshapes),
        st.tuples(st.just("follow"), st.integers(1, 3)),
    ),
    max_size=25,
)
API_VERBS = {
    "provide": "change_provider",
    "allocate": "allocate",
    "import": "import_allocations",
    "import all": "import_providers",
}
EXAMPLES: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}


def change(partition: StorePartition, kind: str, subject: Any, *more: Any) -> None:
    store = partition.store
    if kind == "report":
        with contextlib.suppress(errors.InvalidStats):  # a provider of the Placement API has a node's name
            partition.report(subject, {f"{subject}/{node}": stats for node, stats in more[0].items()})
    elif kind == "audit":
        if any(name == subject for name, _version, _document in store.list_state("service")[0]):
            store.audit(subject, store.snapshot().epoch, [], 600_000)
    elif kind == "hold":
        host, node = more
        partition.prepare(subject, f"{host}/{node}", resources={"VCPU": 1})
        store.confirm(host, [ClaimRef(subject, 1)])
    elif kind == "release":
        store.release(more[0], [ClaimRef(subject, 1)])
    elif kind == "disable":
        for name, version, _document in store.list_state("service")[0]:
            if name == subject:
                store.put_state("service", subject, version, {"enabled": more[0]})
    elif kind == "silence":
        store.reap(dead_after_ms=0, tombstone_ms=600_000)
    elif kind == "reshape":
        store.reshape(*subject)
    elif kind in API_VERBS:
        getattr(store, API_VERBS[kind])(subject)
    else:
        partition.new_epoch()


def check(partition: StorePartition, steps: list[Any]) -> None:
    replica = LogFollower(partition)
    for step in steps:
        if step[0] == "follow":
            replica.follow(limit=step[1])
            replica.check()
        else:
            change(partition, *step)
    replica.follow(limit=2)
    replica.check()
    partition.check()
    check_trees(partition.store.snapshot())


@settings(max_examples=150, **EXAMPLES)
@given(steps=changes)
def test_memory(steps: list[Any]) -> None:
    check(memory_partition(), steps)


@settings(max_examples=25, **EXAMPLES)
@given(steps=changes)
def test_redis(redis_server: RedisServer, steps: list[Any]) -> None:
    partition = redis_partition(redis_server)
    check(partition, steps)
    partition.store.close()


def test_entries_already_in_the_snapshot_have_no_effect() -> None:
    partition = memory_partition()
    start = partition.store.snapshot().position
    partition.add_host("h1")
    partition.hold("c1", "h1")
    last = partition.store.snapshot()
    snapshot = last
    for entry in partition.store.follow(start, 0) or ():
        snapshot = apply_entry(snapshot, entry.position, entry.kind, entry.payload)
    assert snapshot == last
