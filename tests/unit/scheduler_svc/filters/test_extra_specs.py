# SPDX-License-Identifier: Apache-2.0
"""The operators of extra specs, for texts and for columns of numbers."""

import numpy as np
import pytest

from scheduler_svc.filters.extra_specs import matches, matching, texts


@pytest.mark.parametrize(
    ("value", "wanted", "right"),
    [
        ("123", "123", True),
        ("123", "1234", False),
        ("", "", True),
        ("a b", "a b", True),
        ("3", "= 2", True),
        ("1", "= 2", False),
        ("2.0", "== 2", True),
        ("2", "!= 2", False),
        ("2", ">= 2", True),
        ("3", "<= 2", False),
        ("x", ">= 2", False),
        ("3", ">= x", False),
        ("3", "=", False),
        ("a", "s== a", True),
        ("a", "s!= a", False),
        ("a", "s< b", True),
        ("b", "s<= b", True),
        ("b", "s> a", True),
        ("a", "s>= b", False),
        ("12311321", "<in> 11", True),
        ("12310321", "<in> 11", False),
        ("aes mmx aux", "<all-in> aes mmx", True),
        ("aes mmx aux", "<all-in> aes txt", False),
        ("12", "<or> 11 <or> 12", True),
        ("13", "<or> 11 <or> 12", False),
        ("<or>", "<or> 11 <or> 12", False),
        ("12", "<or> 11 <or> 12 <or>", True),
        ("a", "<or>", False),
        ("a", "<in>", False),
        ("a", "s==", False),
    ],
)
def test_a_text_is_held_against_what_is_wanted(value, wanted, right):
    assert matches(value, wanted) is right


@pytest.mark.parametrize(
    ("wanted", "right"),
    [
        ("= 2", [False, True, True, False]),
        ("!= 2", [True, False, True, False]),
        ("<= x", [False, False, False, False]),
        ("4096", [False, False, True, False]),
        ("<or> 1 <or> 4096", [True, False, True, False]),
        ("<in> 0", [False, False, True, False]),
        ("s!= 1", [False, True, True, False]),
    ],
)
def test_a_column_of_numbers_too_and_what_is_not_told_is_never_right(wanted, right):
    assert matching(np.array([1.0, 2.0, 4096.0, np.nan]), wanted).tolist() == right


def test_no_row_is_no_trouble():
    assert matching(np.array([]), "<in> 0").tolist() == []
    assert matching(np.array([np.nan]), "1").tolist() == [False]


def test_what_asks_for_texts_names_them():
    assert texts("a") == ["a"]
    assert texts("s== a") == ["a"]
    assert texts("<or> a <or> b") == ["a", "b"]
    assert texts("<in> a") is texts(">= 1") is None
