# SPDX-License-Identifier: Apache-2.0
"""CPU lists as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpcapi.model.numa import cpu_sets


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
def test_ranges_and_exclusions_name_cpus(text: str, cpus: set[int]) -> None:
    assert cpu_sets.parse(text) == cpus


@pytest.mark.parametrize("text", ["a", "3-1", "-1", "1-", "0-70000", "1 2", "^", "٣"])
def test_what_names_no_cpus_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"a CPU's number|empty range"):
        cpu_sets.parse(text)


@given(st.frozensets(st.integers(0, 200)))
def test_what_is_told_is_read_again(cpus: frozenset[int]) -> None:
    assert cpu_sets.parse(cpu_sets.told(cpus)) == cpus


def test_ranges_are_told_as_such() -> None:
    assert cpu_sets.told({5, 0, 1, 2, 9, 10}) == "0-2,5,9-10"
