# SPDX-License-Identifier: Apache-2.0
"""Trait sets as bit columns."""

import numpy as np
import pytest

from scheduler_svc.core.table.traits import WORD, TraitColumns, names_in

NAMES = [f"CUSTOM_{number}" for number in range(3 * WORD)]


def columns_of(*rows):
    columns = TraitColumns(len(rows))
    for row, traits in enumerate(rows):
        columns.set_row(row, traits)
    return columns


# Sets within one word, over several words, and at the edge of a word.
SETS = [[], NAMES[:2], NAMES[WORD - 1 : WORD + 1], NAMES]


def test_row_has_the_traits_that_were_set_last():
    columns = columns_of(*SETS)
    assert [columns.of(row) for row in range(4)] == [set(traits) for traits in SETS]
    columns.set_row(3, NAMES[5:6])
    assert columns.of(3) == {NAMES[5]}


@pytest.mark.parametrize(
    ("traits", "has_all", "has_any"),
    [
        ([], [True, True, True, True], [False, False, False, False]),
        (NAMES[:1], [False, True, False, True], [False, True, False, True]),
        ([NAMES[0], NAMES[WORD]], [False, False, False, True], [False, True, True, True]),
        (["UNKNOWN"], [False, False, False, False], [False, False, False, False]),
        ([NAMES[0], "UNKNOWN"], [False, False, False, False], [False, True, False, True]),
    ],
)
def test_masks_of_rows_with_all_or_any_traits(traits, has_all, has_any):
    columns = columns_of(*SETS)
    assert columns.has_all(traits, 4).tolist() == has_all
    assert columns.has_any(traits, 4).tolist() == has_any
    assert columns.has_any(traits, 2).tolist() == has_any[:2]


def test_traits_among_a_set_are_read_without_the_others():
    columns = columns_of(*SETS)
    assert columns.of(2, {NAMES[WORD], NAMES[0], "UNKNOWN"}) == {NAMES[WORD]}
    assert columns.of(2, set()) == set()


def test_trait_that_was_removed_is_still_known():
    columns = columns_of(["CUSTOM_A"])
    columns.set_row(0, [])
    assert columns.contains("CUSTOM_A") and not columns.contains("CUSTOM_B")
    assert columns.of(0) == set()


def test_new_rows_have_no_traits():
    columns = columns_of(NAMES)
    columns.grow(2)
    assert columns.has_any(NAMES, 2).tolist() == [True, False]
    columns.set_row(1, NAMES[-1:])
    assert columns.of(1) == {NAMES[-1]}


def test_copied_rows_have_the_traits_of_the_other_columns():
    source = columns_of(["B", "C"], ["A"])  # numbered differently from the copy
    columns = columns_of(["A", *NAMES], ["B"], ["D"])
    columns.copy_from(np.array([2, 0]), source)
    assert [columns.of(row) for row in range(3)] == [{"A"}, {"B"}, {"B", "C"}]


def test_cleared_rows_have_no_traits():
    columns = columns_of(NAMES, NAMES, NAMES)
    columns.clear(np.array([0, 2]))
    assert [len(columns.of(row)) for row in range(3)] == [0, len(NAMES), 0]


def test_words_and_names_say_which_traits_a_row_has():
    columns = columns_of(NAMES, ["B", NAMES[-1]])
    for row in range(2):
        assert names_in(columns.names, (int(word[row]) for word in columns.words)) == columns.of(row)


def test_traits_in_use_are_those_of_the_masked_rows():
    columns = columns_of(NAMES[:1], NAMES[WORD : WORD + 2], NAMES)
    assert columns.in_use(np.array([True, True, False])) == {NAMES[0], *NAMES[WORD : WORD + 2]}
    assert columns.in_use(np.array([False, False, False])) == set()
