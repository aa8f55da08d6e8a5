# SPDX-License-Identifier: Apache-2.0
"""What the agent's tests share."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def no_waiting_for_disks() -> Iterator[None]:
    """Leave fsync out: what it is for, a loss of power, no test here can bring about, and thousands of them take long.

    That it is called when it must be is shown in test_journal_file.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)
        yield
