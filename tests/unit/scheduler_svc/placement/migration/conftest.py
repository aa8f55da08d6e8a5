# SPDX-License-Identifier: Apache-2.0
"""A Placement database to copy from."""

from pathlib import Path

import pytest

from tests.support.placement.placement_database import PlacementFile, small_cloud


@pytest.fixture
def database(tmp_path: Path) -> PlacementFile:
    return small_cloud(tmp_path)
