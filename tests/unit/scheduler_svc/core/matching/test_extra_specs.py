# SPDX-License-Identifier: Apache-2.0
"""Extra spec operators on texts and on number columns."""

import numpy as np
import pytest

from scheduler_svc.core.matching.extra_specs import accepted_texts, matches, matches_column


@pytest.mark.parametrize(
    ("value", "requirement", "expected"),
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
def test_text_matches_requirement(value, requirement, expected):
    assert matches(value, requirement) is expected


@pytest.mark.parametrize(
    ("requirement", "expected"),
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
def test_number_column_matches_requirement_and_nan_never_does(requirement, expected):
    assert matches_column(np.array([1.0, 2.0, 4096.0, np.nan]), requirement).tolist() == expected


def test_empty_and_nan_columns_match_nothing():
    assert matches_column(np.array([]), "<in> 0").tolist() == []
    assert matches_column(np.array([np.nan]), "1").tolist() == [False]


def test_accepted_texts_of_equality_requirements():
    assert accepted_texts("a") == ["a"]
    assert accepted_texts("s== a") == ["a"]
    assert accepted_texts("<or> a <or> b") == ["a", "b"]
    assert accepted_texts("<in> a") is accepted_texts(">= 1") is None
