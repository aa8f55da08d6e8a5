# SPDX-License-Identifier: Apache-2.0
"""Request specs for older peers."""

import pytest

from rpcapi import errors, objects


def data_for(version, **values):
    spec = objects.RequestSpec.of(resources={"VCPU": 1}, **values)
    return spec.obj_to_primitive(target_version=version)["gantt_object.data"]


@pytest.mark.parametrize(
    ("version", "dropped", "remaining"),
    [("1.1", {"image", "extra_specs", "groups", "driver"}, {"group_id"}), ("1.0", {"group_id", "image"}, {"flavor"})],
)
def test_fields_that_an_older_peer_does_not_know_are_dropped(version, dropped, remaining):
    data = data_for(version, group_id="g", group_policy="affinity", image={"id": "i"}, driver="filter")
    assert not data.keys() & dropped
    assert data.keys() >= remaining


@pytest.mark.parametrize(
    "values",
    [
        {"groups": {"1": {"resources": {"VGPU": 1}}}},
        {"member_of": [["rack1"]]},
        {"in_tree": "h"},
        {"root_required": ["CUSTOM_A"]},
        {"numa": {"cells": []}},
        {"volumes": [{"pool": "p"}]},
        {"service": "volume"},
    ],
)
def test_field_that_an_older_peer_would_ignore_is_refused(values):
    (name,) = values
    with pytest.raises(errors.IncompatibleObject, match=rf"sets {name} cannot be sent .* RequestSpec 1\.1 only"):
        data_for("1.1", **values)
