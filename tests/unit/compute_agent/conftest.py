# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the agent's tests."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def no_waiting_for_disks() -> Iterator[None]:
    """Replace fsync by a no-op: it protects against a loss of power, which no test simulates, and thousands are slow.

    test_journal_file checks that it is called where it must be.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        yield
