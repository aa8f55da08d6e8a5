# SPDX-License-Identifier: Apache-2.0
"""Incarnation numbers."""

from pathlib import Path

import pytest

from compute_agent.runtime import incarnation
from rpcapi import errors


def test_incarnation_increases_when_the_clock_is_set_back(tmp_path: Path) -> None:
    path = tmp_path / "incarnation"
    assert incarnation.next_incarnation(path, lambda: 5000) == 5000
    assert incarnation.next_incarnation(path, lambda: 6000) == 6000
    assert incarnation.next_incarnation(path, lambda: 10) == 6001
    assert incarnation.next_incarnation(path, lambda: 10) == 6002


def test_malformed_incarnation_file_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "incarnation").write_text("x")
    with pytest.raises(errors.BadConfiguration, match=r"incarnation does not contain an incarnation number"):
        incarnation.next_incarnation(tmp_path / "incarnation")
