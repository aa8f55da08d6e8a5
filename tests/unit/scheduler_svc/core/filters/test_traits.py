# SPDX-License-Identifier: Apache-2.0
"""Required and forbidden traits."""

import pytest

from tests.support.scheduler.hosts import child_provider, node
from tests.unit.scheduler_svc.core.filters.cloud import make_table, passing_hosts, run_filter

AVX, SLOW, FAST = "HW_CPU_X86_AVX2", "CUSTOM_SLOW", "CUSTOM_FAST"
FLAT = {"a": node(traits=[AVX]), "b": node(traits=[AVX, SLOW]), "c": node()}
TREE = {**FLAT, "c/gpu": child_provider("c", "c", {"VGPU": 1}, [FAST])}


@pytest.mark.parametrize("nodes", [FLAT, TREE], ids=["flat", "tree"])
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["a", "b", "c"]),
        ({"required_traits": (AVX,)}, ["a", "b"]),
        ({"required_traits": ("CUSTOM_UNSEEN",)}, []),
        ({"any_traits": ((SLOW, "CUSTOM_UNSEEN"),)}, ["b"]),
        ({"forbidden_traits": (SLOW,)}, ["a", "c"]),
        ({"forbidden_traits": ("CUSTOM_UNSEEN",)}, ["a", "b", "c"]),
        ({"required_traits": (AVX,), "forbidden_traits": (SLOW,)}, ["a"]),
        ({"root_required": (AVX,)}, ["a", "b"]),
        ({"root_forbidden": (AVX,)}, ["c"]),
    ],
)
def test_traits_of_the_host(nodes, fields, expected):
    assert passing_hosts("TraitsFilter", nodes, **fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"required_traits": (FAST,)}, ["c"]),
        ({"any_traits": ((FAST, SLOW),)}, ["b", "c"]),
        ({"forbidden_traits": (FAST,)}, ["a", "b", "c"]),
        ({"root_required": (FAST,)}, []),
        ({"root_forbidden": (FAST,)}, ["a", "b", "c"]),
    ],
)
def test_traits_of_child_providers_count_except_for_the_root(fields, expected):
    assert passing_hosts("TraitsFilter", TREE, **fields) == expected


def test_reasons_separate_required_and_forbidden_traits():
    table = make_table("TraitsFilter", FLAT)
    fields = {"required_traits": (AVX,), "forbidden_traits": (SLOW,)}
    assert run_filter("TraitsFilter", table, **fields)[1] == {"required traits": 1, "forbidden traits": 1}
