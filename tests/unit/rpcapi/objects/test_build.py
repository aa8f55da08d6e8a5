# SPDX-License-Identifier: Apache-2.0
"""Build requests."""

import pytest

from rpcapi import errors, objects


def request(**values):
    fields = {"partition": "p", "project_id": "", "user_id": "", "uuids": ["u"], "attempts": [1], "names": ["h/n"]}
    return objects.BuildRequest.of(spec=objects.RequestSpec.of(resources={"VCPU": 1}), **(fields | values))


@pytest.mark.parametrize(("allocations", "valid"), [([], True), ([None], True), ([None, None], False)])
def test_allocations_are_as_many_as_instances_or_empty(allocations, valid):
    if valid:
        assert request(allocations=allocations).allocations == allocations
        return
    with pytest.raises(errors.MalformedObject, match="differ in length"):
        request(allocations=allocations)


def test_rows_have_none_for_an_empty_column():
    build = request(uuids=["u", "v"], attempts=[1, 2], names=["h/n", "h/m"], moves=[{"role": "x"}, None])
    assert list(build.rows("uuids", "attempts", "allocations", "moves")) == [
        ("u", 1, None, {"role": "x"}),
        ("v", 2, None, None),
    ]
