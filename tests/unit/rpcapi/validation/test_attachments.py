# SPDX-License-Identifier: Apache-2.0
"""Validation of volumes and ports to attach."""

import pytest

from rpcapi import errors
from rpcapi.validation import attachments

GROUPS = {"1": {"resources": {"DISK_GB": 1}}}


def test_valid_volumes_and_ports_pass():
    volumes = [{"pool": "pool1"}, {"size_gb": 1, "group": "1"}, {"pool": "pool1", "size_gb": 1, "group": "1"}]
    attachments.check(volumes, [{}, {"physnet": "net0"}, {"segment": "s", "group": "1"}], GROUPS)


@pytest.mark.parametrize(
    ("volume", "sentence"),
    [
        ({}, "needs the name of its pool"),
        ({"size_gb": 1}, "needs size_gb and the request group"),
        ({"pool": "pool1", "group": "1"}, "needs size_gb and the request group"),
        ({"size_gb": 0, "group": "1"}, "size_gb of a volume"),
        ({"size_gb": 1, "group": "2"}, "a volume names group '2', which is not in the request"),
        ({"pool": 3}, "pool of a volume"),
        ({"colour": "red"}, "a volume has an unknown key 'colour'"),
    ],
)
def test_invalid_volume_is_refused_with_the_reason(volume, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        attachments.check([volume], [], GROUPS)
    assert sentence in caught.value.sentence


def test_pool_must_be_a_resource_name():
    with pytest.raises(errors.InvalidName, match="contains a space"):
        attachments.check([{"pool": "a b"}], [], GROUPS)


@pytest.mark.parametrize(
    ("port", "sentence"),
    [
        ({"physnet": ""}, "physnet of a port"),
        ({"segment": 7}, "segment of a port"),
        ({"group": "2"}, "a port names group '2', which is not in the request"),
        ({"colour": "red"}, "a port has an unknown key 'colour'"),
    ],
)
def test_invalid_port_is_refused_with_the_reason(port, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        attachments.check([], [port], GROUPS)
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("volumes", "ports", "sentence"),
    [
        ([{"pool": "p"}] * 65, [], "the volumes may contain at most 64 elements, got 65"),
        ([], [{}] * 65, "the ports may contain at most 64 elements, got 65"),
    ],
)
def test_too_many_are_refused(volumes, ports, sentence):
    with pytest.raises(errors.InvalidSpec, match=sentence):
        attachments.check(volumes, ports, GROUPS)
