# SPDX-License-Identifier: Apache-2.0
"""The agent's clock."""

from types import SimpleNamespace

import pytest

from compute_agent import clock


def test_wall_clock_is_unix_time_in_whole_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "time", SimpleNamespace(time_ns=lambda: 1_700_000_000_123_999_999))
    assert clock.wall_ms() == 1_700_000_000_123
