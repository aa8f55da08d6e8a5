# SPDX-License-Identifier: Apache-2.0
"""Malformed changes of providers are refused before anything is read."""

import math

import pytest

from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.providers import checks
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    DeleteProvider,
    ProviderChange,
    SetAggregates,
    SetInventories,
    SetInventory,
    SetTraits,
    UpdateProvider,
)

P = "@api/p1"


@pytest.mark.parametrize(
    "change",
    [
        CreateProvider(P, "x" * 200, "h1/n1"),
        CreateProvider(P, "☃ any text | with / blanks"),
        UpdateProvider(P),
        UpdateProvider(P, "x", None),
        SetInventories(P, {"CUSTOM_A": Inventory(0, reserved=7, min_unit=0, allocation_ratio=3.4e38)}, 0),
        SetTraits(P, ["HW_CPU_X86_AVX2"] * 1000),
        SetAggregates("h1", ["a" * 255]),
    ],
)
def test_change_that_can_be_stored(change: ProviderChange) -> None:
    checks.check(change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (CreateProvider("h1", "x"), "a new provider begins with '@api/'"),
        (CreateProvider(P, ""), "the name of a provider must not be empty"),
        (CreateProvider(P, "x" * 201), "name of a provider must be a string of at most 200 characters"),
        (UpdateProvider(P, "a\0b"), "contains a character that cannot be stored"),
        (UpdateProvider(P, parent="a b"), "contains a space"),
        (DeleteProvider("a|b"), "contains a space, a '|'"),
        (SetInventories(P, {"vcpu": Inventory(1)}), "'vcpu' is not a resource class"),
        (SetInventories(P, {f"CUSTOM_{n}": Inventory(1) for n in range(1001)}), "at most 1000 inventories, got 1001"),
        (SetInventories(P, {}, -1), "generation must be an integer"),
        (SetInventory(P, "x", None), "'x' is not a resource class"),
        (SetInventory(P, "VCPU", Inventory(-1), is_new=True), "total of VCPU must be an integer"),
        (SetInventory(P, "VCPU", Inventory(1, step_size=0), is_new=True), "the step_size of VCPU must be at least 1"),
        (SetInventory(P, "VCPU", Inventory(1, allocation_ratio=math.inf), is_new=True), "allocation_ratio of VCPU"),
        (SetInventory(P, "VCPU", Inventory(1, allocation_ratio=-0.1), is_new=True), "allocation_ratio of VCPU"),
        (SetTraits(P, ["HW-A"]), "'HW-A' is not a trait"),
        (SetTraits(P, ["A"] * 1001), "at most 1000 traits, got 1001"),
        (SetAggregates(P, ["a b"]), "contains a space"),
    ],
)
def test_change_that_cannot_be_stored(change: ProviderChange, message: str) -> None:
    with pytest.raises((errors.InvalidRequest, errors.InvalidName), match=message.replace("|", r"\|")):
        checks.check(change)


def test_call_names_a_bounded_number_of_providers() -> None:
    checks.check_ids(["h1"] * 5, 5)
    with pytest.raises(errors.InvalidRequest, match="at most 5 providers, got 6"):
        checks.check_ids(["h1"] * 6, 5)
