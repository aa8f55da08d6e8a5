# SPDX-License-Identifier: Apache-2.0
"""Column values in tables and in JSON."""

import json

import pytest

from rpcapi.cli.columns import (
    CountsColumn,
    DocumentColumn,
    FieldsColumn,
    LinesColumn,
    OffsetColumn,
    TextColumn,
    TimestampColumn,
)


def test_counts_are_sorted_by_number_and_then_by_word():
    column = CountsColumn({"b": 2, "a": 2, "c": 10})
    assert column.human_readable() == "10 c\n2 a\n2 b"
    assert column.machine_readable() == {"b": 2, "a": 2, "c": 10}


def test_list_has_one_line_for_each_element():
    column = LinesColumn(("x", 7))
    assert (column.human_readable(), column.machine_readable()) == ("x\n7", ["x", 7])


def test_fields_are_key_and_value():
    column = FieldsColumn({"power": "on", "row": 7})
    assert (column.human_readable(), column.machine_readable()) == ("power: on\nrow: 7", {"power": "on", "row": 7})


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
    assert DocumentColumn({"k": value}).human_readable() == line
    text = line.removeprefix("k: ")
    assert (text if isinstance(value, str) and text == value else json.loads(text)) == value


def test_time_is_universal_time():
    column = TimestampColumn(1_700_000_000_123)
    assert column.human_readable() == "2023-11-14 22:13:20"
    assert column.machine_readable() == "2023-11-14T22:13:20.123+00:00"


@pytest.mark.parametrize("value", [None, 0])
def test_missing_time_is_a_dash(value):
    assert (TimestampColumn(value).human_readable(), TimestampColumn(value).machine_readable()) == ("-", None)


@pytest.mark.parametrize(("value", "text"), [(None, "-"), ("", ""), ("x", "x")])
def test_missing_text_is_a_dash(value, text):
    assert (TextColumn(value).human_readable(), TextColumn(value).machine_readable()) == (text, value)


@pytest.mark.parametrize(
    ("value", "shown", "number"), [(None, "-", None), (7_250, "+7 s", 7.25), (-60_000, "-60 s", -60)]
)
def test_offset_has_a_sign_and_seconds(value, shown, number):
    column = OffsetColumn(value)
    assert (column.human_readable(), column.machine_readable()) == (shown, number)
