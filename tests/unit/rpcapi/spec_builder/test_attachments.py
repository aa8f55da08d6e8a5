# SPDX-License-Identifier: Apache-2.0
"""Volumes to attach to a server, existing and new."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import attachments
from tests.unit.rpcapi.spec_builder.plain_request import request

BOOT = {"size": "20", "pool": "pool1", "boot": "true"}


def test_new_volume_requests_space_of_a_pool_and_may_be_the_root_disk():
    spec = request({}, attached_volumes=[attachments.read_volume(BOOT), attachments.read_volume({"pool": "pool2"})])
    assert spec.resources == {"VCPU": 4, "MEMORY_MB": 4096}
    group = {"resources": {"DISK_GB": 20}, "required": ["MISC_SHARES_VIA_AGGREGATE"], "in_tree": "pool1"}
    assert spec.groups == {"_vol0": group}
    assert spec.volumes == [{"size_gb": 20, "group": "_vol0", "boot": True}, {"pool": "pool2"}]


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ({}, "needs size, pool or both"),
        ({"size": "0"}, "at least 1 (GiB)"),
        ({"size": "1", "boot": "maybe"}, "volume.boot must be one of true, false, not 'maybe'"),
        ({"size": "1", "pool": ""}, "volume.pool must be 1 to 255 printable characters"),
        ({"colour": "red"}, "volume has an unknown key 'colour'; known: boot, pool, size"),
    ],
)
def test_malformed_volume_is_refused(texts, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        attachments.read_volume(texts)
    assert sentence in caught.value.sentence


def test_second_root_disk_is_refused():
    with pytest.raises(errors.InvalidSpec, match="at most one volume may have boot=true"):
        request({}, attached_volumes=[attachments.read_volume(BOOT), attachments.read_volume(BOOT)])
