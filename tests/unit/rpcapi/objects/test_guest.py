# SPDX-License-Identifier: Apache-2.0
"""A page of guests as columns."""

import pytest

from rpcapi import errors, objects
from rpcapi.resources.statuses import GuestState

COLUMNS = {
    "uuids": ["a", "b"],
    "attempts": [1, 2],
    "names": ["h1/n1", "h1/n2"],
    "states": [GuestState.RUNNING.value, GuestState.UNJOURNALLED.value],
}


def test_page_is_the_same_after_transmission() -> None:
    primitive = objects.GuestPage.of(**COLUMNS, marker="b 2").obj_to_primitive()
    page = objects.GuestPage.obj_from_primitive(primitive)
    assert {column: getattr(page, column) for column in COLUMNS} == COLUMNS
    assert page.marker == "b 2"


def test_last_page_has_no_marker() -> None:
    assert objects.GuestPage.of(**COLUMNS).marker is None


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_have_equal_lengths(name: str) -> None:
    with pytest.raises(errors.MalformedObject, match="differ in length"):
        objects.GuestPage.of(**{**COLUMNS, name: COLUMNS[name][:1]})
