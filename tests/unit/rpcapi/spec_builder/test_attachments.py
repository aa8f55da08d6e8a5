# SPDX-License-Identifier: Apache-2.0
"""Translation of volumes and ports."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import ports, volumes
from tests.unit.rpcapi.spec_builder.plain_request import PLAIN, request

BOOT = {"size": "20", "pool": "pool1", "boot": "true"}


def test_new_volume_requests_space_of_a_pool_and_may_be_the_root_disk():
    spec = request({}, attached_volumes=[volumes.read(BOOT), volumes.read({"pool": "pool2"})])
    assert spec.resources == {"VCPU": 4, "MEMORY_MB": 4096}
    group = {"resources": {"DISK_GB": 20}, "required": ["MISC_SHARES_VIA_AGGREGATE"], "in_tree": "pool1"}
    assert spec.groups == {"_vol0": group}
    assert spec.volumes == [{"size_gb": 20, "group": "_vol0"}, {"pool": "pool2"}]


def test_port_requests_bandwidth_on_its_network_or_keeps_its_physnet():
    texts = {"egress_kbps": "1000", "physnet": "net-0", "vnic": "normal", "segment": "s1"}
    spec = request({}, attached_ports=[ports.read(texts), ports.read({"physnet": "net-1"})])
    assert spec.groups == {
        "_port0": {
            "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1000},
            "required": ["CUSTOM_PHYSNET_NET_0", "CUSTOM_VNIC_TYPE_NORMAL"],
        }
    }
    assert spec.ports == [{"segment": "s1", "group": "_port0"}, {"physnet": "net-1"}]
    assert spec.resources == PLAIN


@pytest.mark.parametrize(
    ("read", "texts", "sentence"),
    [
        (volumes.read, {}, "needs size, pool or both"),
        (volumes.read, {"size": "0"}, "at least 1 (GiB)"),
        (volumes.read, {"size": "1", "boot": "maybe"}, "true or false"),
        (volumes.read, {"size": "1", "pool": ""}, "not empty"),
        (volumes.read, {"colour": "red"}, "has unknown option 'colour'"),
        (ports.read, {}, "needs at least one option"),
        (ports.read, {"egress_kbps": "-1"}, "non-negative integer"),
        (ports.read, {"vnic": "direct"}, "needs egress_kbps or ingress_kbps"),
        (ports.read, {"physnet": ""}, "physnet of a port is empty"),
        (ports.read, {"colour": "red"}, "has unknown option 'colour'"),
    ],
)
def test_malformed_volume_or_port_is_refused(read, texts, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        read(texts)
    assert sentence in caught.value.sentence


def test_second_root_disk_is_refused():
    with pytest.raises(errors.InvalidSpec, match="at most one volume may have boot=true"):
        request({}, attached_volumes=[volumes.read(BOOT), volumes.read(BOOT)])
