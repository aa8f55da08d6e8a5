# SPDX-License-Identifier: Apache-2.0
"""Comparison of stamps by those that keep them."""

import pytest

from rpcapi.resources.stamps import place_of


@pytest.mark.parametrize(
    ("stamp", "place"),
    [
        ("12.7.abc", (12, 7)),
        (None, (0, 0)),
        ("", (0, 0)),
        ("12.7", (0, 0)),
        ("12.x.abc", (0, 0)),
        ("-1.2.abc", (0, 0)),
        ("\u0661.2.abc", (0, 0)),
    ],
)
def test_place_is_the_epoch_and_the_position(stamp: str | None, place: tuple[int, int]) -> None:
    assert place_of(stamp) == place


def test_stamp_of_a_later_epoch_is_later_at_any_position() -> None:
    assert place_of("10.1.x") > place_of("9.500.x") > place_of("9.60.x")
