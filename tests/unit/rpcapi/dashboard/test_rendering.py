# SPDX-License-Identifier: Apache-2.0
"""Texts of amounts, times and fields on the dashboard's pages."""

import pytest

from rpcapi.dashboard import rendering
from rpcapi.dashboard.host_list import Amounts


@pytest.mark.parametrize(
    ("number", "resource_class", "text"),
    [
        (12345, "VCPU", "12,345"),
        (512, "MEMORY_MB", "512 MiB"),
        (65536, "MEMORY_MB", "64 GiB"),
        (1 << 30, "MEMORY_MB", "1,024 TiB"),
        (1200, "DISK_GB", "1,200 GiB"),
        (0, "DISK_GB", "0 GiB"),
    ],
)
def test_amount_has_the_unit_of_its_class(number: int, resource_class: str, text: str) -> None:
    assert rendering.amount(number, resource_class) == text


@pytest.mark.parametrize(
    ("used", "capacity", "text"), [(0, 0, "0"), (1, 200, "0.5"), (99, 1000, "9.9"), (1, 8, "12"), (9, 8, "112")]
)
def test_percentages_below_ten_have_a_decimal(used: int, capacity: int, text: str) -> None:
    assert rendering.percent(Amounts(used, capacity)) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "-"), (-3, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (200000, "2 d")]
)
def test_ages_have_their_largest_unit(seconds: float | None, text: str) -> None:
    assert rendering.age(seconds) == text


def test_times_are_in_utc() -> None:
    assert rendering.timestamp(1_000_000_000_000) == "2001-09-09 01:46:40"
    assert rendering.timestamp(None) == "-"


def test_fields_of_a_request_are_texts() -> None:
    assert rendering.words({"VCPU": 2000, "hints": {"group": "g"}}) == "2000 VCPU, hints: group: g"
    assert rendering.words([["a", "b"], 1]) == "a, b, 1"


def test_name_of_a_node_is_a_path() -> None:
    assert rendering.path("@api/a b/<x>?") == "@api/a%20b/%3Cx%3E%3F"


def test_values_are_escaped() -> None:
    template = rendering.environment().from_string("{{ text }}")

    assert template.render(text="<script>") == "&lt;script&gt;"
