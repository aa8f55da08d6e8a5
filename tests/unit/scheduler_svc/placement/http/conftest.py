# SPDX-License-Identifier: Apache-2.0
"""The API for one test."""

import pytest

from tests.support.scheduler.placement import PlacementApi


@pytest.fixture
def api():
    return PlacementApi()
