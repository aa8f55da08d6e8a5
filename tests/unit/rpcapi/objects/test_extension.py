# SPDX-License-Identifier: Apache-2.0
"""The list of filters and weighers."""

import pytest

from rpcapi import errors, objects
from rpcapi.objects import FilterList
from rpcapi.objects.base import Column

ROW = {
    "names": "MyFilter",
    "kinds": "filter",
    "forms": None,
    "sources": "mine 1.0",
    "enabled": True,
    "reads": {"compute": ["traits"]},
    "calls": 3,
    "errors": 0,
    "seconds": 0.5,
    "hosts": 30,
    "last_errors": None,
}


def filter_list(**changes):
    return objects.FilterList.of(worker="w", **{name: [value] for name, value in (ROW | changes).items()})


def test_filter_that_is_not_loaded_has_no_form_and_no_error():
    copied = FilterList.obj_from_primitive(filter_list().obj_to_primitive())
    assert {name: getattr(copied, name) for name in ROW} == {name: [value] for name, value in ROW.items()}


def test_every_column_is_listed_once():
    columns = {name for name, field in FilterList.fields.items() if isinstance(field, Column)}
    assert columns == set(FilterList.fields) - {"worker"} == set(ROW)


@pytest.mark.parametrize(("name", "value"), [("kinds", None), ("enabled", "yes"), ("calls", 1.5), ("reads", [])])
def test_value_of_another_type_is_malformed(name, value):
    with pytest.raises(errors.MalformedObject, match=name):
        filter_list(**{name: value})
