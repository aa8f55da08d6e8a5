# SPDX-License-Identifier: Apache-2.0
"""What volumes and ports ask for."""

import pytest

from rpcapi import errors
from rpcapi.edge import ports, volumes
from tests.unit.rpcapi.edge.wishes import PLAIN, request

BOOT = {"size": "20", "pool": "pool1", "boot": "true"}


def test_a_volume_that_is_made_asks_a_pool_for_its_space_and_may_be_the_root_disk():
    spec = request({}, attached_volumes=[volumes.read(BOOT), volumes.read({"pool": "pool2"})])
    assert spec.resources == {"VCPU": 4, "MEMORY_MB": 4096}
    asked = {"resources": {"DISK_GB": 20}, "required": ["MISC_SHARES_VIA_AGGREGATE"], "in_tree": "pool1"}
    assert spec.groups == {"_vol0": asked}
    assert spec.volumes == [{"size_gb": 20, "group": "_vol0"}, {"pool": "pool2"}]


def test_a_port_asks_for_its_bandwidth_by_its_network_and_else_tells_where_it_is():
    told = {"egress_kbps": "1000", "physnet": "net-0", "vnic": "normal", "segment": "s1"}
    spec = request({}, attached_ports=[ports.read(told), ports.read({"physnet": "net-1"})])
    assert spec.groups == {
        "_port0": {
            "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 1000},
            "required": ["CUSTOM_PHYSNET_NET_0", "CUSTOM_VNIC_TYPE_NORMAL"],
        }
    }
    assert spec.ports == [{"segment": "s1", "group": "_port0"}, {"physnet": "net-1"}]
    assert spec.resources == PLAIN


@pytest.mark.parametrize(
    ("read", "told", "sentence"),
    [
        (volumes.read, {}, "told by its size"),
        (volumes.read, {"size": "0"}, "GiB from 1 up"),
        (volumes.read, {"size": "1", "boot": "maybe"}, "true or false"),
        (volumes.read, {"size": "1", "pool": ""}, "not empty"),
        (volumes.read, {"colour": "red"}, "has no 'colour'"),
        (ports.read, {}, "told by"),
        (ports.read, {"egress_kbps": "-1"}, "from 0 up"),
        (ports.read, {"vnic": "direct"}, "takes none"),
        (ports.read, {"physnet": ""}, "physnet of a port is empty"),
        (ports.read, {"colour": "red"}, "has no 'colour'"),
    ],
)
def test_what_is_no_volume_and_no_port_is_refused(read, told, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        read(told)
    assert sentence in caught.value.sentence


def test_a_server_has_one_root_disk():
    with pytest.raises(errors.InvalidSpec, match="only one volume can be the root disk"):
        request({}, attached_volumes=[volumes.read(BOOT), volumes.read(BOOT)])
