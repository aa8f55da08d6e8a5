# SPDX-License-Identifier: Apache-2.0
"""Names and times of the providers that the Placement API owns."""

import numpy as np

from scheduler_svc.core.table.provider_rows import NOT_API, ApiColumns


def test_row_has_name_and_time_until_its_document_has_none():
    columns = ApiColumns(2)
    columns.set_row(1, {"name": "pool", "changed_ms": 5})
    assert (columns.name(1, "@api/1"), columns.named("pool"), columns.changed_ms.tolist()) == ("pool", [1], [-1, 5])
    columns.set_row(1, {"changed_ms": 7})  # left behind by an agent
    assert (columns.name(1, "h1/n1"), columns.named("pool"), columns.changed_ms.tolist()) == ("h1/n1", [], [-1, 7])
    columns.set_row(1, {})
    assert columns.changed_ms[1] == NOT_API


def test_rows_are_copied_over_what_was_there_and_cleared():
    columns, other = ApiColumns(3), ApiColumns(2)
    columns.set_row(2, {"name": "former", "changed_ms": 1})
    other.set_row(0, {"name": "new", "changed_ms": 3})
    columns.copy_from(np.array([2, 0], np.intp), other)
    assert (columns.named("former"), columns.named("new"), columns.changed_ms.tolist()) == ([], [2], [-1, -1, 3])
    columns.grow(5)
    assert columns.changed_ms.tolist() == [-1, -1, 3, -1, -1]
    columns.clear(np.array([2], np.intp))
    assert columns.named("new") == [] and columns.changed_ms[2] == NOT_API
