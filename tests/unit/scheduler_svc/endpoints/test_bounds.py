# SPDX-License-Identifier: Apache-2.0
"""Validation of plain arguments."""

import pytest

from rpcapi import errors
from scheduler_svc.endpoints import bounds
from scheduler_svc.store.validation import MAX_PAGE


@pytest.mark.parametrize("value", [1, 2, 5])
def test_integer_within_its_bounds_is_valid(value):
    bounds.check("attempt", value, 1, 5)


@pytest.mark.parametrize("value", [0, 6, -1, True, 2.0, "2", None])
def test_other_value_is_refused_with_its_name_and_bounds(value):
    with pytest.raises(errors.InvalidRequest, match=f"attempt must be an integer from 1 to 5, got {value}"):
        bounds.check("attempt", value, 1, 5)


def test_bound_is_the_largest_integer_that_every_peer_reads_exactly():
    bounds.check("version", 2**53 - 1, 0)
    with pytest.raises(errors.InvalidRequest):
        bounds.check("version", 2**53, 0)


def test_long_value_is_cut_in_the_error():
    with pytest.raises(errors.InvalidRequest) as caught:
        bounds.check("attempt", "x" * 1000, 1)
    assert str(caught.value).endswith("got " + "x" * 40)


@pytest.mark.parametrize(("marker", "limit"), [(None, 1), ("h1", MAX_PAGE)])
def test_page_within_its_bounds_is_valid(marker, limit):
    bounds.check_page(marker, limit)


@pytest.mark.parametrize(("marker", "limit"), [(None, 0), (None, MAX_PAGE + 1), (5, 1), (b"h1", 1)])
def test_invalid_page_is_refused(marker, limit):
    with pytest.raises(errors.InvalidRequest):
        bounds.check_page(marker, limit)
