# SPDX-License-Identifier: Apache-2.0
"""Columns that grow, and columns that cannot be changed."""

import numpy as np
import pytest

from scheduler_svc.core.table.columns import extend_column, read_only


def test_extended_column_is_a_copy_with_filled_rows():
    column = np.array([1, 2], np.int16)
    larger = extend_column(column, 4, 9)
    assert (larger.tolist(), larger.dtype) == ([1, 2, 9, 9], np.int16)
    larger[0] = 7
    assert column.tolist() == [1, 2]


def test_new_rows_contain_zero_by_default():
    assert extend_column(np.array([True]), 2).tolist() == [True, False]


def test_read_only_part_follows_the_column_and_cannot_be_changed():
    column = np.array([1, 2, 3])
    part = read_only(column, 2)
    with pytest.raises(ValueError, match="read-only"):
        part[0] = 5
    column[0] = 8
    assert part.tolist() == [8, 2]
