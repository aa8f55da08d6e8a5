# SPDX-License-Identifier: Apache-2.0
"""Necessary conditions for requirements to fit on providers."""

import pytest

from rpcapi.resources.trees.bounds import count_servable, distinct_providers_exist, sums_suffice
from rpcapi.resources.trees.requirements import GroupRequirement


def requirement(*options: int, kind: int = 0, **amounts: int) -> GroupRequirement:
    mask = sum(1 << option for option in options)
    return GroupRequirement(f"_{kind}", kind, tuple(amounts.items()), options, mask)


@pytest.mark.parametrize(
    ("amounts", "count"), [({"GPU": 2}, 3), ({"GPU": 2, "VF": 5}, 2), ({"GPU": 8}, 0), ({"GPU": 1}, 4), ({}, 4)]
)
def test_servable_groups_are_counted_by_the_scarcest_class(amounts: dict[str, int], count: int) -> None:
    assert count_servable(requirement(0, **amounts), {"GPU": 7, "VF": 10}, 4) == count


@pytest.mark.parametrize(("narrow", "wide", "suffice"), [(2, 2, True), (3, 1, False), (2, 3, False), (1, 3, True)])
def test_sums_of_kinds_with_common_providers_are_compared(narrow: int, wide: int, suffice: bool) -> None:
    narrow_kind, wide_kind = requirement(0, GPU=1), requirement(0, 1, kind=1, GPU=1)
    demands = [(narrow_kind, narrow, narrow_kind.mask), (wide_kind, wide, wide_kind.mask)]
    assert sums_suffice(demands, [{"GPU": 2}, {"GPU": 2}]) is suffice


def test_masks_narrow_the_providers() -> None:
    kind = requirement(0, 1, GPU=1)
    assert sums_suffice([(kind, 3, 0b11)], [{"GPU": 2}, {"GPU": 2}])
    assert not sums_suffice([(kind, 3, 0b10)], [{"GPU": 2}, {"GPU": 2}])


@pytest.mark.parametrize(
    ("options", "exist"),
    [([(0, 1), (0, 1)], True), ([(0, 1), (0,)], True), ([(0, 1), (0, 1), (0, 1)], False), ([(0,), (0,)], False)],
)
def test_each_requirement_needs_a_provider_of_its_own(options: list[tuple[int, ...]], exist: bool) -> None:
    assert distinct_providers_exist([requirement(*numbers) for numbers in options]) is exist
