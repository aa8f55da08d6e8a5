# SPDX-License-Identifier: Apache-2.0
"""Request groups and traits of a spec under construction."""

import pytest

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from rpcapi.spec_builder.draft import FORBIDDEN, SpecDraft
from tests.unit.rpcapi.spec_builder.plain_request import FLOATING, request

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "traits of the root when it has no resources": (
        {"trait:CUSTOM_A": "required", "resources:DISK_GB": "0", "hw:numa_nodes": "1"},
        {},
        {"resources": {}, "required_traits": [], "root_required": ["CUSTOM_A"], "groups": FLOATING},
    ),
}

CONTRADICTIONS = [
    ({"resources_numa0:VGPU": "1", "hw:numa_nodes": "1"}, {}, "suffix of group '_numa0' is reserved"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_draft_is_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence


def test_amounts_and_traits_are_added_up_by_group():
    draft = SpecDraft()
    for suffix in ("", "", "1"):
        draft.add_amount("VCPU", 2, suffix)
        draft.add_trait("CUSTOM_A", suffix=suffix)
    draft.add_trait("CUSTOM_B", FORBIDDEN, "1")
    fields = draft.spec_fields()
    assert draft.total_resources() == {"VCPU": 6}
    assert (fields["resources"], fields["required_traits"]) == ({"VCPU": 4}, ["CUSTOM_A"])
    assert fields["groups"] == {"1": {"resources": {"VCPU": 2}, "required": ["CUSTOM_A"], "forbidden": ["CUSTOM_B"]}}


@pytest.mark.parametrize(
    ("suffixes", "cells", "policy"),
    [
        (["_numa0"], ["_numa0"], None),
        (["_numa0", "_numa1"], ["_numa0", "_numa1"], "isolate"),
        (["_numa0", "_pci0"], ["_numa0"], "none"),
    ],
)
def test_default_policy_isolates_cells_only(suffixes, cells, policy):
    draft = SpecDraft(numa={"cells": [{"group": suffix} for suffix in cells]})
    for suffix in suffixes:
        draft.add_group(RequestGroup(suffix, {"VCPU": 1}))
    assert draft.spec_fields()["groups_policy"] == policy
