# SPDX-License-Identifier: Apache-2.0
"""Pauses between attempts to reach Redis."""

import itertools

from rpcapi.messaging.drivers.backoff import Backoff


def test_pauses_double_up_to_the_maximum() -> None:
    assert list(itertools.islice(Backoff(0.5, 3).pauses(), 5)) == [0.5, 1, 2, 3, 3]
    assert list(itertools.islice(Backoff(9, 3).pauses(), 2)) == [3, 3]
