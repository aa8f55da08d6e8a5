# SPDX-License-Identifier: Apache-2.0
"""The trait for the disk format of an image."""

import pytest

from scheduler_svc.core.prefilters.traits import IMAGE_TYPE
from tests.support.scheduler.hosts import request
from tests.unit.scheduler_svc.core.prefilters.rewritten import aggregate_view


def test_disk_format_requires_its_trait():
    before = request(image={"disk_format": "qcow2"}, root_required=("CUSTOM_A",))
    after = IMAGE_TYPE.rewrite(before, aggregate_view())
    assert after.root_required == ("CUSTOM_A", "COMPUTE_IMAGE_TYPE_QCOW2")


@pytest.mark.parametrize("image", [{}, {"disk_format": None}, {"disk_format": "papyrus"}, {"disk_format": 7}])
def test_image_without_a_known_format_is_not_rewritten(image):
    before = request(image=image)
    assert IMAGE_TYPE.rewrite(before, aggregate_view()) is before
