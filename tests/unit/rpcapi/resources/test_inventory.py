# SPDX-License-Identifier: Apache-2.0
"""Exact integer capacity, and validation of inventories."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi import errors
from rpcapi.resources.inventory import MAX_AMOUNT, Inventory, capacity, fits, misfit


@pytest.mark.parametrize(
    ("total", "reserved", "ratio", "expected"),
    [(100, 0, 1.15, 115), (100, 0, 1.1, 110), (3, 1, 1.5, 3), (7, 0, 0.5, 3), (8, 8, 16.0, 0), (5, 0, 0.0, 0)],
)
def test_capacity_is_exact_for_examples(total, reserved, ratio, expected):
    assert capacity(total, reserved, ratio) == expected


@settings(derandomize=True)
@given(st.integers(0, MAX_AMOUNT), st.integers(0, 1_000_000))
def test_capacity_is_exact_for_the_configured_decimal_ratio(total, hundredths):
    exact = total * Fraction(hundredths, 100)
    assert capacity(total, 0, hundredths / 100) == math.floor(exact)


def test_stored_inventory_is_read_back_and_its_capacity_recomputed():
    inventory = Inventory(total=10, reserved=1, allocation_ratio=2.0)
    assert inventory.as_dict()["capacity"] == 18
    assert Inventory.from_dict("VCPU", inventory.as_dict() | {"capacity": 99}) == inventory


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ({}, "mapping with 'total'"),
        ([1], "mapping with 'total'"),
        ({"total": -1}, "total of VCPU: it must be an integer from 0"),
        ({"total": 1.5}, "integer"),
        ({"total": True}, "integer"),
        ({"total": "1"}, "integer"),
        ({"total": MAX_AMOUNT + 1}, "integer"),
        ({"total": 1, "reserved": 2}, "exceeds the total"),
        ({"total": 1, "min_unit": 0}, "min_unit"),
        ({"total": 1, "step_size": 0}, "step_size"),
        ({"total": 1, "allocation_ratio": -0.5}, "allocation_ratio"),
        ({"total": 1, "allocation_ratio": float("nan")}, "allocation_ratio"),
        ({"total": 1, "allocation_ratio": float("inf")}, "allocation_ratio"),
        ({"total": MAX_AMOUNT, "allocation_ratio": 2.0}, "capacity exceeds"),
        ({"total": 1, "colour": "red"}, "unknown keys ['colour']"),
    ],
)
def test_invalid_inventory_is_refused_with_the_field(raw, sentence):
    with pytest.raises(errors.InvalidStats) as caught:
        Inventory.from_dict("VCPU", raw)
    assert sentence in caught.value.sentence


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
