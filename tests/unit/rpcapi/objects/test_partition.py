# SPDX-License-Identifier: Apache-2.0
"""The list of partitions."""

import pytest

from rpcapi import errors, objects

COLUMNS = {
    "names": ["a", "b"],
    "available": [True, False],
    "epochs": [1, 2],
    "positions": [3, 4],
    "hosts": [5, 6],
    "alive": [5, 0],
    "claims": [{"confirmed": 1}, None],
}


def test_claims_of_an_unavailable_store_are_none():
    primitive = objects.PartitionList.of(**COLUMNS).obj_to_primitive()
    assert objects.PartitionList.obj_from_primitive(primitive).claims == [{"confirmed": 1}, None]


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "claims"])
def test_other_columns_have_a_value_for_each_partition(name):
    with pytest.raises(errors.MalformedObject, match=name):
        objects.PartitionList.of(**{**COLUMNS, name: [COLUMNS[name][0], None]})


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_have_equal_lengths(name):
    with pytest.raises(errors.MalformedObject, match="differ in length"):
        objects.PartitionList.of(**{**COLUMNS, name: COLUMNS[name][:1]})
