# SPDX-License-Identifier: Apache-2.0
"""Removal of fields that an older peer does not know."""

import pytest

from rpcapi.objects import versions


@pytest.mark.parametrize(
    ("target", "remaining"), [("1.0", {"a"}), ("1.1", {"a", "b"}), ("1.2", {"a", "b", "c"}), ("1.10", {"a", "b", "c"})]
)
def test_fields_newer_than_the_target_version_are_removed(target, remaining):
    primitive = {"a": 1, "b": 2, "c": 3}
    versions.drop_later(primitive, target, {"b": (1, 1), "c": (1, 2), "missing": (1, 9)})
    assert primitive.keys() == remaining
