# SPDX-License-Identifier: Apache-2.0
"""Bounds of a store's collections."""

import pytest

from rpcapi import errors
from rpcapi.bounds import Bound, CollectionSize, StoreBounds, estimate


@pytest.fixture
def bounds() -> StoreBounds:
    """Bounds of 1,000 bytes: of things, and of a log that loses its oldest entries."""
    return StoreBounds(
        "The store", {"things": Bound(1000, "[a] thing_bytes"), "log": Bound(1000, "[a] log_bytes", True)}
    )


def test_nothing_is_refused_before_the_first_measurement(bounds: StoreBounds) -> None:
    bounds.check("things", "log")
    assert not bounds.is_full("things")


def test_new_work_is_refused_at_the_bound_and_accepted_below_it(bounds: StoreBounds) -> None:
    bounds.observe({"things": CollectionSize(9, 999)})
    bounds.check("things")
    bounds.observe({"things": CollectionSize(10, 1000)})
    with pytest.raises(errors.StoreFull) as refusal:
        bounds.check("others", "things")
    assert str(refusal.value) == (
        "The store: things take 1000 bytes, [a] thing_bytes allows 1000; new work is refused until entries end and "
        "are removed, or the option is raised"
    )
    bounds.observe({"things": CollectionSize(9, 900)})
    bounds.check("things")


def test_collection_that_loses_its_oldest_entries_refuses_nothing(bounds: StoreBounds) -> None:
    bounds.observe({"log": CollectionSize(9, 5000)})
    bounds.check("log")


def test_sizes_are_returned_with_their_bounds(bounds: StoreBounds) -> None:
    sizes = {name: CollectionSize(1, 2) for name in ("things", "log", "free")}
    assert bounds.observe(sizes) == {
        "things": CollectionSize(1, 2, 1000),
        "log": CollectionSize(1, 2, 1000, True),
        "free": CollectionSize(1, 2),
    }


def test_estimate_follows_the_number_of_entries() -> None:
    small, large = (estimate(dict.fromkeys(range(count), "x" * 50), {}) for count in (200, 2000))
    assert (small.entries, large.entries) == (200, 2000)
    assert large.bytes == 10 * small.bytes > 2000 * 50
    assert estimate({}) == CollectionSize(0, 0)
