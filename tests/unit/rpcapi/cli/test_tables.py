# SPDX-License-Identifier: Apache-2.0
"""Tables of text that fit a width."""

from hypothesis import given
from hypothesis import strategies as st
from prettytable import PrettyTable

from rpcapi.cli.tables import FRAME, MIN_WIDTH, fit


def make_table(**columns):
    table = PrettyTable(align="l")
    for name, cells in columns.items():
        table.add_column(name, cells, align="l")
    return table


def lines(table):
    return table.get_string().split("\n")


def test_table_without_a_limit_is_as_wide_as_its_cells():
    table = make_table(name=["a", "bc\ndef"], why=["no host has enough memory"] * 2)
    assert fit(table, None, may_omit=True) == []
    assert len(lines(table)[0]) == len("| name | no host has enough memory |")


def test_narrow_table_wraps_only_its_wide_columns():
    table = make_table(id=["x"], why=["no host has enough memory"])
    fit(table, 20, may_omit=True)
    assert lines(table) == [
        "+----+-------------+",
        "| id | why         |",
        "+----+-------------+",
        "| x  | no host has |",
        "|    | enough      |",
        "|    | memory      |",
        "+----+-------------+",
    ]


def test_last_columns_that_do_not_fit_are_omitted_if_that_is_allowed():
    def columns():
        return make_table(**{name: ["x" * 30] for name in ("one", "two", "three")})

    assert fit(columns(), 2 * (MIN_WIDTH + FRAME) + 1, may_omit=True) == ["three"]
    assert fit(columns(), 1, may_omit=True) == ["two", "three"]
    assert fit(columns(), 1, may_omit=False) == []


TEXTS = st.text(st.sampled_from("ab -\n"), max_size=40)


@given(st.lists(TEXTS, min_size=1, max_size=8), st.integers(20, 99))
def test_fitting_columns_are_rendered_within_the_width_and_keep_their_letters(cells, width):
    table = make_table(**{f"name_{index}": [text] for index, text in enumerate(cells)})
    omitted = fit(table, width, may_omit=True)
    printed = lines(table)
    assert len({len(line) for line in printed}) == 1 and len(printed[0]) <= width
    body = "".join(printed[3:])
    shown = cells[: len(cells) - len(omitted)]
    assert all(body.count(letter) == sum(cell.count(letter) for cell in shown) for letter in "ab")
