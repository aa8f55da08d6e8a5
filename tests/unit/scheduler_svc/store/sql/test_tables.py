# SPDX-License-Identifier: Apache-2.0
"""The table definitions; test_schema.py compares them with the migrated tables."""

import pytest
from sqlalchemy import Table
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from scheduler_svc.store.sql.tables import METADATA, PARTITIONS

TABLES = METADATA.sorted_tables
DATA_TABLES = [table for table in TABLES if table is not PARTITIONS]


@pytest.mark.parametrize("table", DATA_TABLES, ids=lambda table: table.name)
def test_rows_and_indexes_of_a_partition_are_together(table: Table) -> None:
    assert next(column.name for column in table.primary_key.columns) == "partition"
    for index in table.indexes:
        assert next(iter(index.columns)).name == "partition"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_keys_are_compared_byte_by_byte(table: Table) -> None:
    ddl = str(CreateTable(table).compile(dialect=postgresql.dialect()))
    for column in table.primary_key.columns:
        if column.type.python_type is str:
            assert f'{column.name} TEXT COLLATE "C"' in ddl


@pytest.mark.parametrize("table", DATA_TABLES, ids=lambda table: table.name)
def test_index_of_a_column_that_is_usually_null_skips_the_other_rows(table: Table) -> None:
    for index in table.indexes:
        nullable = [column.name for column in index.columns if column.nullable]
        for dialect in ("postgresql", "sqlite"):
            condition = index.dialect_options[dialect]["where"]
            assert ([] if condition is None else [condition.left.name]) == nullable
