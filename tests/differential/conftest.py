# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the comparisons with Nova and Placement."""

import collections
import json
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def tally() -> Iterator[collections.Counter[str]]:
    """Counts comparisons by outcome: what was equal, and differences by reason; printed after the module."""
    counts: collections.Counter[str] = collections.Counter()
    yield counts
    print(json.dumps(counts, sort_keys=True))
