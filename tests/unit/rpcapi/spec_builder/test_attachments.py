# SPDX-License-Identifier: Apache-2.0
"""Volumes to attach to a server, existing and new, and ports."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import attachments
from tests.unit.rpcapi.spec_builder.plain_request import PLAIN, request

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


def test_port_requests_bandwidth_on_its_network_or_keeps_its_physnet():
    texts = {"egress_kbps": "1000", "physnet": "net-0", "vnic": "normal", "segment": "s1"}
    spec = request({}, attached_ports=[attachments.read_port(texts), attachments.read_port({"physnet": "net-1"})])
    assert spec.groups == {
        "_port0": {
            "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1000},
            "required": ["CUSTOM_PHYSNET_NET_0", "CUSTOM_VNIC_TYPE_NORMAL"],
        }
    }
    assert spec.ports == [{"segment": "s1", "group": "_port0"}, {"physnet": "net-1"}]
    assert spec.resources == PLAIN


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        ({}, "a port needs at least one option of egress_kbps"),
        ({"egress_kbps": "-1"}, "port.egress_kbps must be an amount in kbps, not '-1'"),
        ({"vnic": "direct"}, "needs egress_kbps or ingress_kbps"),
        ({"physnet": ""}, "port.physnet must be 1 to 255 printable characters"),
        ({"colour": "red"}, "port has an unknown key 'colour'"),
    ],
)
def test_malformed_port_is_refused(texts, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        attachments.read_port(texts)
    assert sentence in caught.value.sentence
