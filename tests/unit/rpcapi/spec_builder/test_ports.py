# SPDX-License-Identifier: Apache-2.0
"""Ports to attach to a server: bandwidth, physical networks and segments."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import attachments
from tests.unit.rpcapi.spec_builder.plain_request import PLAIN, request


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
