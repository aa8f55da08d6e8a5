# SPDX-License-Identifier: Apache-2.0
"""Cells in tables and in JSON."""

import json

import pytest

from rpcapi.cli.command import (
    counts_cell,
    document_cell,
    fields_cell,
    human_text,
    lines_cell,
    machine_value,
    offset_cell,
    timestamp_cell,
)


def test_counts_are_sorted_by_number_and_then_by_word():
    cell = counts_cell({"b": 2, "a": 2, "c": 10})
    assert human_text(cell) == "10 c\n2 a\n2 b"
    assert machine_value(cell) == {"b": 2, "a": 2, "c": 10}


def test_list_has_one_line_for_each_element():
    cell = lines_cell(("x", 7))
    assert (human_text(cell), machine_value(cell)) == ("x\n7", ["x", 7])


def test_fields_are_key_and_value():
    cell = fields_cell({"power": "on", "row": 7})
    assert (human_text(cell), machine_value(cell)) == ("power: on\nrow: 7", {"power": "on", "row": 7})


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "k: null"),
        (True, "k: true"),
        (7, "k: 7"),
        ("7", 'k: "7"'),  # unlike the number
        ("true", 'k: "true"'),
        ("some text", "k: some text"),
        ("", "k: "),
        ("Füße", "k: Füße"),
        (["ä"], 'k: ["ä"]'),
        ({"a": 1}, 'k: {"a": 1}'),
    ],
)
def test_document_value_is_shown_as_it_is_set(value, line):
    assert human_text(document_cell({"k": value})) == line
    text = line.removeprefix("k: ")
    assert (text if isinstance(value, str) and text == value else json.loads(text)) == value


def test_time_is_universal_time():
    cell = timestamp_cell(1_700_000_000_123)
    assert human_text(cell) == "2023-11-14 22:13:20"
    assert machine_value(cell) == "2023-11-14T22:13:20.123+00:00"


def test_missing_time_or_offset_is_none():
    assert (timestamp_cell(None), timestamp_cell(0), offset_cell(None)) == (None, None, None)


@pytest.mark.parametrize("value", ["", "x", 7])
def test_plain_value_is_the_same_in_both_forms(value):
    assert (human_text(value), machine_value(value)) == (str(value), value)


@pytest.mark.parametrize(("value", "shown", "number"), [(7_250, "+7 s", 7.25), (-60_000, "-60 s", -60)])
def test_offset_has_a_sign_and_seconds(value, shown, number):
    cell = offset_cell(value)
    assert (human_text(cell), machine_value(cell)) == (shown, number)
