# SPDX-License-Identifier: Apache-2.0
"""CPU sets in list notation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpcapi.resources.numa import cpu_sets


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        ("3", {3}),
        ("0-3, 8", {0, 1, 2, 3, 8}),
        ("0-7,^2,^4-5", {0, 1, 3, 6, 7}),
        ("^2,0-3", {0, 1, 3}),
    ],
)
def test_ranges_and_exclusions_are_parsed(text: str, cpus: set[int]) -> None:
    assert cpu_sets.parse(text) == cpus


@pytest.mark.parametrize("text", ["a", "3-1", "-1", "1-", "0-70000", "1 2", "^", "٣"])
def test_malformed_list_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"a CPU number|empty range"):
        cpu_sets.parse(text)


@given(st.frozensets(st.integers(0, 200)))
def test_formatted_ranges_are_parsed_back(cpus: frozenset[int]) -> None:
    assert cpu_sets.parse(cpu_sets.format_ranges(cpus)) == cpus


def test_consecutive_cpus_are_formatted_as_ranges() -> None:
    assert cpu_sets.format_ranges({5, 0, 1, 2, 9, 10}) == "0-2,5,9-10"
