# SPDX-License-Identifier: Apache-2.0
"""The fit rules of the claim script, the memory store and rpcapi/resources (used by workers and agents) are equal.

An independent implementation with fractions is the reference: an amount is a multiple of step_size from min_unit to
max_unit, and all amounts together are at most floor((total - reserved) x allocation_ratio).
"""

from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devstack.servers.redis import RedisServer
from rpcapi.resources.claims import Answer
from rpcapi.resources.inventory import MAX_AMOUNT, Inventory, misfit
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.store_partition import StorePartition

CLASSES = ("VCPU", "MEMORY_MB", "CUSTOM_GPU")
small = st.integers(1, 12)
inventories = st.builds(
    Inventory,
    total=st.one_of(st.integers(0, 40), st.just(MAX_AMOUNT // 2)),
    reserved=st.integers(0, 5),
    min_unit=st.one_of(st.just(1), small),
    max_unit=st.one_of(st.just(MAX_AMOUNT), small),
    step_size=st.one_of(st.just(1), st.integers(1, 4)),
    allocation_ratio=st.sampled_from([1.0, 1.15, 0.5, 1.5]),
).filter(lambda inventory: inventory.reserved <= inventory.total)
amounts = st.dictionaries(st.sampled_from(CLASSES), st.one_of(small, st.integers(1, MAX_AMOUNT)), min_size=1)


def fits_by_definition(
    inventories_by_class: dict[str, Inventory], used: dict[str, int], amounts_requested: dict[str, int]
) -> bool:
    """Return whether the amounts fit beside ``used``, by definition."""
    for name, amount in amounts_requested.items():
        if name not in inventories_by_class:
            return False
        unit = inventories_by_class[name]
        # The decimal ratio: 1.15 is 115/100, not the nearest binary fraction.
        capacity = floor((unit.total - unit.reserved) * Fraction(Decimal(str(unit.allocation_ratio))))
        is_valid_amount = unit.min_unit <= amount <= unit.max_unit and amount % unit.step_size == 0
        if not is_valid_amount or used.get(name, 0) + amount > capacity:
            return False
    return True


def check(
    partition: StorePartition, inventories_by_class: dict[str, Inventory], requests: list[dict[str, int]]
) -> None:
    """Claim one after the other; each succeeds exactly when it fits by definition, and the model agrees."""
    figures = {name: inventory.as_dict() for name, inventory in inventories_by_class.items()}
    node: dict[str, Any] = {"inventories": figures, "traits": [], "availability_zone": None, "metrics": {}}
    partition.report("h1", {"h1": node})
    partition.store.audit("h1", partition.store.snapshot().epoch, [], 0)
    used: dict[str, int] = {}
    for number, resources in enumerate(requests):
        expected = fits_by_definition(inventories_by_class, used, resources)
        assert (misfit(inventories_by_class, used, resources) is None) == expected, (
            inventories_by_class,
            used,
            resources,
        )
        is_prepared = partition.prepare(f"c{number}", "h1", resources=resources).answer is Answer.PREPARED
        assert is_prepared == expected, (inventories_by_class, used, resources)
        if is_prepared:
            used = {name: used.get(name, 0) + resources.get(name, 0) for name in inventories_by_class}
    assert partition.used("h1") == {name: amount for name, amount in used.items() if amount}


EXAMPLES: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
machines = st.dictionaries(st.sampled_from(CLASSES), inventories, min_size=1)


@settings(max_examples=300, **EXAMPLES)
@given(inventories_by_class=machines, requests=st.lists(amounts, max_size=6))
def test_memory(inventories_by_class: dict[str, Inventory], requests: list[dict[str, int]]) -> None:
    check(memory_partition(), inventories_by_class, requests)


@settings(max_examples=80, **EXAMPLES)
@given(inventories_by_class=machines, requests=st.lists(amounts, max_size=6))
def test_lua(
    redis_server: RedisServer, inventories_by_class: dict[str, Inventory], requests: list[dict[str, int]]
) -> None:
    partition = redis_partition(redis_server)
    check(partition, inventories_by_class, requests)
    partition.store.close()
