# SPDX-License-Identifier: Apache-2.0
"""Instances with the same image properties."""

import pytest

from scheduler_svc.core.weighers import image_properties
from scheduler_svc.core.weighers.options import WeigherOptions
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values

NODES = {
    "linux": node(metrics={"image.os_type=linux": 3, "image.os_distro=debian": 1}),
    "windows": node(metrics={"image.os_type=windows": 2}),
    "empty": node(),
}
WEIGHER = image_properties.build(WeigherOptions(image_properties={"os_type": 2.0, "os_distro": -1.0}))


@pytest.mark.parametrize(
    ("properties", "expected", "step"),
    [
        ({"os_type": "linux"}, [6, 0, 0], 2),
        ({"os_type": "linux", "os_distro": "debian"}, [5, 0, 0], 1),
        ({"os_type": "windows", "other": "x"}, [0, 4, 0], 2),
        ({"os_type": "plan9"}, [0, 0, 0], 2),
        ({"other": "x"}, None, 0),
        ({}, None, 0),
    ],
)
def test_number_is_the_weighted_count_of_matching_instances(properties, expected, step):
    image = {"properties": properties}
    assert raw_values(WEIGHER, NODES, image=image) == expected
    assert WEIGHER.step(request(image=image)) == step


def test_weigher_without_settings_is_not_built():
    assert image_properties.build() is None
