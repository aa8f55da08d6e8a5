# SPDX-License-Identifier: Apache-2.0
"""Microversions in the header."""

import pytest

from scheduler_svc.placement.http import microversions
from scheduler_svc.placement.model.problems import Problem


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (None, 0),
        ("placement 1.7", 7),
        ("placement latest", 39),
        ("compute 2.1, placement 1.10", 10),
        ("compute 2.1", 0),
    ],
)
def test_header_names_a_version(header, version):
    assert microversions.parse(header) == version


@pytest.mark.parametrize(
    ("header", "status"),
    [("placement 0.9", 406), ("placement 1.40", 406), ("placement 2.0", 406), ("placement one", 400)]
    + [
        (f"placement {text}", 400)
        for text in ("1", "-1.2", "1.-2", "1.+2", "1.1_0", "1. 2", "1.\u0665", 5000 * "9" + ".1")
    ],
)
def test_version_that_is_not_served_is_refused(header, status):
    with pytest.raises(Problem) as refusal:
        microversions.parse(header)
    assert refusal.value.status == status
