# SPDX-License-Identifier: Apache-2.0
"""The claim script's rule of fit, memory's, and that of rpcapi/model which deciders and agents use, are one rule.

It is written out once more here, in fractions, so that all three are held against something that shares no line with
them: an amount is a multiple of step_size from min_unit to max_unit, and all amounts together stay within
floor((total - reserved) x allocation_ratio).
"""

from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devstack.servers.redis import RedisServer
from rpcapi.model.claims import Answer
from rpcapi.model.fit import misfit
from rpcapi.model.inventory import MAX_AMOUNT, Inventory
from tests.unit.scheduler_svc.store.backends import memory_world, redis_world
from tests.unit.scheduler_svc.store.world import World

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


def fits_by_definition(held: dict[str, Inventory], used: dict[str, int], asked: dict[str, int]) -> bool:
    """Tell by the book whether a host takes ``asked`` beside ``used``."""
    for name, amount in asked.items():
        if name not in held:
            return False
        unit = held[name]
        # The ratio as it was written: 1.15 is 115/100, not the nearest binary fraction.
        room = floor((unit.total - unit.reserved) * Fraction(Decimal(str(unit.allocation_ratio))))
        handed_out = unit.min_unit <= amount <= unit.max_unit and amount % unit.step_size == 0
        if not handed_out or used.get(name, 0) + amount > room:
            return False
    return True


def check(world: World, held: dict[str, Inventory], asked: list[dict[str, int]]) -> None:
    """Claim one after the other; each is taken exactly when it fits by the book, and the model says the same."""
    figures = {name: inventory.as_dict() for name, inventory in held.items()}
    node: dict[str, Any] = {"inventories": figures, "traits": [], "availability_zone": None, "metrics": {}}
    world.report("h1", {"h1": node})
    world.store.audit("h1", world.store.snapshot().epoch, [], 0)
    used: dict[str, int] = {}
    for number, resources in enumerate(asked):
        expected = fits_by_definition(held, used, resources)
        assert (misfit(held, used, resources) is None) == expected, (held, used, resources)
        taken = world.prepare(f"c{number}", "h1", resources=resources).answer is Answer.PREPARED
        assert taken == expected, (held, used, resources)
        if taken:
            used = {name: used.get(name, 0) + resources.get(name, 0) for name in held}
    assert world.used("h1") == {name: amount for name, amount in used.items() if amount}


EXAMPLES: dict[str, Any] = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
machines = st.dictionaries(st.sampled_from(CLASSES), inventories, min_size=1)


@settings(max_examples=300, **EXAMPLES)
@given(held=machines, asked=st.lists(amounts, max_size=6))
def test_memory(held: dict[str, Inventory], asked: list[dict[str, int]]) -> None:
    check(memory_world(), held, asked)


@settings(max_examples=80, **EXAMPLES)
@given(held=machines, asked=st.lists(amounts, max_size=6))
def test_lua(redis_server: RedisServer, held: dict[str, Inventory], asked: list[dict[str, int]]) -> None:
    world = redis_world(redis_server)
    check(world, held, asked)
    world.store.close()
