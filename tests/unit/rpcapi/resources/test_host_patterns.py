# SPDX-License-Identifier: Apache-2.0
"""Patterns of service hosts."""

import pytest

from rpcapi import errors
from rpcapi.resources.names import expand_pattern


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("alpha", ["alpha"]),
        ("node[8-10]", ["node8", "node9", "node10"]),
        ("node[08-10]", ["node08", "node09", "node10"]),
        ("r[1-2]n[0-1].site", ["r1n0.site", "r1n1.site", "r2n0.site", "r2n1.site"]),
    ],
)
def test_patterns_expand_to_ranges(pattern: str, names: list[str]) -> None:
    assert expand_pattern(pattern) == names


@pytest.mark.parametrize("pattern", ["a[3-2]", "a[0-100000]"])
def test_empty_and_huge_ranges_are_refused(pattern: str) -> None:
    with pytest.raises(errors.BadConfiguration, match="empty or too long"):
        expand_pattern(pattern)
