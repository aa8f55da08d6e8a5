# SPDX-License-Identifier: Apache-2.0
"""The verbs of the Placement API answer alike in every store, and keep what they promise."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from devstack.servers.redis import RedisServer
from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, ProviderState, SetInventories
from tests.property.test_replica_equals_snapshot import EXAMPLES, amounts, api_providers, change, changes
from tests.support.clouds.replica import check_trees
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import StorePartition

PROVIDERS = ("@api/1", "@api/2", "@api/3", "h1/n1")
CONSUMERS = ("c1", "c2", "c4", "c5")
TIMES = ("created_ms", "changed_ms")
# Three providers of the API with processors, of which a consumer holds some.
FILLED = [
    *(("provide", CreateProvider(name, name[5:])) for name in PROVIDERS[:3]),
    *(("provide", SetInventories(name, {"VCPU": Inventory(3)})) for name in PROVIDERS[:3]),
    ("allocate", [AllocationChange("c1", {PROVIDERS[0]: {"VCPU": 2}}, "p", "u", None)]),
]
consumers = st.lists(
    st.builds(
        AllocationChange,
        st.sampled_from(CONSUMERS[:2]),
        st.dictionaries(api_providers, amounts, max_size=2),
        st.just("p"),
        st.just("u"),
        st.sampled_from([ANY, ANY, ANY, 1]),
    ),
    max_size=2,
    unique_by=lambda change: change.consumer,
)
inventories = st.lists(
    st.builds(
        SetInventories,
        api_providers,
        st.dictionaries(st.sampled_from(["VCPU", "DISK_GB"]), st.builds(Inventory, st.integers(1, 5))),
        st.sampled_from([None, None, None, 2]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda change: change.provider,
)
moves = st.lists(st.tuples(st.just("reshape"), st.tuples(inventories, consumers)), min_size=4, max_size=10)


def without_times(answer: Any) -> Any:
    if not isinstance(answer, ProviderState):
        return answer
    return replace(answer, document={key: value for key, value in answer.document.items() if key not in TIMES})


def apply(partition: StorePartition, step: Sequence[Any]) -> Any:
    """Apply a step, and return the answer if it is one of the API's."""
    if step[0] == "provide":
        return without_times(partition.store.change_provider(step[1]))
    if step[0] == "allocate":
        return partition.store.allocate(step[1])
    if step[0] == "import":
        return partition.store.import_allocations(step[1])
    if step[0] == "import all":
        return partition.store.import_providers(step[1])
    if step[0] == "reshape":
        return partition.store.reshape(*step[1])
    change(partition, *step)
    return None


def shown(partition: StorePartition) -> Any:
    """Return what clients read, without times."""
    states = partition.store.read_providers(PROVIDERS).values()
    consumers = partition.store.read_allocations(CONSUMERS).values()
    return [without_times(state) for state in states], [replace(state, created_ms=0) for state in consumers]


def compare(first: StorePartition, second: StorePartition, steps: Sequence[Sequence[Any]]) -> None:
    excess = 0
    for step in steps:
        if step[0] in ("follow", "silence", "epoch"):
            continue
        answers = apply(first, step), apply(second, step)
        assert answers[0] == answers[1], step
        assert shown(first) == shown(second), step
        over = sum(row["used"] - row["capacity"] for row in first.check().excess)
        assert step[0] != "allocate" or over <= excess, step  # none is made or made worse
        excess = over
    for partition in (first, second):
        partition.check()
        check_trees(partition.store.snapshot())
        partition.store.close()


@settings(max_examples=60, **EXAMPLES)
@given(steps=changes)
def test_redis_answers_like_memory(redis_server: RedisServer, steps: list[Any]) -> None:
    compare(memory_partition(), redis_partition(redis_server), steps)


@settings(max_examples=20, **EXAMPLES)
@given(steps=changes)
def test_sqlite_answers_like_memory(run_folder: Path, steps: list[Any]) -> None:
    compare(memory_partition(), sql_partition(f"sqlite:///{run_folder / 'store.sqlite'}"), steps)


@settings(max_examples=60, **EXAMPLES)
@given(steps=moves)
def test_redis_moves_inventories_like_memory(redis_server: RedisServer, steps: list[Any]) -> None:
    compare(memory_partition(), redis_partition(redis_server), [*FILLED, *steps])


@settings(max_examples=20, **EXAMPLES)
@given(steps=moves)
def test_sqlite_moves_inventories_like_memory(run_folder: Path, steps: list[Any]) -> None:
    compare(memory_partition(), sql_partition(f"sqlite:///{run_folder / 'store.sqlite'}"), [*FILLED, *steps])
