# SPDX-License-Identifier: Apache-2.0
"""Tables of text that fit a width."""

from hypothesis import given
from hypothesis import strategies as st

from rpcapi.cli.tables import MIN_WIDTH, Column, fit_columns, render


def test_table_without_a_limit_is_as_wide_as_its_cells():
    table = render([Column("name", ["a", "bc\ndef"]), Column("n", ["1", "20"], align_right=True)])
    assert table.split("\n") == [
        "+------+----+",
        "| name |  n |",
        "+------+----+",
        "| a    |  1 |",
        "| bc   | 20 |",
        "| def  |    |",
        "+------+----+",
    ]


def test_narrow_table_wraps_only_its_wide_columns():
    table = render([Column("id", ["x"]), Column("why", ["no host has enough memory"])], 20)
    assert table.split("\n") == [
        "+----+-------------+",
        "| id | why         |",
        "+----+-------------+",
        "| x  | no host has |",
        "|    | enough      |",
        "|    | memory      |",
        "+----+-------------+",
    ]


def test_name_of_a_narrow_column_is_wrapped_at_underscores():
    lines = render([Column("memory_mb_free", ["1"]), Column("disk_gb_free", ["2"])], 24).split("\n")
    assert lines[1:4] == ["| memory_  | disk_gb_ |", "| mb_free  | free     |", "+----------+----------+"]


def test_last_columns_that_do_not_fit_are_omitted():
    columns = [Column(name, ["x" * 30]) for name in ("one", "two", "three")]
    assert [column.name for column in fit_columns(columns, 2 * (MIN_WIDTH + 3) + 1)] == ["one", "two"]
    assert [column.name for column in fit_columns(columns, 1)] == ["one"]


TEXTS = st.text(st.sampled_from("ab -\n"), max_size=40)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "memory_mb_free"]), TEXTS), min_size=1, max_size=8), st.integers(20, 99)
)
def test_fitting_columns_are_rendered_within_the_width_and_keep_their_letters(cells, width):
    columns = fit_columns([Column(name, [text]) for name, text in cells], width)
    lines = render(columns, width).split("\n")
    assert len({len(line) for line in lines}) == 1 and len(lines[0]) <= width
    body = "".join(lines[lines.index(lines[0], 1) :])
    assert all(body.count(letter) == sum(column.cells[0].count(letter) for column in columns) for letter in "ab")
