# SPDX-License-Identifier: Apache-2.0
"""The rule whether an amount fits an inventory."""

import pytest

from rpcapi.resources.inventory import Inventory, fits, misfit


@pytest.mark.parametrize(
    ("used", "amount", "expected"),
    [(0, 8, True), (0, 10, False), (2, 8, True), (3, 8, False), (0, 1, False), (0, 3, False), (0, 2, True)],
)
def test_amount_fits_within_free_capacity_and_unit_limits(used, amount, expected):
    inventory = Inventory(total=10, min_unit=2, max_unit=8, step_size=2)
    assert fits(inventory, used, amount) is expected


def test_misfit_returns_the_first_class_that_does_not_fit():
    inventories = {"VCPU": Inventory(total=4), "MEMORY_MB": Inventory(total=100)}
    assert misfit(inventories, {"VCPU": 3}, {"MEMORY_MB": 100, "VCPU": 1}) is None
    assert misfit(inventories, {"VCPU": 3}, {"MEMORY_MB": 100, "VCPU": 2}) == "VCPU"
    assert misfit(inventories, {}, {"VGPU": 1, "VCPU": 9}) == "VGPU"


def test_nothing_fits_without_an_inventory():
    assert not fits(None, 0, 1)
