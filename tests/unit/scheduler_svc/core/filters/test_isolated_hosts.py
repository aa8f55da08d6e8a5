# SPDX-License-Identifier: Apache-2.0
"""Hosts reserved for configured images."""

import dataclasses

import pytest

from scheduler_svc.core.matching.options import FilterOptions
from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

NODES = make_nodes("h1/a", "h1/b", "h2", "h3")
ALL = list(NODES)


@pytest.mark.parametrize(
    ("image", "restricted", "expected"),
    [
        ("mine", True, ["h1/a", "h1/b"]),
        ("mine", False, ["h1/a", "h1/b"]),
        ("other", True, ["h2", "h3"]),
        (None, True, ["h2", "h3"]),
        ("other", False, ALL),
    ],
)
def test_isolated_hosts_accept_isolated_images(image, restricted, expected):
    options = FilterOptions(
        isolated_images=frozenset({"mine"}), isolated_hosts=("h1",), restrict_isolated_hosts=restricted
    )
    assert passing_hosts("IsolatedHostsFilter", NODES, options=options, image={"id": image}) == expected


def test_isolated_hosts_reject_requests_without_image():
    options = FilterOptions(isolated_hosts=("h1",))
    assert passing_hosts("IsolatedHostsFilter", NODES, options=options) == ["h2", "h3"]
    assert passing_hosts("IsolatedHostsFilter", NODES, options=dataclasses.replace(options, isolated_hosts=())) == ALL
