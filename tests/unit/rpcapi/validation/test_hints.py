# SPDX-License-Identifier: Apache-2.0
"""Validation of scheduler hints."""

import pytest

from rpcapi import errors
from rpcapi.validation import hints

SOME_UUID = "0f6f1f0e-5a35-4d6c-9e0b-b1a5d3f0c2a4"


@pytest.mark.parametrize(
    "valid",
    [
        {},
        {"same_host": SOME_UUID, "anything": {"of": ["a", "plugin"]}},
        {"different_host": [SOME_UUID] * 100},
        {"build_near_host_ip": "10.0.0.1"},
        {"build_near_host_ip": ["10.0.0.1"], "cidr": ["/16"]},
        {"query": [">=", "$free_ram_mb", 1024]},
        {"group": SOME_UUID.upper()},
        {"group": [SOME_UUID]},
    ],
)
def test_valid_hints_pass(valid):
    hints.check("hints", valid)


@pytest.mark.parametrize(
    ("invalid", "sentence"),
    [
        (["a"], "must be a mapping"),
        ({1: "a"}, "a key of hints must be"),
        ({"": "a"}, "a key of hints must be"),
        ({f"k{n}": 1 for n in range(51)}, "hints may have at most 50 entries, got 51"),
        ({"k": "x" * 20_000}, "at most 16384 bytes"),
        ({"k": object()}, "cannot be encoded as JSON"),
        ({"same_host": "me"}, "hints.same_host[0] must be the uuid of an instance, not 'me'"),
        ({"same_host": [7]}, "must be the uuid of an instance, not 7"),
        ({"different_host": [SOME_UUID] * 101}, "hints.different_host must have 0 to 100 elements, got 101"),
        ({"build_near_host_ip": 7}, "hint 'build_near_host_ip' 7 with cidr '/24' is not a network"),
        ({"build_near_host_ip": "here"}, "is not a network"),
        ({"build_near_host_ip": "10.0.0.1", "cidr": "/40"}, "is not a network"),
        ({"build_near_host_ip": "10.0.0.1", "cidr": "24"}, "is not a network"),
        ({"cidr": "/24"}, "needs hint 'build_near_host_ip'"),
        ({"query": "[what?"}, "query"),
        *(
            ({"group": value}, "hints.group must be the uuid of a server group, not ")
            for value in ("web", "", None, 7, [], [SOME_UUID, SOME_UUID], {"id": SOME_UUID})
        ),
    ],
)
def test_invalid_hint_is_refused_with_the_reason(invalid, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        hints.check("hints", invalid)
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("value", "single", "many"),
    [("a", "a", ["a"]), (["a"], "a", ["a"]), (["a", "b"], ["a", "b"], ["a", "b"]), ([], [], [])],
)
def test_hint_may_be_one_value_or_a_list(value, single, many):
    assert hints.single_value(value) == single
    assert hints.as_list(value) == many


def test_uuids_of_hints_are_canonical():
    spelled = {
        "same_host": SOME_UUID.upper(),
        "different_host": [SOME_UUID.replace("-", ""), SOME_UUID],
        "group": f"{{{SOME_UUID}}}",
        "colour": SOME_UUID.upper(),  # only a plugin knows what it means
    }
    assert hints.canonical(spelled) == {
        "same_host": SOME_UUID,
        "different_host": [SOME_UUID, SOME_UUID],
        "colour": SOME_UUID.upper(),
    }
    assert hints.named_group(spelled) == hints.named_group({"group": [SOME_UUID.upper()]}) == SOME_UUID
    assert hints.named_group({}) is None
